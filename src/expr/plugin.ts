/**
 * The grammar, as one jsep plugin. jsep supplies the entry, the cursor (`expr`, `index`) and `gobbleSpaces` with its
 * hook; the whole program is parsed in `before-all`, because jsep's own token, binary and group scanners accept too
 * much (sequences without separators, holes) and know no unary precedence.
 */

import type { Node } from "./ast.ts";
import { ExprCompileError } from "./error.ts";
import { decodeNumber } from "./literals.ts";
import { isBuiltin, PREDICATE_BUILTINS } from "./names.ts";
import {
  type Cursor,
  scanToken,
  skipSpacesAndComments,
  takePointerName,
  type Token,
  type TokenKind,
  tokenText,
  WORD_OPERATORS,
} from "./scanner.ts";
import type { Value } from "./values.ts";

/** Longest source, in UTF-16 units. */
export const MAX_SOURCE_LENGTH = 262_144;
/** Most nodes of one expression; the reference's number. */
export const MAX_NODES = 10_000;
/** Deepest nesting of parentheses, lists, unary operators, conditional arms and so on. */
export const MAX_NESTING = 400;

/** Most links (`.name`, `[index]`, piped calls) in a row. */
export const MAX_CHAIN = 500;

/** What the plugin uses of a jsep parser instance, and what it leaves there. */
export interface ParserHost extends Cursor {
  gobbleSpaces(): void;
  /** Names of the environment that hide built-ins; set before `parse()`. */
  hiddenBuiltins: ReadonlySet<string>;
  /** The result. */
  root: Node | undefined;
}

interface HookRegistry {
  hooks: { add(name: string, hook: (this: ParserHost, env: { node?: unknown }) => void): void };
}

/** The plugin. Register it once on the jsep of this package. */
export const exprPlugin: { readonly name: string; readonly init: (jsep: HookRegistry) => void } = {
  name: "expr",
  init(jsep) {
    jsep.hooks.add("gobble-spaces", function () {
      skipSpacesAndComments(this);
    });
    jsep.hooks.add("before-all", function () {
      this.root = new Grammar(this).program();
      this.index = this.expr.length;
    });
    jsep.hooks.add("after-all", function (env) {
      env.node = this.root;
    });
  },
};

/** Operators `not` may stand before, between two operands. */
const NEGATABLE = new Set(["in", "matches", "contains", "startsWith", "endsWith"]);
const COMPARISONS = new Set(["<", "<=", ">", ">="]);
const UNARY = new Map([["not", 50], ["!", 50], ["-", 90], ["+", 90]]);
const BINARY = new Map([
  ["|", 0],
  ...["or", "||"].map((op) => [op, 10] as const),
  ...["and", "&&"].map((op) => [op, 15] as const),
  ...["==", "!=", ...COMPARISONS, ...NEGATABLE].map((op) => [op, 20] as const),
  ["..", 25],
  ...["+", "-"].map((op) => [op, 30] as const),
  ...["*", "/", "%"].map((op) => [op, 60] as const),
  ...["**", "^"].map((op) => [op, 100] as const),
  ["??", 500],
]);

/** The state of one parse: a token of look-ahead, and the budgets. */
class Grammar {
  readonly #host: ParserHost;
  readonly #source: string;
  #token: Token = { kind: "EOF", text: "", at: 0 };
  #nodes = 0;
  #nesting = 0;
  #predicates = 0;

  constructor(host: ParserHost) {
    this.#host = host;
    this.#source = host.expr;
  }

  program(): Node {
    if (this.#source.length > MAX_SOURCE_LENGTH) {
      this.#fail(`expression is longer than ${MAX_SOURCE_LENGTH} characters`, 0);
    }
    this.#next();
    const root = this.#sequence();
    if (this.#token.kind !== "EOF") this.#unexpected();
    return root;
  }

  // Tokens

  #fail(message: string, at: number): never {
    throw new ExprCompileError(message, this.#source, at);
  }

  #unexpected(): never {
    this.#fail(`unexpected token ${tokenText(this.#token)}`, this.#token.at);
  }

  #next(): void {
    this.#host.gobbleSpaces();
    this.#token = scanToken(this.#host);
  }

  #is(kind: TokenKind, text?: string): boolean {
    return this.#token.kind === kind && (text === undefined || this.#token.text === text);
  }

  #accept(kind: TokenKind, text: string): boolean {
    const found = this.#is(kind, text);
    if (found) this.#next();
    return found;
  }

  #expect(kind: TokenKind, text?: string): Token {
    const token = this.#token;
    if (!this.#is(kind, text)) this.#unexpected();
    this.#next();
    return token;
  }

  #make<T extends Node>(node: T, extra = 0): T {
    this.#nodes += 1 + extra;
    if (this.#nodes > MAX_NODES) {
      this.#fail("compilation failed: expression exceeds maximum allowed nodes", this.#token.at);
    }
    return node;
  }

  #literal(value: Value, at: number): Node {
    return this.#make({ kind: "literal", value, at });
  }

  // Grammar

  #sequence(): Node {
    const at = this.#token.at;
    const parts = [this.#expression(0)];
    while (this.#accept("Operator", ";")) {
      if (this.#is("EOF")) break;
      parts.push(this.#expression(0));
    }
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    return this.#make({ kind: "sequence", parts, at });
  }

  #expression(precedence: number): Node {
    if (++this.#nesting > MAX_NESTING) {
      this.#fail(`expression is nested deeper than ${MAX_NESTING} levels`, this.#token.at);
    }
    const node = this.#expressionBody(precedence);
    this.#nesting--;
    return node;
  }

  #expressionBody(precedence: number): Node {
    if (precedence === 0 && this.#is("Operator", "let")) return this.#let();
    if (precedence === 0 && this.#is("Operator", "if")) return this.#if();
    let left = this.#primary();
    let previous = "";
    let pipes = 0;
    while (this.#token.kind === "Operator") {
      let operator = this.#token;
      const isNegated = operator.text === "not";
      if (isNegated) {
        const { index } = this.#host;
        this.#next();
        if (!this.#is("Operator") || !NEGATABLE.has(this.#token.text)) this.#unexpected();
        if ((BINARY.get(this.#token.text) ?? -1) < precedence) {
          this.#token = operator;
          this.#host.index = index;
          break;
        }
        operator = this.#token;
      }
      const level = BINARY.get(operator.text);
      if (level === undefined || level < precedence) break;
      this.#next();
      if (operator.text === "|" && ++pipes > MAX_CHAIN) {
        this.#fail(`more than ${MAX_CHAIN} piped calls in a row`, operator.at);
      }
      left = this.#operation(left, operator, level, previous);
      if (isNegated) {
        left = this.#make({ kind: "unary", operator: "not", operand: left, at: operator.at });
      }
      previous = operator.text;
    }
    return precedence === 0 ? this.#conditional(left) : left;
  }

  #operation(left: Node, token: Token, level: number, previous: string): Node {
    const { text: operator, at } = token;
    if (operator === "|") {
      const name = this.#expect("Identifier");
      return this.#namedCall(name, [left], true);
    }
    if (previous === "??" && operator !== "??") {
      this.#fail(
        `Operator (${operator}) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses.`,
        at,
      );
    }
    if (COMPARISONS.has(operator)) return this.#comparison(left, token, level);
    const isRight = operator === "**" || operator === "^";
    const right = this.#expression(isRight ? level : level + 1);
    return this.#make({ kind: "binary", operator, left, right, at });
  }

  /** `a < b <= c` means `a < b && b <= c`. */
  #comparison(first: Node, token: Token, level: number): Node {
    let left = first;
    let operator = token;
    let root: Node | undefined;
    for (;;) {
      const right = this.#expression(level + 1);
      const { text, at } = operator;
      const link: Node = this.#make({ kind: "binary", operator: text, left, right, at });
      root = root === undefined
        ? link
        : this.#make({ kind: "binary", operator: "&&", left: root, right: link, at });
      left = right;
      operator = this.#token;
      if (operator.kind !== "Operator" || !COMPARISONS.has(operator.text)) return root;
      this.#next();
    }
  }

  #conditional(first: Node): Node {
    let node = first;
    while (this.#accept("Operator", "?")) {
      let yes = node;
      if (!this.#accept("Operator", ":")) {
        yes = this.#expression(0);
        this.#expect("Operator", ":");
      }
      const no = this.#expression(0);
      node = this.#make({ kind: "conditional", test: node, yes, no, at: this.#token.at });
    }
    return node;
  }

  #let(): Node {
    this.#next();
    const name = this.#expect("Identifier");
    this.#expect("Operator", "=");
    const value = this.#expression(0);
    this.#expect("Operator", ";");
    const body = this.#sequence();
    return this.#make({ kind: "let", name: name.text, value, body, at: name.at });
  }

  #if(): Node {
    const { at } = this.#token;
    this.#next();
    const test = this.#expression(0);
    const yes = this.#block();
    this.#expect("Operator", "else");
    const no = this.#is("Operator", "if") ? this.#expression(0) : this.#block();
    return this.#make({ kind: "conditional", test, yes, no, at });
  }

  #block(): Node {
    this.#expect("Bracket", "{");
    const body = this.#sequence();
    this.#expect("Bracket", "}");
    return body;
  }

  #primary(): Node {
    const token = this.#token;
    const { at, text } = token;
    const unary = token.kind === "Operator" ? UNARY.get(text) : undefined;
    if (unary !== undefined) {
      this.#next();
      const operand = this.#expression(unary);
      return this.#links(this.#make({ kind: "unary", operator: text, operand, at }));
    }
    if (this.#accept("Bracket", "(")) {
      const inner = this.#sequence();
      this.#expect("Bracket", ")");
      return this.#links(inner);
    }
    if (this.#predicates > 0 && token.kind === "Operator" && (text === "#" || text === ".")) {
      return this.#links(this.#pointer());
    }
    if (this.#accept("Operator", "::")) {
      const name = this.#expect("Identifier");
      return this.#links(this.#namedCall(name, [], false));
    }
    return this.#secondary();
  }

  #pointer(): Node {
    const { at, text } = this.#token;
    if (text === ".") return this.#make({ kind: "pointer", name: "", at });
    const glued = takePointerName(this.#host);
    this.#next();
    if (glued !== "" || !this.#is("Identifier")) {
      return this.#make({ kind: "pointer", name: glued, at });
    }
    return this.#make({ kind: "pointer", name: this.#expect("Identifier").text, at });
  }

  #secondary(): Node {
    const token = this.#token;
    const { at, text, kind } = token;
    switch (kind) {
      case "Identifier":
        this.#next();
        if (text === "true" || text === "false") return this.#literal(text === "true", at);
        if (text === "nil") return this.#literal(null, at);
        if (this.#is("Bracket", "(")) return this.#links(this.#namedCall(token, [], true));
        return this.#links(this.#make({ kind: "name", name: text, at }));
      case "Number": {
        this.#next();
        const number = decodeNumber(text);
        if ("error" in number) this.#fail(number.error, this.#token.at);
        return this.#literal(number.value, at);
      }
      case "String":
      case "Bytes":
        this.#next();
        return this.#links(this.#literal(token.bytes ?? text, at));
      default:
        if (this.#is("Bracket", "[")) return this.#links(this.#array());
        if (this.#is("Bracket", "{")) return this.#links(this.#map());
        return this.#unexpected();
    }
  }

  /** Everything that may follow a primary: `.name`, `?.name`, `[index]`, `[from:to]` and method calls. */
  #links(first: Node): Node {
    let node = first;
    for (let count = 0;; count++) {
      if (count > MAX_CHAIN) {
        this.#fail(`more than ${MAX_CHAIN} links in a chain`, this.#token.at);
      }
      const isOptional = this.#is("Operator", "?.");
      if (isOptional || this.#is("Operator", ".")) {
        this.#next();
        node = isOptional && this.#is("Bracket", "[")
          ? this.#index(node, true)
          : this.#property(node, isOptional);
      } else if (this.#is("Bracket", "[")) node = this.#index(node, false);
      else return node;
    }
  }

  #property(target: Node, isOptional: boolean): Node {
    const { kind, text, at } = this.#token;
    if (kind === "EOF") this.#fail("unexpected end of expression", at);
    if (kind !== "Identifier" && !(kind === "Operator" && WORD_OPERATORS.has(text))) {
      this.#fail("expected name", at);
    }
    this.#next();
    const property = this.#literal(text, at);
    const isChain = target.kind === "chain";
    const object = isChain ? target.body : target;
    const isMethod = this.#is("Bracket", "(");
    let node: Node = this.#make({ kind: "member", object, property, isOptional, isMethod, at });
    if (isMethod) {
      node = this.#make({ kind: "call", callee: node, args: this.#arguments([]), at });
    }
    return isChain || isOptional ? this.#make({ kind: "chain", body: node, at }) : node;
  }

  #index(object: Node, isOptional: boolean): Node {
    const { at } = this.#expect("Bracket", "[");
    const from = this.#is("Operator", ":") || this.#is("Operator", "::")
      ? undefined
      : this.#expression(0);
    if (this.#accept("Operator", ":")) {
      const to = this.#is("Bracket", "]") ? undefined : this.#expression(0);
      this.#expect("Bracket", "]");
      return this.#make({ kind: "slice", object, from, to, at });
    }
    if (from === undefined) this.#unexpected();
    this.#expect("Bracket", "]");
    const node = this.#make<Node>({
      kind: "member",
      object,
      property: from,
      isOptional,
      isMethod: false,
      at,
    });
    return isOptional ? this.#make({ kind: "chain", body: node, at }) : node;
  }

  #namedCall(token: Token, given: readonly Node[], canBeHidden: boolean): Node {
    const { text: name, at } = token;
    const isHidden = canBeHidden && this.#host.hiddenBuiltins.has(name);
    const shape = isHidden ? undefined : PREDICATE_BUILTINS.get(name);
    if (shape !== undefined) {
      const args = this.#predicateArguments(shape, given);
      return this.#make({ kind: "builtin", name, args, at });
    }
    const args = this.#arguments(given);
    if (!isHidden && isBuiltin(name)) return this.#make({ kind: "builtin", name, args, at });
    const callee: Node = this.#make({ kind: "name", name, at });
    return this.#make({ kind: "call", callee, args, at });
  }

  #arguments(given: readonly Node[]): Node[] {
    const args = [...given];
    this.#expect("Bracket", "(");
    while (!this.#is("Bracket", ")")) {
      if (args.length > given.length) this.#expect("Operator", ",");
      if (this.#is("Bracket", ")")) break;
      args.push(this.#expression(0));
    }
    this.#expect("Bracket", ")");
    return args;
  }

  /** Arguments of a collection function; one that is piped in is not repeated in the parentheses. */
  #predicateArguments(shape: readonly string[], given: readonly Node[]): Node[] {
    const args = [...given];
    this.#expect("Bracket", "(");
    const wanted = shape.slice(given.length);
    for (const [i, what] of wanted.entries()) {
      if (this.#is("Bracket", ")")) {
        if (what.endsWith("?")) break;
        this.#fail(`expected at least ${wanted.length} arguments`, this.#token.at);
      }
      if (i > 0) this.#expect("Operator", ",");
      args.push(what.startsWith("predicate") ? this.#predicate() : this.#expression(0));
    }
    this.#accept("Operator", ",");
    this.#expect("Bracket", ")");
    return args;
  }

  #predicate(): Node {
    const { at } = this.#token;
    const hasBraces = this.#accept("Bracket", "{");
    this.#predicates++;
    const body = hasBraces ? this.#sequence() : this.#expression(0);
    if (!hasBraces && this.#is("Operator", ";")) {
      this.#fail("wrap predicate with brackets { and }", this.#token.at);
    }
    this.#predicates--;
    if (hasBraces) this.#expect("Bracket", "}");
    return this.#make({ kind: "predicate", body, at });
  }

  #array(): Node {
    const { at } = this.#expect("Bracket", "[");
    const items: Node[] = [];
    while (!this.#is("Bracket", "]")) {
      if (items.length > 0) {
        this.#expect("Operator", ",");
        if (this.#is("Bracket", "]")) break;
      }
      items.push(this.#expression(0));
    }
    this.#expect("Bracket", "]");
    return this.#make({ kind: "array", items, at });
  }

  #map(): Node {
    const { at } = this.#expect("Bracket", "{");
    const pairs: { key: Node; value: Node }[] = [];
    while (!this.#is("Bracket", "}")) {
      if (pairs.length > 0) {
        this.#expect("Operator", ",");
        if (this.#is("Bracket", "}")) break;
      }
      const key = this.#mapKey();
      this.#expect("Operator", ":");
      pairs.push({ key, value: this.#expression(0) });
    }
    this.#expect("Bracket", "}");
    return this.#make({ kind: "map", pairs, at }, pairs.length);
  }

  #mapKey(): Node {
    const { kind, text, at } = this.#token;
    if (kind === "Number" || kind === "String" || kind === "Identifier") {
      this.#next();
      return this.#literal(text, at);
    }
    if (this.#is("Bracket", "(")) return this.#expression(0);
    return this.#fail(
      "a map key must be a quoted string, a number, a identifier, or an expression enclosed in " +
        `parentheses (unexpected token ${tokenText(this.#token)})`,
      at,
    );
  }
}
