/** Pure: reads templates in the dialect of kubectl's `-o jsonpath`. What they select is in `kube_path_apply.ts`. */
import type { RunContext } from "../../expr/values/run_context.ts";

export type KubePathStep =
  | { type: "field"; name: string }
  | { type: "wildcard" | "recursive" }
  /** Without `to`: one element. */
  | { type: "slice"; from: number | undefined; to: number | undefined | "one"; step: number }
  | { type: "union"; paths: KubePathStep[][] }
  | { type: "filter"; left: KubePathStep[]; operator: string; right: KubePathStep[] }
  | { type: "literal"; value: string | number | boolean };

/** A part of a template: what a path selects, or what is repeated for each value that a path selects. */
export type KubePathPart = { path: KubePathStep[]; each?: KubePathPart[] };

/** Longest template, in UTF-16 units. */
const MAX_TEMPLATE_LENGTH = 4_096;

/** Parses a whole template. @throws {Error} */
export function parseKubePath(template: string, context: RunContext): KubePathPart[] {
  if (template.length > MAX_TEMPLATE_LENGTH) {
    throw new Error(`the JSONPath is longer than ${MAX_TEMPLATE_LENGTH} characters`);
  }
  context.step(template.length * 4);
  const root: KubePathPart[] = [];
  const open = [root];
  let at = 0;
  while (at < template.length) {
    const brace = template.indexOf("{", at);
    const text = template.slice(at, brace < 0 ? undefined : brace);
    if (text !== "") open.at(-1)?.push({ path: [{ type: "literal", value: text }] });
    if (brace < 0) break;
    const action = new Action(template, brace + 1);
    at = action.read("}");
    if (action.isEnd) {
      if (open.length === 1) throw new Error("not in range, nothing to end");
      open.pop();
    } else if (action.isRange) {
      const each: KubePathPart[] = [];
      open.at(-1)?.push({ path: action.steps, each });
      open.push(each);
    } else open.at(-1)?.push({ path: action.steps });
  }
  return root;
}

/** What stands between braces, or in a filter. */
class Action {
  readonly steps: KubePathStep[] = [];
  isRange = false;
  isEnd = false;
  readonly #text: string;
  #at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.#at = at;
  }

  /** Reads up to a closing brace, or to the end of the text. Gives the place after it. */
  read(close: "}" | ""): number {
    const text = this.#text;
    for (;;) {
      const char = text.charAt(this.#at);
      if (char === close) return this.#at + close.length;
      if (char === "") throw new Error("unclosed action");
      if (text.startsWith("[?(", this.#at)) this.#filter();
      else if (text.startsWith("..", this.#at)) this.#recursive();
      else if (char === "[") this.#subscript();
      else if (char === ".") this.#field(this.#at + 1);
      else if (char === '"' || char === "'") this.#quoted(char);
      else if (/[ \t@$]/.test(char)) this.#at++;
      else if (/[-+0-9]/.test(char)) this.#number();
      else if (/[\p{L}_]/u.test(char)) this.#word();
      else throw new Error(`unrecognized character in action: ${char}`);
    }
  }

  /** The text that a pattern matches here, which is passed. */
  #take(pattern: RegExp, from = this.#at): string {
    pattern.lastIndex = from;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at = from + found.length;
    return found;
  }

  #field(from: number): void {
    const name = this.#take(/(?:\\.|[^\s.,[\]$@{}\\])*/suy, from);
    this.steps.push(
      name === "*" ? { type: "wildcard" } : { type: "field", name: name.replaceAll("\\", "") },
    );
  }

  #recursive(): void {
    if (this.steps.at(-1)?.type === "recursive") {
      throw new Error("invalid multiple recursive descent");
    }
    this.steps.push({ type: "recursive" });
    this.#at += 2;
    if (/[\p{L}\p{N}_]/u.test(this.#text.charAt(this.#at))) this.#field(this.#at);
  }

  #word(): void {
    const word = this.#take(/[^\s.,[\]$@{}]+/uy);
    if (word === "true" || word === "false") {
      this.steps.push({ type: "literal", value: word === "true" });
    } else if (word === "range") this.isRange = true;
    else if (word === "end") this.isEnd = true;
    else throw new Error(`unrecognized identifier ${word}`);
  }

  #number(): void {
    const text = this.#take(/[-+]?[0-9.]*/y);
    const value = Number(text);
    if (text === "" || Number.isNaN(value)) throw new Error(`cannot parse number ${text}`);
    this.steps.push({ type: "literal", value });
  }

  #quoted(quote: string): void {
    const text = this.#take(
      quote === '"' ? /"(?:\\.|[^"\\\n])*"/y : /'(?:\\.|[^'\\\n])*'/y,
    );
    if (text === "") throw new Error("unterminated quoted string");
    this.steps.push({ type: "literal", value: unescaped(text.slice(1, -1)) });
  }

  #subscript(): void {
    const end = this.#text.indexOf("]", this.#at);
    if (end < 0) throw new Error("unterminated array");
    const text = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    const parts = text.split(",");
    if (parts.length === 1) this.steps.push(...subscript(text));
    else this.steps.push({ type: "union", paths: parts.map((part) => subscript(part.trim())) });
  }

  #filter(): void {
    const from = this.#at + 3;
    const text = this.#take(/(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"')\n])*/y, from);
    if (this.#text.charAt(this.#at) !== ")") throw new Error("unterminated filter");
    if (this.#text.charAt(this.#at + 1) !== "]") throw new Error("unclosed array expect ]");
    this.#at += 2;
    const [, left = text, operator = "exists", right = ""] =
      /^([^!<>=]+)([!<>=]+)(.+)$/s.exec(text) ?? [];
    this.steps.push({ type: "filter", left: inner(left), operator, right: inner(right) });
  }
}

function inner(text: string): KubePathStep[] {
  const action = new Action(text);
  action.read("");
  return action.steps;
}

function subscript(text: string): KubePathStep[] {
  if (text === "*") return [{ type: "slice", from: undefined, to: undefined, step: 1 }];
  const key = /^'([^']*)'$/.exec(text)?.[1];
  // Dots in a key are dots of a path unless they are escaped, as in a field.
  if (key !== undefined) return inner(`.${key}`);
  const [found, from = "", to, step = ""] = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text) ?? [];
  if (found === undefined) throw new Error(`invalid array index ${text}`);
  const number = (digits: string) => digits === "" ? undefined : Number(digits);
  const by = number(step.slice(1)) ?? 1;
  if (by <= 0) throw new Error("step must be > 0");
  return [{
    type: "slice",
    from: number(from),
    to: to === undefined ? "one" : number(to.slice(1)),
    step: by,
  }];
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unescaped(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))/gs,
    (_, unicode: string | undefined, hex: string | undefined, char = "") =>
      unicode !== undefined || hex !== undefined
        ? String.fromCharCode(parseInt(unicode ?? hex ?? "", 16))
        : ESCAPES[char] ?? char,
  );
}
