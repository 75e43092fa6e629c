/** Reads the tokens of a source, with one token of look-ahead. */

import { ExprCompileError } from "../values/error.ts";
import {
  type Cursor,
  scanToken,
  takePointerName,
  type Token,
  type TokenKind,
  tokenText,
} from "./scanner.ts";

/** A cursor that can skip blanks and comments. */
export interface TokenCursor extends Cursor {
  gobbleSpaces(): void;
}

interface TokenPlace {
  readonly token: Token;
  readonly index: number;
}

/** Reads tokens. Its refusals are {@link ExprCompileError}s, which name the place. */
export class TokenReader {
  readonly source: string;
  /** The next token. */
  token: Token = { kind: "EOF", text: "", at: 0 };
  readonly #cursor: TokenCursor;

  constructor(cursor: TokenCursor) {
    this.#cursor = cursor;
    this.source = cursor.expr;
  }

  fail(message: string, at: number): never {
    throw new ExprCompileError(message, this.source, at);
  }

  /** Fails at the next token. */
  failHere(message: string): never {
    this.fail(message, this.token.at);
  }

  unexpected(): never {
    this.failHere(`unexpected token ${tokenText(this.token)}`);
  }

  next(): void {
    this.#cursor.gobbleSpaces();
    this.token = scanToken(this.#cursor);
  }

  /** The current place, to return to it. */
  get place(): TokenPlace {
    return { token: this.token, index: this.#cursor.index };
  }

  goTo({ token, index }: TokenPlace): void {
    this.token = token;
    this.#cursor.index = index;
  }

  is(kind: TokenKind, text?: string): boolean {
    return this.token.kind === kind && (text === undefined || this.token.text === text);
  }

  /** Moves on if the next token is this one. */
  accept(kind: TokenKind, text: string): boolean {
    const found = this.is(kind, text);
    if (found) this.next();
    return found;
  }

  /** Moves past a token, which must be there. */
  expect(kind: TokenKind, text?: string): Token {
    const { token } = this;
    if (!this.is(kind, text)) this.unexpected();
    this.next();
    return token;
  }

  /** Reads the name directly after the `#` just read; empty if there is none. */
  pointerName(): string {
    return takePointerName(this.#cursor);
  }
}
