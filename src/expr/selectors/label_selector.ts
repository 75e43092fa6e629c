/**
 * Kubernetes label selectors: `a=b`, `a!=b`, `a in (x,y)`, `a notin (x)`, `a`, `!a`, `a>1`, `a<1`, joined with commas
 * (all must hold). Grammar, verdicts and error texts are those of Kubernetes.
 */
import { invalid } from "../../base/problem.ts";
import { checkSelectorLength, checkTermCount } from "./limits.ts";

/** How a label is compared. `>` and `<` compare integers. */
export type LabelOperator = "=" | "!=" | "in" | "notin" | "exists" | "!exists" | ">" | "<";

/**
 * One term of a label selector. `values` is empty for `exists` and `!exists`, otherwise sorted and without duplicates.
 */
export interface LabelTerm {
  key: string;
  operator: LabelOperator;
  values: string[];
  /** Set when `=` was written so. */
  written?: "==";
}

/** What Kubernetes calls an operator, which is not always what selectors write. */
export function operatorName({ operator }: LabelTerm): string {
  switch (operator) {
    case "!exists":
      return "!";
    case ">":
      return "gt";
    case "<":
      return "lt";
    default:
      return operator;
  }
}

interface Token {
  kind: "word" | "symbol" | "end";
  text: string;
}

const SYMBOLS = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
const WORD_END = /[=!(),<>\s]/;
const BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt";

const NAME_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE_PATTERN = `(${NAME_PATTERN})?`;
const DOMAIN_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const NAME = new RegExp(`^${NAME_PATTERN}$`);
const VALUE = new RegExp(`^${VALUE_PATTERN}$`);
const DOMAIN = new RegExp(`^${DOMAIN_PATTERN}$`);
const MAX_NAME_BYTES = 63;
const MAX_DOMAIN_BYTES = 253;

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  `alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME_PATTERN}')`;
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
  "must start and end with an alphanumeric character " +
  `(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${VALUE_PATTERN}')`;
const DOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character " +
  `(e.g. 'example.com', regex used for validation is '${DOMAIN_PATTERN}')`;

/** What is wrong with the characters of a name: of an object, or before the slash of a label's key. */
export function subdomainProblem(name: string): string | undefined {
  return DOMAIN.test(name) ? undefined : DOMAIN_RULE;
}

/**
 * Reads a label selector; blank text selects everything and gives no terms.
 * @throws {Problem} InvalidArgument with the text Kubernetes gives
 */
export function parseLabelSelector(text: string): LabelTerm[] {
  checkSelectorLength("label selector", text);
  const terms = new SelectorReader(scan(text)).terms();
  checkTermCount("label selector", terms.length);
  return terms;
}

const END: Token = { kind: "end", text: "" };

class SelectorReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  terms(): LabelTerm[] {
    const terms: LabelTerm[] = [];
    while (this.#next.kind !== "end") {
      if (!this.#beginsTerm()) {
        throw invalid(`found '${this.#next.text}', expected: !, identifier, or 'end of string'`);
      }
      terms.push(this.#term());
      const token = this.#take();
      if (token.kind === "end") break;
      if (!isSymbol(token, ",")) {
        throw invalid(`found '${token.text}', expected: ',' or 'end of string'`);
      }
      if (!this.#beginsTerm()) {
        throw invalid(`found '${this.#next.text}', expected: identifier after ','`);
      }
    }
    return terms;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(): Token {
    const token = this.#next;
    this.#at++;
    return token;
  }

  #beginsTerm(): boolean {
    return this.#next.kind === "word" || isSymbol(this.#next, "!");
  }

  #term(): LabelTerm {
    let token = this.#take();
    const negated = isSymbol(token, "!");
    if (negated) token = this.#take();
    if (token.kind !== "word") throw unexpected(token, ", expected: identifier");
    const key = token.text;
    const problems = labelKeyProblems(key);
    if (problems.length > 0) throw requirement(invalidValue("<nil>", key, problems));
    if (negated || this.#isTermOver()) {
      return { key, operator: negated ? "!exists" : "exists", values: [] };
    }
    const isDouble = isSymbol(this.#next, "==");
    const operator = this.#operator();
    const values = operator === "in" || operator === "notin" ? this.#values() : [this.#value()];
    checkValues(key, operator, values);
    return { key, operator, values, ...(isDouble && { written: "==" }) };
  }

  #isTermOver(): boolean {
    return this.#next.kind === "end" || isSymbol(this.#next, ",");
  }

  #operator(): LabelOperator {
    const token = this.#take();
    if (isSymbol(token, "==")) return "=";
    const symbols: string[] = ["=", "!=", ">", "<"];
    const words: string[] = ["in", "notin"];
    const known = token.kind === "symbol" ? symbols : token.kind === "word" ? words : [];
    if (!known.includes(token.text)) throw unexpected(token, `, expected: ${BINARY_OPERATORS}`);
    return token.text as LabelOperator;
  }

  #value(): string {
    if (this.#isTermOver()) return "";
    const token = this.#take();
    if (token.kind !== "word") throw unexpected(token, ", expected: identifier");
    return token.text;
  }

  /** `(a,b)`; nothing before or after a comma means the empty value, and so does `()`. */
  #values(): string[] {
    const open = this.#take();
    if (!isSymbol(open, "(")) throw unexpected(open, " expected: '('");
    if (isSymbol(this.#next, ")")) {
      this.#take();
      return [""];
    }
    if (this.#next.kind !== "word" && !isSymbol(this.#next, ",")) {
      throw unexpected(this.#next, ", expected: ',', ')' or identifier");
    }
    const values = new Set<string>();
    while (this.#addValue(values));
    this.#take();
    return [...values].sort();
  }

  /** Reads a value, or a comma that has none before it. @returns false at the closing parenthesis */
  #addValue(values: Set<string>): boolean {
    const token = this.#take();
    if (token.kind === "word") {
      values.add(token.text);
      if (isSymbol(this.#next, ",")) return true;
      if (!isSymbol(this.#next, ")")) throw unexpected(this.#next, ", expected: ',' or ')'");
      return false;
    }
    if (!isSymbol(token, ",")) throw unexpected(token, ", expected: ',', or identifier");
    if (values.size === 0) values.add("");
    if (isSymbol(this.#next, ")")) {
      values.add("");
      return false;
    }
    if (isSymbol(this.#next, ",")) {
      this.#take();
      values.add("");
    }
    return true;
  }
}

function isSymbol(token: Token, symbol: string): boolean {
  return token.kind === "symbol" && token.text === symbol;
}

function unexpected(token: Token, rest: string) {
  return requirement(`found '${token.text}'${rest}`);
}

/** Tells whether an object with these labels is selected: every term holds. */
export function matchesLabels(
  terms: readonly LabelTerm[],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return terms.every((term) => matchesTerm(term, labels));
}

function matchesTerm(
  term: LabelTerm,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, term.key)
    ? labels[term.key]
    : undefined;
  switch (term.operator) {
    case "exists":
      return value !== undefined;
    case "!exists":
      return value === undefined;
    case "=":
    case "in":
      return value !== undefined && term.values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !term.values.includes(value);
    case ">":
    case "<": {
      const left = value === undefined ? undefined : parseInt64(value);
      const right = parseInt64(term.values[0] ?? "");
      if (left === undefined || right === undefined) return false;
      return term.operator === ">" ? left > right : left < right;
    }
  }
}

const NO_PROBLEMS: readonly string[] = [];

/** What is wrong with a label (or annotation) key, as Kubernetes words it; empty if it is valid. */
export function labelKeyProblems(key: string): readonly string[] {
  const slash = key.indexOf("/");
  const name = slash < 0 ? key : key.slice(slash + 1);
  if (name.includes("/")) {
    return [
      `a qualified name ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const isPrefixValid = prefix === undefined ||
    (prefix.length <= MAX_DOMAIN_BYTES && DOMAIN.test(prefix));
  if (isPrefixValid && name.length <= MAX_NAME_BYTES && NAME.test(name)) return NO_PROBLEMS;
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined) {
    if (prefix.length > MAX_DOMAIN_BYTES) {
      problems.push(`prefix part must be no more than ${MAX_DOMAIN_BYTES} bytes`);
    }
    if (!DOMAIN.test(prefix)) problems.push(`prefix part ${DOMAIN_RULE}`);
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > MAX_NAME_BYTES) {
    problems.push(`name part must be no more than ${MAX_NAME_BYTES} bytes`);
  }
  if (!NAME.test(name)) problems.push(`name part ${NAME_RULE}`);
  return problems;
}

/** What is wrong with a label value, as Kubernetes words it; empty if it is valid. */
export function labelValueProblems(value: string): readonly string[] {
  if (value.length <= MAX_NAME_BYTES && VALUE.test(value)) return NO_PROBLEMS;
  const problems: string[] = [];
  if (value.length > MAX_NAME_BYTES) problems.push(`must be no more than ${MAX_NAME_BYTES} bytes`);
  if (!VALUE.test(value)) problems.push(VALUE_RULE);
  return problems;
}

function checkValues(key: string, operator: LabelOperator, values: string[]): void {
  const problems: string[] = [];
  if ((operator === ">" || operator === "<") && parseInt64(values[0] ?? "") === undefined) {
    problems.push(invalidValue("values[0]", values[0] ?? "", [
      "for 'Gt', 'Lt' operators, the value must be an integer",
    ]));
  }
  values.forEach((value, index) => {
    const found = labelValueProblems(value);
    if (found.length > 0) problems.push(invalidValue(`values[${index}][${key}]`, value, found));
  });
  if (problems.length > 0) {
    throw requirement(problems.length === 1 ? problems.join() : `[${problems.join(", ")}]`);
  }
}

function requirement(text: string) {
  return invalid(`unable to parse requirement: ${text}`);
}

function invalidValue(path: string, value: string, problems: readonly string[]): string {
  return `${path}: Invalid value: ${JSON.stringify(value)}: ${problems.join("; ")}`;
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text) || text.length > 400) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (/\s/.test(char)) {
      at++;
      continue;
    }
    const symbol = SYMBOLS.find((symbol) => text.startsWith(symbol, at));
    if (symbol !== undefined) {
      tokens.push({ kind: "symbol", text: symbol });
      at += symbol.length;
      continue;
    }
    const start = at;
    while (at < text.length && !WORD_END.test(text.charAt(at))) at++;
    tokens.push({ kind: "word", text: text.slice(start, at) });
  }
  return tokens;
}
