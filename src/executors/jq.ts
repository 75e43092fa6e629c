/**
 * Pure: jq filters over an object of the cluster, the part of the language that reads and shapes it. There are no
 * variables, no definitions, no loops over state and no assignments, so a filter ends after as many steps as it has parts
 * and the object has members.
 */
import type { Json, JsonObject } from "../base/json.ts";
import { descendants, type Filter, findFunction } from "./jq_functions.ts";
import { asText, elementsOf, isTrue, JqError, memberOf, operate } from "./jq_values.ts";

/** Longest filter, characters. */
const MAX_LENGTH = 4096;
/** Deepest nesting of a filter. */
const MAX_DEPTH = 100;
/** Most values that a filter may make in all. */
const MAX_VALUES = 100_000;

const SPACE = /(?:\s|#[^\n]*)*/y;
const TOKEN =
  /\.[A-Za-z_]\w*|\.\.|@?[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\/\/|[=!<>]=|[-+*/%<>|,.()[\]{}:;?]/y;
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
/** The level of values in an object, which a comma ends. */
const ALTERNATIVE = 2;

/**
 * What a filter makes of a value, one after the other in lines: text as it is, anything else as JSON.
 *
 * @throws {JqError} when the filter can't be read or does not fit
 */
export function readJq(filter: string, value: Json): string {
  const run = new JqReader(filter).read();
  return [...run(value)].map(asText).join("\n");
}

class JqReader {
  readonly #text: string;
  #at = 0;
  #token: string | undefined;
  #depth = 0;
  #made = 0;

  constructor(text: string) {
    if (text.length > MAX_LENGTH) {
      throw new JqError(`the filter is longer than ${MAX_LENGTH} characters`);
    }
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
      // Alternatives and pipes go on to the right.
      const isRight = operator === "//" || operator === "|";
      const right = this.#binary(isRight ? level : level + 1);
      left = this.#counted(combine(operator, left, right));
    }
    this.#depth--;
    return left;
  }

  /** Ends a filter that makes too many values. */
  #counted(filter: Filter): Filter {
    const count = () => {
      if (++this.#made > MAX_VALUES) throw new JqError(`it makes more than ${MAX_VALUES} values`);
    };
    return function* (input) {
      for (const value of filter(input)) {
        count();
        yield value;
      }
    };
  }

  #postfix(): Filter {
    let of = this.#primary();
    for (;;) {
      const token = this.#token ?? "";
      if (/^\.[A-Za-z_]/.test(token)) {
        this.#next();
        of = index(of, literal(token.slice(1)));
      } else if (token === "." && /^\s*["[]/.test(this.#text.slice(this.#at))) {
        this.#next();
        if (this.#token === '"') of = index(of, this.#string());
      } else if (this.#take("[")) of = this.#counted(this.#bracket(of));
      else if (this.#take("?")) of = attempt(of);
      else return of;
    }
  }

  /** What stands in brackets behind a filter. */
  #bracket(of: Filter): Filter {
    if (this.#take("]")) {
      return function* (input) {
        for (const value of of(input)) yield* elementsOf(value);
      };
    }
    const from = this.#token === ":" ? undefined : this.#binary(0);
    if (!this.#take(":")) {
      this.#expect("]");
      return index(of, from ?? identity);
    }
    const to = this.#token === "]" ? undefined : this.#binary(0);
    this.#expect("]");
    return slice(of, from, to);
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
    if (this.#take("..")) return this.#counted(descendants);
    if (this.#take(".")) return this.#token === '"' ? index(identity, this.#string()) : identity;
    if (this.#take("-")) return negate(this.#postfix());
    if (this.#take("(")) {
      const inner = this.#binary(0);
      this.#expect(")");
      return inner;
    }
    if (this.#take("[")) {
      if (this.#take("]")) return literal([]);
      const inner = this.#binary(0);
      this.#expect("]");
      return (input) => [[...inner(input)]];
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
    const args: Filter[] = [];
    if (this.#take("(")) {
      do args.push(this.#binary(0)); while (this.#take(";"));
      this.#expect(")");
    }
    const found = findFunction(name, args);
    if (found === undefined) {
      throw new JqError(`there is no function ${name} with ${args.length} arguments`);
    }
    return this.#counted(found);
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
    return function* (input) {
      for (const value of test(input)) yield* (isTrue(value) ? then : otherwise)(input);
    };
  }

  #object(): Filter {
    const entries: Entry[] = [];
    while (!this.#take("}")) {
      if (entries.length > 0) this.#expect(",");
      const key = this.#key();
      const value = this.#take(":") ? this.#binary(ALTERNATIVE) : index(identity, key);
      entries.push([key, value]);
    }
    return this.#counted((input) => objects(input, entries, {}));
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

  /** A text; filters in it stand in `\\(…)`. */
  #string(): Filter {
    const parts: Filter[] = [];
    this.#at++;
    for (;;) {
      TEXT.lastIndex = this.#at;
      const raw = TEXT.exec(this.#text)?.[0] ?? "";
      this.#at += raw.length;
      parts.push(literal(JSON.parse(`"${raw.replace(/\n/g, "\\n")}"`) as string));
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
    return parts.reduce((left, right) =>
      combine("+", left, (input) => [...right(input)].map(asText))
    );
  }
}

type Entry = [key: Filter, value: Filter];

/** One object for every way to choose from the values of the entries. */
function* objects(input: Json, entries: readonly Entry[], made: JsonObject): Iterable<Json> {
  const [first, ...rest] = entries;
  if (first === undefined) return yield made;
  for (const key of first[0](input)) {
    if (typeof key !== "string") throw new JqError("the key of an object must be a text");
    for (const value of first[1](input)) yield* objects(input, rest, { ...made, [key]: value });
  }
}

function* identity(input: Json): Iterable<Json> {
  yield input;
}

function literal(value: Json): Filter {
  return () => [value];
}

function index(of: Filter, key: Filter): Filter {
  return function* (input) {
    for (const value of of(input)) {
      for (const one of key(input)) yield memberOf(value, one);
    }
  };
}

function slice(of: Filter, from: Filter | undefined, to: Filter | undefined): Filter {
  const bound = (filter: Filter | undefined, input: Json) => {
    const [value = null] = filter === undefined ? [] : filter(input);
    if (value !== null && typeof value !== "number") throw new JqError("a bound must be a number");
    return value ?? undefined;
  };
  return function* (input) {
    for (const value of of(input)) {
      if (value !== null && typeof value !== "string" && !Array.isArray(value)) {
        throw new JqError("only texts and arrays have slices");
      }
      yield value === null ? null : value.slice(bound(from, input), bound(to, input));
    }
  };
}

function attempt(of: Filter): Filter {
  return function* (input) {
    try {
      yield* of(input);
    } catch (error) {
      if (!(error instanceof JqError)) throw error;
    }
  };
}

function negate(of: Filter): Filter {
  return function* (input) {
    for (const value of of(input)) yield operate("-", 0, value);
  };
}

function combine(operator: string, left: Filter, right: Filter): Filter {
  switch (operator) {
    case "|":
      return function* (input) {
        for (const value of left(input)) yield* right(value);
      };
    case ",":
      return function* (input) {
        yield* left(input);
        yield* right(input);
      };
    case "//":
      return function* (input) {
        const found = [...attempt(left)(input)].filter(isTrue);
        yield* found.length > 0 ? found : right(input);
      };
    case "and":
    case "or":
      return function* (input) {
        for (const value of left(input)) {
          if (isTrue(value) === (operator === "or")) yield operator === "or";
          else for (const other of right(input)) yield isTrue(other);
        }
      };
    default:
      return function* (input) {
        for (const other of right(input)) {
          for (const value of left(input)) yield operate(operator, value, other);
        }
      };
  }
}
