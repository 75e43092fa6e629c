/**
 * Tokens of the `when` dialect. It is an old language with surprises on which manifests depend: either quote ends any
 * string, a character after a backslash is taken literally, quoted dates are times, and a run of symbols is one token.
 */
import { floatText } from "../values/go_text.ts";
import type { RunContext } from "../values/run_context.ts";
import { parseWhenTime } from "./time.ts";

export type TokenKind =
  | "PREFIX"
  | "NUMERIC"
  | "BOOLEAN"
  | "STRING"
  | "PATTERN"
  | "TIME"
  | "VARIABLE"
  | "ACCESSOR"
  | "SEPARATOR"
  | "COMPARATOR"
  | "LOGICALOP"
  | "MODIFIER"
  | "TERNARY"
  | "CLAUSE"
  | "CLAUSE_CLOSE";

export interface WhenToken {
  kind: TokenKind;
  /** A time is its seconds since 1970. */
  value: string | number | boolean;
  /** How messages show the value. */
  text: string;
}

/** What is wrong with a `when`, without the words around it. */
export class WhenFault extends Error {
  override readonly name = "WhenFault";
}

const MAX_TOKENS = 5000;
/** Steps for reading a character. */
const STEPS_PER_CHARACTER = 5;

const PREFIXES = new Set(["-", "!", "~"]);
const SYMBOLS = new Map<string, TokenKind>([
  ...["+", "-", "*", "/", "%", "**", "&", "|", "^", ">>", "<<"].map(kinded("MODIFIER")),
  ...["&&", "||"].map(kinded("LOGICALOP")),
  ...["==", "!=", ">", ">=", "<", "<=", "=~", "!~"].map(kinded("COMPARATOR")),
  ...["?", ":", "??"].map(kinded("TERNARY")),
]);

function kinded(kind: TokenKind): (symbol: string) => [string, TokenKind] {
  return (symbol) => [symbol, kind];
}

const OPERAND: TokenKind[] = ["NUMERIC", "BOOLEAN", "VARIABLE", "ACCESSOR", "CLAUSE"];
const AFTER_VALUE: TokenKind[] = [
  "MODIFIER",
  "COMPARATOR",
  "LOGICALOP",
  "CLAUSE_CLOSE",
  "SEPARATOR",
];

/** Which kinds may follow a kind; `START` is the beginning of the text. */
const NEXT: Record<TokenKind | "START", ReadonlySet<TokenKind>> = {
  START: new Set([...OPERAND, "PREFIX", "PATTERN", "STRING", "TIME"]),
  CLAUSE: new Set([...OPERAND, "PREFIX", "PATTERN", "STRING", "TIME", "CLAUSE_CLOSE"]),
  CLAUSE_CLOSE: new Set([
    ...AFTER_VALUE,
    "TERNARY",
    "NUMERIC",
    "BOOLEAN",
    "VARIABLE",
    "STRING",
    "PATTERN",
    "TIME",
    "CLAUSE",
  ]),
  NUMERIC: new Set([...AFTER_VALUE, "TERNARY"]),
  BOOLEAN: new Set([...AFTER_VALUE, "TERNARY"]),
  STRING: new Set([...AFTER_VALUE, "TERNARY"]),
  VARIABLE: new Set([...AFTER_VALUE, "TERNARY"]),
  TIME: new Set(AFTER_VALUE),
  PATTERN: new Set(AFTER_VALUE),
  ACCESSOR: new Set([...AFTER_VALUE, "TERNARY", "CLAUSE"]),
  MODIFIER: new Set([...OPERAND, "PREFIX", "STRING", "CLAUSE_CLOSE"]),
  COMPARATOR: new Set([...OPERAND, "PREFIX", "STRING", "TIME", "PATTERN", "CLAUSE_CLOSE"]),
  LOGICALOP: new Set([...OPERAND, "PREFIX", "STRING", "TIME", "CLAUSE_CLOSE"]),
  TERNARY: new Set([...OPERAND, "PREFIX", "STRING", "TIME", "SEPARATOR"]),
  PREFIX: new Set([...OPERAND, "CLAUSE_CLOSE"]),
  SEPARATOR: new Set([...OPERAND, "PREFIX", "STRING", "TIME"]),
};

/** Kinds a text may end with. */
const FINAL: ReadonlySet<TokenKind | "START"> = new Set<TokenKind>([
  "CLAUSE_CLOSE",
  "NUMERIC",
  "BOOLEAN",
  "STRING",
  "TIME",
  "PATTERN",
  "VARIABLE",
  "ACCESSOR",
]);

/**
 * Checks that every token may follow the one before.
 * @throws {WhenFault}
 */
export function checkOrder(tokens: readonly WhenToken[]): void {
  let last: WhenToken | undefined;
  for (const token of tokens) {
    if (!NEXT[last?.kind ?? "START"].has(token.kind)) {
      if (last?.kind === "VARIABLE" && token.kind === "CLAUSE") {
        throw new WhenFault(`Undefined function ${last.text}`);
      }
      const before = `${last?.kind ?? "UNKNOWN"} [${last?.text ?? "<nil>"}]`;
      throw new WhenFault(
        `Cannot transition token types from ${before} to ${token.kind} [${token.text}]`,
      );
    }
    last = token;
  }
  if (!FINAL.has(last?.kind ?? "START")) throw new WhenFault("Unexpected end of expression");
}

const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const isLetter = (char: string) => /\p{L}/u.test(char);
const isDigit = (char: string) => /\p{Nd}/u.test(char);
const isNumberPart = (char: string) => isDigit(char) || char === ".";
const isWordPart = (char: string) => isLetter(char) || isNumberPart(char) || char === "_";
const isQuote = (char: string) => char === "'" || char === '"';
const isSymbolPart = (char: string) =>
  !isDigit(char) && !isLetter(char) && !"()[]".includes(char) && !isQuote(char);

/**
 * Splits a `when` into tokens and checks that its parentheses match.
 * @throws {WhenFault}
 * @throws {BudgetExceeded}
 */
export function scanWhen(source: string, context: RunContext): WhenToken[] {
  context.step(source.length * STEPS_PER_CHARACTER);
  const tokens = new Scanner(source, context).scan();
  const count = (kind: TokenKind) => tokens.filter((token) => token.kind === kind).length;
  if (count("CLAUSE") !== count("CLAUSE_CLOSE")) throw new WhenFault("Unbalanced parenthesis");
  return tokens;
}

class Scanner {
  readonly #chars: readonly string[];
  readonly #context: RunContext;
  readonly #tokens: WhenToken[] = [];
  #at = 0;

  constructor(source: string, context: RunContext) {
    this.#chars = [...source];
    this.#context = context;
  }

  scan(): WhenToken[] {
    while (true) {
      while (SPACE.test(this.#chars[this.#at] ?? "")) this.#at++;
      const char = this.#chars[this.#at];
      if (char === undefined) return this.#tokens;
      this.#tokens.push(this.#token(char));
      if (this.#tokens.length > MAX_TOKENS) throw new WhenFault(`more than ${MAX_TOKENS} tokens`);
    }
  }

  /** The token that begins with a character. */
  #token(char: string): WhenToken {
    if (isNumberPart(char)) return this.#number();
    if (char === ",") {
      this.#at++;
      return { kind: "SEPARATOR", value: ",", text: "," };
    }
    if (char === "[") {
      const text = this.#enclosed((char) => char !== "]", "Unclosed parameter bracket");
      return { kind: "VARIABLE", value: text, text };
    }
    if (isLetter(char)) return this.#word();
    if (isQuote(char)) return this.#quoted();
    if (char === "(" || char === ")") {
      this.#at++;
      const kind = char === "(" ? "CLAUSE" : "CLAUSE_CLOSE";
      return { kind, value: char, text: String(char.charCodeAt(0)) };
    }
    return this.#symbol();
  }

  /** Reads while the condition holds; an escaped character is always included, and `blanks` says what blanks do. */
  #readWhile(
    condition: (char: string) => boolean,
    blanks: "keep" | "end",
  ): { text: string; isClosed: boolean } {
    const chars = this.#chars;
    let text = "";
    while (this.#at < chars.length) {
      const char = chars[this.#at++] as string;
      if (char === "\\") {
        const escaped = chars[this.#at++];
        if (escaped === undefined) throw new WhenFault("Unexpected end of expression");
        text += escaped;
        continue;
      }
      if (blanks === "end" && SPACE.test(char)) {
        if (text !== "") return { text, isClosed: true };
        continue;
      }
      if (!condition(char)) {
        this.#at--;
        return { text, isClosed: true };
      }
      text += char;
    }
    return { text, isClosed: false };
  }

  /** The text between an opening and a closing character. */
  #enclosed(isInside: (char: string) => boolean, refusal: string): string {
    this.#at++;
    const { text, isClosed } = this.#readWhile(isInside, "keep");
    if (!isClosed) throw new WhenFault(refusal);
    this.#at++;
    return text;
  }

  #number(): WhenToken {
    const chars = this.#chars;
    const isHex = chars[this.#at] === "0" && chars[this.#at + 1] === "x";
    if (isHex && this.#at + 2 < chars.length) return this.#hexNumber();
    const digits = this.#readWhile(isNumberPart, "end").text;
    if (!/^([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(digits) || !Number.isFinite(Number(digits))) {
      throw new WhenFault(`Unable to parse numeric value '${digits}' to float64\n`);
    }
    return numberToken(Number(digits));
  }

  #hexNumber(): WhenToken {
    this.#at += 2;
    const digits = this.#readWhile((char) => isDigit(char) || /[a-fA-F]/.test(char), "end").text;
    if (!/^[0-9a-fA-F]+$/.test(digits) || BigInt(`0x${digits}`) >= 2n ** 64n) {
      throw new WhenFault(`Unable to parse hex value '${digits}' to uint64\n`);
    }
    return numberToken(Number(BigInt(`0x${digits}`)));
  }

  #word(): WhenToken {
    const text = this.#readWhile(isWordPart, "end").text;
    if (text === "true" || text === "false") {
      return { kind: "BOOLEAN", value: text === "true", text };
    }
    if (text === "in" || text === "IN") return { kind: "COMPARATOR", value: "in", text: "in" };
    if (text.indexOf(".") <= 0) return { kind: "VARIABLE", value: text, text };
    if (text.endsWith(".")) throw new WhenFault(`Hanging accessor on token '${text}'`);
    const parts = text.split(".");
    for (const part of parts.slice(1)) {
      const first = String.fromCodePoint(part.codePointAt(0) ?? 0);
      if (first.toUpperCase() !== first) {
        throw new WhenFault(`Unable to access unexported field '${part}' in token '${text}'`);
      }
    }
    return { kind: "ACCESSOR", value: parts[0] as string, text: `[${parts.join(" ")}]` };
  }

  #quoted(): WhenToken {
    const text = this.#enclosed((char) => !isQuote(char), "Unclosed string literal");
    const time = parseWhenTime(text, this.#context);
    if (time !== undefined) return { kind: "TIME", value: time.seconds, text: time.text };
    return { kind: "STRING", value: text, text };
  }

  #symbol(): WhenToken {
    const text = this.#readWhile(isSymbolPart, "end").text;
    const last = this.#tokens.at(-1)?.kind ?? "START";
    if (NEXT[last].has("PREFIX") && PREFIXES.has(text)) {
      return { kind: "PREFIX", value: text, text };
    }
    const kind = SYMBOLS.get(text);
    if (kind === undefined) throw new WhenFault(`Invalid token: '${text}'`);
    return { kind, value: text, text };
  }
}

function numberToken(value: number): WhenToken {
  return { kind: "NUMERIC", value, text: floatText(value) };
}
