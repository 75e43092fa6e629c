/**
 * Pure: jq filters over an object of the cluster. This is the part of the language that reads and shapes values: there are
 * no definitions, no assignments, and of the loops over state only `reduce`. What a filter makes counts towards the same budget as that
 * of an expression.
 */
import type { Json } from "../../base/json.ts";
import { BudgetExceeded } from "../../expr/values/error.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import {
  attempt,
  combine,
  type Entry,
  identity,
  index,
  literal,
  negate,
  objects,
  slice,
} from "./jq_filters.ts";
import { collect, descendants, type Filter, findFunction } from "./jq_functions.ts";
import { textIn } from "./jq_texts.ts";
import { asText, elementsOf, escapedJson, isTrue, JqError, produce } from "./jq_values.ts";

/** Longest filter, characters. */
const MAX_LENGTH = 4096;
/** Deepest nesting of a filter. */
const MAX_DEPTH = 100;
/** Steps of the budget that a value takes in each part of a filter that it passes. */
const STEPS_PER_VALUE = 4;
/** Steps of the budget that reading a character of a filter takes. */
const STEPS_PER_CHARACTER = 10;

const SPACE = /(?:\s|#[^\n]*)*/y;
const TOKEN =
  /\.[A-Za-z_]\w*|\.\.|[@$]?[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\/\/|[=!<>]=|[-+*/%<>|,.()[\]{}:;?]/y;
const TEXT = /(?:[^"\\]|\\[^(])*/y;

/** Binary operators, from the loosest to the tightest. */
const LEVELS: readonly (readonly string[])[] = [
  ["|"],
  [","],
  ["//"],
  ["or"],
  ["and"],
  ["==", "!=", "<", "<=", ">", ">="],
  ["+", "-"],
  ["*", "/", "%"],
];
/** The level of the values in an object: a comma ends them. */
const ALTERNATIVE = 2;

/**
 * What a filter makes of a value, one line for each result: text as it is, anything else as JSON. Blanks at both ends are
 * cut off, as in the reference.
 * @throws {JqError} when the filter can't be read, does not fit the value, or uses up the budget
 */
export function readJq(filter: string, value: Json): string {
  const context = new RunContext();
  try {
    const run = new JqReader(filter, context).read();
    const lines = collect(run(value), context)
      .map((one) => typeof one === "string" ? one : escapedJson(one, context));
    for (const line of lines) produce(line.length + 1, context);
    return lines.join("\n").trim();
  } catch (error) {
    if (error instanceof BudgetExceeded) throw new JqError(error.message);
    if (error instanceof RangeError) throw new JqError("the value is nested too deeply");
    throw error;
  }
}

class JqReader {
  readonly #text: string;
  #at = 0;
  #token: string | undefined;
  #depth = 0;
  /** By their names, those that can be used where it reads. Their values are set as the filter runs. */
  readonly #variables = new Map<string, { value: Json }>();
  readonly #context: RunContext;

  constructor(text: string, context: RunContext) {
    this.#context = context;
    if (text.length > MAX_LENGTH) {
      throw new JqError(`the filter is longer than ${MAX_LENGTH} characters`);
    }
    context.step(text.length * STEPS_PER_CHARACTER);
    this.#text = text;
    this.#next();
  }

  read(): Filter {
    const filter = this.#binary(0);
    if (this.#token !== undefined) throw this.#unexpected();
    return filter;
  }

  /** Goes to the next token; a text begins with `"` and is read by {@link #string}. */
  #next(): string | undefined {
    const before = this.#token;
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
    TOKEN.lastIndex = this.#at;
    if (this.#at >= this.#text.length) this.#token = undefined;
    else if (this.#text[this.#at] === '"') this.#token = '"';
    else {
      this.#token = TOKEN.exec(this.#text)?.[0] ?? this.#text[this.#at] ?? "";
      this.#at += this.#token.length;
    }
    return before;
  }

  #take(token: string): boolean {
    if (this.#token !== token) return false;
    this.#next();
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw this.#unexpected(token);
  }

  #unexpected(wanted?: string): JqError {
    const found = this.#token === undefined ? "the end" : `"${this.#token}"`;
    return new JqError(
      `${found} at character ${this.#at} ${
        wanted === undefined
          ? "is not supported: filters may read, select and build values, not define or change them"
          : `should be "${wanted}"`
      }`,
    );
  }

  #binary(level: number): Filter {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#postfix();
    if (++this.#depth > MAX_DEPTH * LEVELS.length) throw new JqError("the filter is too deep");
    let left = this.#binary(level + 1);
    while (this.#token !== undefined && operators.includes(this.#token)) {
      const operator = this.#next() ?? "";
      // Alternatives and pipes group from the right.
      const isRight = operator === "//" || operator === "|";
      const right = this.#binary(isRight ? level : level + 1);
      left = this.#counted(combine(operator, left, right, this.#context));
    }
    this.#depth--;
    return left;
  }

  /** Each value that a filter makes takes from the budget. */
  #counted(filter: Filter): Filter {
    const context = this.#context;
    return function* (input) {
      context.step(STEPS_PER_VALUE);
      for (const value of filter(input)) {
        context.step(STEPS_PER_VALUE);
        yield value;
      }
    };
  }

  #postfix(): Filter {
    const of = this.#term();
    return this.#take("as") ? this.#binding(of) : of;
  }

  #term(): Filter {
    let of = this.#primary();
    for (;;) {
      const token = this.#token ?? "";
      if (/^\.[A-Za-z_]/.test(token)) {
        this.#next();
        of = this.#counted(index(of, literal(token.slice(1))));
      } else if (token === "." && /^\s*["[]/.test(this.#text.slice(this.#at))) {
        this.#next();
        if (this.#token === '"') of = index(of, this.#string());
      } else if (this.#take("[")) of = this.#counted(this.#bracket(of));
      else if (this.#take("?")) of = this.#counted(attempt(of));
      else return of;
    }
  }

  /** `of as $name | …`: the rest of the pipe, once for each value. */
  #binding(of: Filter): Filter {
    const [name, variable] = this.#variable();
    this.#expect("|");
    const body = this.#within(name, variable, () => this.#binary(0));
    return this.#counted(function* (input) {
      for (const value of of(input)) {
        variable.value = value;
        for (const made of body(input)) {
          yield made;
          variable.value = value;
        }
      }
    });
  }

  /** `reduce of as $name (first; next)`. */
  #reduce(): Filter {
    const of = this.#term();
    this.#expect("as");
    const [name, variable] = this.#variable();
    this.#expect("(");
    const first = this.#binary(0);
    this.#expect(";");
    const next = this.#within(name, variable, () => this.#binary(0));
    this.#expect(")");
    const context = this.#context;
    return this.#counted(function* (input) {
      for (let state of first(input)) {
        for (const value of of(input)) {
          variable.value = value;
          state = collect(next(state), context).at(-1) ?? null;
        }
        yield state;
      }
    });
  }

  #variable(): [name: string, variable: { value: Json }] {
    const name = this.#token ?? "";
    if (!/^\$\w/.test(name)) {
      throw new JqError("a value can only be bound to one variable, as $name");
    }
    this.#next();
    return [name, { value: null }];
  }

  /** Reads what may use a variable. */
  #within(name: string, variable: { value: Json }, read: () => Filter): Filter {
    const hidden = this.#variables.get(name);
    this.#variables.set(name, variable);
    const filter = read();
    if (hidden === undefined) this.#variables.delete(name);
    else this.#variables.set(name, hidden);
    return filter;
  }

  /** `[…]` after a filter. */
  #bracket(of: Filter): Filter {
    if (this.#take("]")) {
      const context = this.#context;
      return function* (input) {
        for (const value of of(input)) yield* elementsOf(value, context);
      };
    }
    const from = this.#token === ":" ? undefined : this.#binary(0);
    if (!this.#take(":")) {
      this.#expect("]");
      return index(of, from ?? identity);
    }
    const to = this.#token === "]" ? undefined : this.#binary(0);
    this.#expect("]");
    return slice(of, from, to, this.#context);
  }

  #primary(): Filter {
    const token = this.#token ?? "";
    if (token === '"') return this.#string();
    if (/^\.[A-Za-z_]/.test(token)) {
      this.#next();
      return index(identity, literal(token.slice(1)));
    }
    if (/^\d/.test(token)) {
      this.#next();
      return literal(Number(token));
    }
    if (/^@?[A-Za-z_]/.test(token)) return this.#named();
    if (/^\$\w/.test(token)) {
      const variable = this.#variables.get(token);
      if (variable === undefined) throw new JqError(`${token} is not defined`);
      this.#next();
      return () => [variable.value];
    }
    if (this.#take("..")) {
      return this.#counted((input) => descendants(input, this.#context));
    }
    if (this.#take(".")) return this.#token === '"' ? index(identity, this.#string()) : identity;
    if (this.#take("-")) return this.#counted(negate(this.#postfix(), this.#context));
    if (this.#take("(")) {
      const inner = this.#binary(0);
      this.#expect(")");
      return inner;
    }
    if (this.#take("[")) {
      if (this.#take("]")) return literal([]);
      const inner = this.#binary(0);
      this.#expect("]");
      return this.#counted((input) => [collect(inner(input), this.#context)]);
    }
    if (this.#take("{")) return this.#object();
    throw this.#unexpected();
  }

  #named(): Filter {
    const name = this.#next() ?? "";
    if (name === "null" || name === "true" || name === "false") {
      return literal(JSON.parse(name) as Json);
    }
    if (name === "if") return this.#condition();
    if (name === "try") return this.#try();
    if (name === "reduce") return this.#reduce();
    const args: Filter[] = [];
    if (this.#take("(")) {
      do args.push(this.#binary(0)); while (this.#take(";"));
      this.#expect(")");
    }
    const found = findFunction(name, args, this.#context);
    if (found === undefined) {
      throw new JqError(`there is no function ${name} with ${args.length} arguments`);
    }
    return this.#counted(found);
  }

  #try(): Filter {
    const body = this.#postfix();
    if (!this.#take("catch")) return this.#counted(attempt(body));
    const handler = this.#postfix();
    return this.#counted(function* (input) {
      try {
        yield* body(input);
      } catch (error) {
        if (!(error instanceof JqError)) throw error;
        yield* handler(error.message);
      }
    });
  }

  #condition(): Filter {
    const test = this.#binary(0);
    this.#expect("then");
    const then = this.#binary(0);
    let otherwise: Filter = identity;
    if (this.#take("elif")) otherwise = this.#condition();
    else {
      if (this.#take("else")) otherwise = this.#binary(0);
      this.#expect("end");
    }
    return this.#counted(function* (input) {
      for (const value of test(input)) yield* (isTrue(value) ? then : otherwise)(input);
    });
  }

  #object(): Filter {
    const entries: Entry[] = [];
    while (!this.#take("}")) {
      if (entries.length > 0) this.#expect(",");
      const key = this.#key();
      const value = this.#take(":") ? this.#binary(ALTERNATIVE) : index(identity, key);
      entries.push([key, value]);
    }
    return this.#counted((input) => objects(input, entries, {}, this.#context));
  }

  #key(): Filter {
    if (this.#token === '"') return this.#string();
    if (this.#take("(")) {
      const key = this.#binary(0);
      this.#expect(")");
      return key;
    }
    if (!/^[A-Za-z_]/.test(this.#token ?? "")) throw this.#unexpected();
    return literal(this.#next() ?? "");
  }

  /** A text, with filters in `\\(…)`. */
  #string(): Filter {
    const parts: Filter[] = [];
    this.#at++;
    for (;;) {
      TEXT.lastIndex = this.#at;
      const raw = TEXT.exec(this.#text)?.[0] ?? "";
      this.#at += raw.length;
      parts.push(literal(textIn(raw)));
      if (this.#text[this.#at] === '"') break;
      if (this.#text[this.#at] !== "\\") throw new JqError("a text has no end");
      this.#at += 2;
      this.#next();
      const inner = this.#binary(0);
      if (this.#token !== ")") throw this.#unexpected(")");
      parts.push(inner);
    }
    this.#at++;
    this.#next();
    const context = this.#context;
    return parts.reduce((left, right) => {
      const text: Filter = (input) =>
        collect(right(input), context).map((one) => asText(one, context));
      return this.#counted(combine("+", left, text, context));
    });
  }
}
