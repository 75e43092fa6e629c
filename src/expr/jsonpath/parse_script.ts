/** Reads the small expression language of JSONPath filters and scripts: `@.price > 1 && @.name =~ "^a"`, `@.length-1`. */
import { fault } from "../values/error.ts";
import type { RunContext } from "../values/run_context.ts";
import type { Value } from "../values/values.ts";
import { readJsonPath } from "./parse_path.ts";
import type { JsonPathScript } from "./tree.ts";

/** Binary operators, loosest first. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!=", "=~", "<=", ">=", "<", ">", "in", "not in"],
  ["+", "-"],
  ["**", "*", "/", "%"],
];
const MAX_LENGTH = 2_000;
/** Steps that reading a character costs. */
const STEPS_PER_CHARACTER = 15;
const MAX_DEPTH = 100;
/** What ends a plain key of a path inside a script. */
const KEY_END = /[.[\s()+\-*/%<>=!&|,]/;

/** An operator that consists of words. */
const WORD_OPERATOR = /(not\s+)?in(?=[\s([])/y;
const WORD = /^(\+?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?|true|false|null|nil)(?![\w.])/;
const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["nil", null],
]);

/** Parses a script. @throws {Fault} */
export function parseJsonPathScript(text: string, context: RunContext): JsonPathScript {
  if (text.length > MAX_LENGTH) refuse(`longer than ${MAX_LENGTH} characters`);
  context.step(text.length * STEPS_PER_CHARACTER);
  return new ScriptParser(text, context).script();
}

function refuse(reason: string): never {
  return fault(`invalid expression. ${reason}`);
}

class ScriptParser {
  readonly #text: string;
  readonly #context: RunContext;
  #at = 0;
  #depth = 0;

  constructor(text: string, context: RunContext) {
    this.#text = text;
    this.#context = context;
  }

  script(): JsonPathScript {
    const script = this.#level(0);
    this.#skipBlanks();
    if (this.#at < this.#text.length) this.#refuseFormat();
    return script;
  }

  get #char(): string {
    return this.#text.charAt(this.#at);
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#char)) this.#at++;
  }

  #refuseFormat(): never {
    refuse(`invalid format '${this.#text}'`);
  }

  /** Operations of one level of precedence, and of those that bind more tightly. */
  #level(level: number): JsonPathScript {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.#level(level + 1);
    while (true) {
      this.#skipBlanks();
      const operator = this.#operator(operators);
      if (operator === undefined) return left;
      left = { type: "binary", operator, left, right: this.#level(level + 1) };
    }
  }

  /** Reads one of the operators; undefined if another text comes next. */
  #operator(operators: readonly string[]): string | undefined {
    if (operators.includes("in")) {
      WORD_OPERATOR.lastIndex = this.#at;
      const [words, not] = WORD_OPERATOR.exec(this.#text) ?? [];
      if (words !== undefined) {
        this.#at += words.length;
        return not === undefined ? "in" : "not in";
      }
    }
    const symbol = operators.find((candidate) =>
      !candidate.endsWith("in") && this.#text.startsWith(candidate, this.#at)
    );
    this.#at += symbol?.length ?? 0;
    return symbol;
  }

  #unary(): JsonPathScript {
    this.#skipBlanks();
    if (++this.#depth > MAX_DEPTH) refuse("nested too deeply");
    const script = this.#unaryBody(this.#char);
    this.#depth--;
    return script;
  }

  #unaryBody(char: string): JsonPathScript {
    if (char === "!") {
      this.#at++;
      return { type: "not", operand: this.#unary() };
    }
    if (char === "-") {
      this.#at++;
      return { type: "negative", operand: this.#unary() };
    }
    if (char !== "(") return this.#primary(char);
    this.#at++;
    const inner = this.#level(0);
    this.#skipBlanks();
    if (this.#char !== ")") this.#refuseFormat();
    this.#at++;
    return inner;
  }

  #primary(char: string): JsonPathScript {
    if (char === "$" || char === "@") {
      const { path, end } = readJsonPath(this.#text, this.#at, refuse, KEY_END, this.#context);
      this.#at = end;
      return { type: "path", path };
    }
    if (char === "'" || char === '"') return { type: "value", value: this.#quoted(char) };
    if (char === "[") return { type: "value", value: this.#list() };
    const word = WORD.exec(this.#text.slice(this.#at))?.[0];
    if (word === undefined) return char === "" ? refuse("is empty") : this.#refuseFormat();
    this.#at += word.length;
    return {
      type: "value",
      value: CONSTANTS.has(word) ? CONSTANTS.get(word) ?? null : Number(word),
    };
  }

  #quoted(quote: string): string {
    let value = "";
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const char = this.#char;
      if (char === quote) {
        this.#at++;
        return value;
      }
      const next = this.#text.charAt(this.#at + 1);
      if (char === "\\" && (next === quote || next === "\\")) {
        value += next;
        this.#at++;
      } else value += char;
    }
    return this.#refuseFormat();
  }

  #list(): Value[] {
    const items: Value[] = [];
    this.#at++;
    this.#skipBlanks();
    while (this.#char !== "]") {
      const item = this.#unary();
      if (item.type !== "value") this.#refuseFormat();
      items.push(item.value);
      this.#skipBlanks();
      if (this.#char === ",") this.#at++;
      else if (this.#char !== "]") this.#refuseFormat();
      this.#skipBlanks();
    }
    this.#at++;
    return items;
  }
}
