/**
 * Tokens of the `when` dialect. It is an old language with surprises that manifests depend on: either quote ends either
 * string, a backslash takes the next character as it is, quoted dates are times, runs of symbols are one token.
 */
import { floatText } from "./go_text.ts";
import type { RunContext } from "./run_context.ts";
import { parseWhenTime } from "./when_time.ts";

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

/** A fault of a `when` text, without the words around it. */
export class WhenFault extends Error {
  override readonly name = "WhenFault";
}

const MAX_TOKENS = 5000;
/** Steps of an evaluation that reading a character takes. */
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
 * Cuts a `when` text into tokens and checks that its parentheses balance.
 * @throws {WhenFault}
 * @throws {BudgetExceeded}
 */
export function scanWhen(source: string, context: RunContext): WhenToken[] {
  context.step(source.length * STEPS_PER_CHARACTER);
  const chars = [...source];
  const tokens: WhenToken[] = [];
  let at = 0;

  /** Reads while the condition holds; an escaped character always belongs, blanks as `blanks` says. */
  function readWhile(
    condition: (char: string) => boolean,
    blanks: "keep" | "end",
  ): { text: string; isClosed: boolean } {
    let text = "";
    while (at < chars.length) {
      const char = chars[at++] as string;
      if (char === "\\") {
        const escaped = chars[at++];
        if (escaped === undefined) throw new WhenFault("Unexpected end of expression");
        text += escaped;
        continue;
      }
      if (blanks === "end" && SPACE.test(char)) {
        if (text !== "") return { text, isClosed: true };
        continue;
      }
      if (!condition(char)) {
        at--;
        return { text, isClosed: true };
      }
      text += char;
    }
    return { text, isClosed: false };
  }

  function readNumber(): WhenToken {
    if (chars[at] === "0" && chars[at + 1] === "x" && at + 2 <= chars.length - 1) {
      at += 2;
      const digits = readWhile((char) => isDigit(char) || /[a-fA-F]/.test(char), "end").text;
      if (!/^[0-9a-fA-F]+$/.test(digits) || BigInt(`0x${digits}`) >= 2n ** 64n) {
        throw new WhenFault(`Unable to parse hex value '${digits}' to uint64\n`);
      }
      return number("NUMERIC", Number(BigInt(`0x${digits}`)));
    }
    const digits = readWhile(isNumberPart, "end").text;
    if (!/^([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(digits) || !Number.isFinite(Number(digits))) {
      throw new WhenFault(`Unable to parse numeric value '${digits}' to float64\n`);
    }
    return number("NUMERIC", Number(digits));
  }

  function readWord(): WhenToken {
    const text = readWhile(isWordPart, "end").text;
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

  function readQuoted(): WhenToken {
    at++;
    const { text, isClosed } = readWhile((char) => !isQuote(char), "keep");
    if (!isClosed) throw new WhenFault("Unclosed string literal");
    at++;
    const time = parseWhenTime(text, context);
    if (time !== undefined) return { kind: "TIME", value: time.seconds, text: time.text };
    return { kind: "STRING", value: text, text };
  }

  function readSymbol(): WhenToken {
    const text = readWhile(isSymbolPart, "end").text;
    const last = tokens.at(-1)?.kind ?? "START";
    if (NEXT[last].has("PREFIX") && PREFIXES.has(text)) {
      return { kind: "PREFIX", value: text, text };
    }
    const kind = SYMBOLS.get(text);
    if (kind === undefined) throw new WhenFault(`Invalid token: '${text}'`);
    return { kind, value: text, text };
  }

  function readToken(char: string): WhenToken {
    if (isNumberPart(char)) return readNumber();
    if (char === ",") {
      at++;
      return { kind: "SEPARATOR", value: ",", text: "," };
    }
    if (char === "[") {
      at++;
      const { text, isClosed } = readWhile((char) => char !== "]", "keep");
      if (!isClosed) throw new WhenFault("Unclosed parameter bracket");
      at++;
      return { kind: "VARIABLE", value: text, text };
    }
    if (isLetter(char)) return readWord();
    if (isQuote(char)) return readQuoted();
    if (char === "(" || char === ")") {
      at++;
      const kind = char === "(" ? "CLAUSE" : "CLAUSE_CLOSE";
      return { kind, value: char, text: String(char.charCodeAt(0)) };
    }
    return readSymbol();
  }

  while (true) {
    while (at < chars.length && SPACE.test(chars[at] as string)) at++;
    const char = chars[at];
    if (char === undefined) break;
    tokens.push(readToken(char));
    if (tokens.length > MAX_TOKENS) throw new WhenFault(`more than ${MAX_TOKENS} tokens`);
  }
  const count = (kind: TokenKind) => tokens.filter((token) => token.kind === kind).length;
  if (count("CLAUSE") !== count("CLAUSE_CLOSE")) throw new WhenFault("Unbalanced parenthesis");
  return tokens;
}

function number(kind: "NUMERIC", value: number): WhenToken {
  return { kind, value, text: floatText(value) };
}
