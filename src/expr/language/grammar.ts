/** The grammar: makes a syntax tree of tokens, by recursive descent with precedences. */

import type { Value } from "../values/values.ts";
import type { Node } from "./ast.ts";
import { MAX_CHAIN, MAX_NESTING, MAX_NODES, MAX_SOURCE_LENGTH } from "./limits.ts";
import { decodeNumber } from "./literals.ts";
import { isBuiltin, PREDICATE_BUILTINS } from "./names.ts";
import { BINARY, COMPARISONS, NEGATABLE, UNARY } from "./precedence.ts";
import { type Token, tokenText, WORD_OPERATORS } from "./scanner.ts";
import { type TokenCursor, TokenReader } from "./token_reader.ts";

/** One parse. It counts nodes, nesting, and the predicates around the current place. */
export class Grammar {
  readonly #tokens: TokenReader;
  readonly #hiddenBuiltins: ReadonlySet<string>;
  #nodes = 0;
  #nesting = 0;
  #predicates = 0;

  /** @param hiddenBuiltins built-in functions whose names the environment uses */
  constructor(cursor: TokenCursor, hiddenBuiltins: ReadonlySet<string>) {
    this.#tokens = new TokenReader(cursor);
    this.#hiddenBuiltins = hiddenBuiltins;
  }

  /** The tree of the whole source. @throws {ExprCompileError} */
  program(): Node {
    if (this.#tokens.source.length > MAX_SOURCE_LENGTH) {
      this.#tokens.fail(`expression is longer than ${MAX_SOURCE_LENGTH} characters`, 0);
    }
    this.#tokens.next();
    const root = this.#sequence();
    if (this.#tokens.token.kind !== "EOF") this.#tokens.unexpected();
    return root;
  }

  #make<T extends Node>(node: T, extra = 0): T {
    this.#nodes += 1 + extra;
    if (this.#nodes > MAX_NODES) {
      this.#tokens.failHere("compilation failed: expression exceeds maximum allowed nodes");
    }
    return node;
  }

  #literal(value: Value, at: number): Node {
    return this.#make({ kind: "literal", value, at });
  }

  #sequence(): Node {
    const at = this.#tokens.token.at;
    const parts = [this.#expression(0)];
    while (this.#tokens.accept("Operator", ";")) {
      if (this.#tokens.is("EOF")) break;
      parts.push(this.#expression(0));
    }
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    return this.#make({ kind: "sequence", parts, at });
  }

  #expression(precedence: number): Node {
    if (++this.#nesting > MAX_NESTING) {
      this.#tokens.failHere(`expression is nested deeper than ${MAX_NESTING} levels`);
    }
    const node = this.#expressionBody(precedence);
    this.#nesting--;
    return node;
  }

  #expressionBody(precedence: number): Node {
    if (precedence === 0 && this.#tokens.is("Operator", "let")) return this.#let();
    if (precedence === 0 && this.#tokens.is("Operator", "if")) return this.#if();
    let left = this.#primary();
    let previous = "";
    let pipes = 0;
    while (this.#tokens.token.kind === "Operator") {
      let operator = this.#tokens.token;
      const isNegated = operator.text === "not";
      if (isNegated) {
        const { place } = this.#tokens;
        this.#tokens.next();
        if (!this.#tokens.is("Operator") || !NEGATABLE.has(this.#tokens.token.text)) {
          this.#tokens.unexpected();
        }
        if ((BINARY.get(this.#tokens.token.text) ?? -1) < precedence) {
          this.#tokens.goTo(place);
          break;
        }
        operator = this.#tokens.token;
      }
      const level = BINARY.get(operator.text);
      if (level === undefined || level < precedence) break;
      this.#tokens.next();
      if (operator.text === "|" && ++pipes > MAX_CHAIN) {
        this.#tokens.fail(`more than ${MAX_CHAIN} piped calls in a row`, operator.at);
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
      const name = this.#tokens.expect("Identifier");
      return this.#namedCall(name, [left], true);
    }
    if (previous === "??" && operator !== "??") {
      this.#tokens.fail(
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
      operator = this.#tokens.token;
      if (operator.kind !== "Operator" || !COMPARISONS.has(operator.text)) return root;
      this.#tokens.next();
    }
  }

  #conditional(first: Node): Node {
    let node = first;
    while (this.#tokens.accept("Operator", "?")) {
      let yes = node;
      if (!this.#tokens.accept("Operator", ":")) {
        yes = this.#expression(0);
        this.#tokens.expect("Operator", ":");
      }
      const no = this.#expression(0);
      node = this.#make({ kind: "conditional", test: node, yes, no, at: this.#tokens.token.at });
    }
    return node;
  }

  #let(): Node {
    this.#tokens.next();
    const name = this.#tokens.expect("Identifier");
    this.#tokens.expect("Operator", "=");
    const value = this.#expression(0);
    this.#tokens.expect("Operator", ";");
    const body = this.#sequence();
    return this.#make({ kind: "let", name: name.text, value, body, at: name.at });
  }

  #if(): Node {
    const { at } = this.#tokens.token;
    this.#tokens.next();
    const test = this.#expression(0);
    const yes = this.#block();
    this.#tokens.expect("Operator", "else");
    const no = this.#tokens.is("Operator", "if") ? this.#expression(0) : this.#block();
    return this.#make({ kind: "conditional", test, yes, no, at });
  }

  #block(): Node {
    this.#tokens.expect("Bracket", "{");
    const body = this.#sequence();
    this.#tokens.expect("Bracket", "}");
    return body;
  }

  #primary(): Node {
    const token = this.#tokens.token;
    const { at, text } = token;
    const unary = token.kind === "Operator" ? UNARY.get(text) : undefined;
    if (unary !== undefined) {
      this.#tokens.next();
      const operand = this.#expression(unary);
      return this.#links(this.#make({ kind: "unary", operator: text, operand, at }));
    }
    if (this.#tokens.accept("Bracket", "(")) {
      const inner = this.#sequence();
      this.#tokens.expect("Bracket", ")");
      return this.#links(inner);
    }
    if (this.#predicates > 0 && token.kind === "Operator" && (text === "#" || text === ".")) {
      return this.#links(this.#pointer());
    }
    if (this.#tokens.accept("Operator", "::")) {
      const name = this.#tokens.expect("Identifier");
      return this.#links(this.#namedCall(name, [], false));
    }
    return this.#secondary();
  }

  #pointer(): Node {
    const { at, text } = this.#tokens.token;
    if (text === ".") return this.#make({ kind: "pointer", name: "", at });
    const glued = this.#tokens.pointerName();
    this.#tokens.next();
    if (glued !== "" || !this.#tokens.is("Identifier")) {
      return this.#make({ kind: "pointer", name: glued, at });
    }
    return this.#make({ kind: "pointer", name: this.#tokens.expect("Identifier").text, at });
  }

  #secondary(): Node {
    const token = this.#tokens.token;
    const { at, text, kind } = token;
    switch (kind) {
      case "Identifier":
        this.#tokens.next();
        if (text === "true" || text === "false") return this.#literal(text === "true", at);
        if (text === "nil") return this.#literal(null, at);
        if (this.#tokens.is("Bracket", "(")) return this.#links(this.#namedCall(token, [], true));
        return this.#links(this.#make({ kind: "name", name: text, at }));
      case "Number": {
        this.#tokens.next();
        const number = decodeNumber(text);
        if ("error" in number) this.#tokens.failHere(number.error);
        return this.#literal(number.value, at);
      }
      case "String":
      case "Bytes":
        this.#tokens.next();
        return this.#links(this.#literal(token.bytes ?? text, at));
      default:
        if (this.#tokens.is("Bracket", "[")) return this.#links(this.#array());
        if (this.#tokens.is("Bracket", "{")) return this.#links(this.#map());
        return this.#tokens.unexpected();
    }
  }

  /** Everything that may follow a primary: `.name`, `?.name`, `[index]`, `[from:to]` and method calls. */
  #links(first: Node): Node {
    let node = first;
    for (let count = 0;; count++) {
      if (count > MAX_CHAIN) {
        this.#tokens.failHere(`more than ${MAX_CHAIN} links in a chain`);
      }
      const isOptional = this.#tokens.is("Operator", "?.");
      if (isOptional || this.#tokens.is("Operator", ".")) {
        this.#tokens.next();
        node = isOptional && this.#tokens.is("Bracket", "[")
          ? this.#index(node, true)
          : this.#property(node, isOptional);
      } else if (this.#tokens.is("Bracket", "[")) node = this.#index(node, false);
      else return node;
    }
  }

  #property(target: Node, isOptional: boolean): Node {
    const { kind, text, at } = this.#tokens.token;
    if (kind === "EOF") this.#tokens.fail("unexpected end of expression", at);
    if (kind !== "Identifier" && !(kind === "Operator" && WORD_OPERATORS.has(text))) {
      // At the token after the one that is no name, as in the reference.
      this.#tokens.next();
      this.#tokens.failHere("expected name");
    }
    this.#tokens.next();
    const property = this.#literal(text, at);
    const isChain = target.kind === "chain";
    const object = isChain ? target.body : target;
    const isMethod = this.#tokens.is("Bracket", "(");
    let node: Node = this.#make({ kind: "member", object, property, isOptional, isMethod, at });
    if (isMethod) {
      node = this.#make({ kind: "call", callee: node, args: this.#arguments([]), at });
    }
    return isChain || isOptional ? this.#make({ kind: "chain", body: node, at }) : node;
  }

  #index(object: Node, isOptional: boolean): Node {
    const { at } = this.#tokens.expect("Bracket", "[");
    const from = this.#tokens.is("Operator", ":") ? undefined : this.#expression(0);
    if (this.#tokens.accept("Operator", ":")) {
      const to = this.#tokens.is("Bracket", "]") ? undefined : this.#expression(0);
      this.#tokens.expect("Bracket", "]");
      return this.#make({ kind: "slice", object, from, to, at });
    }
    if (from === undefined) this.#tokens.unexpected();
    this.#tokens.expect("Bracket", "]");
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
    const isHidden = canBeHidden && this.#hiddenBuiltins.has(name);
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
    this.#tokens.expect("Bracket", "(");
    return [...given, ...this.#items(")", () => this.#expression(0))];
  }

  /** Arguments of a collection function; a piped one is not in the parentheses. */
  #predicateArguments(shape: readonly string[], given: readonly Node[]): Node[] {
    const args = [...given];
    this.#tokens.expect("Bracket", "(");
    const wanted = shape.slice(given.length);
    for (const [i, what] of wanted.entries()) {
      if (this.#tokens.is("Bracket", ")")) {
        if (what.endsWith("?")) break;
        this.#tokens.failHere(`expected at least ${wanted.length} arguments`);
      }
      if (i > 0) this.#tokens.expect("Operator", ",");
      args.push(what.startsWith("predicate") ? this.#predicate() : this.#expression(0));
    }
    this.#tokens.accept("Operator", ",");
    this.#tokens.expect("Bracket", ")");
    return args;
  }

  #predicate(): Node {
    const { at } = this.#tokens.token;
    const hasBraces = this.#tokens.accept("Bracket", "{");
    this.#predicates++;
    const body = hasBraces ? this.#sequence() : this.#expression(0);
    if (!hasBraces && this.#tokens.is("Operator", ";")) {
      this.#tokens.failHere("wrap predicate with brackets { and }");
    }
    this.#predicates--;
    if (hasBraces) this.#tokens.expect("Bracket", "}");
    return this.#make({ kind: "predicate", body, at });
  }

  #array(): Node {
    const { at } = this.#tokens.expect("Bracket", "[");
    const items = this.#items("]", () => this.#expression(0));
    return this.#make({ kind: "array", items, at });
  }

  #map(): Node {
    const { at } = this.#tokens.expect("Bracket", "{");
    const pairs = this.#items("}", () => {
      const key = this.#mapKey();
      this.#tokens.expect("Operator", ":");
      return { key, value: this.#expression(0) };
    });
    return this.#make({ kind: "map", pairs, at }, pairs.length);
  }

  /** Items, separated by commas, up to the closing bracket; a comma may follow the last one. */
  #items<T>(close: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.#tokens.is("Bracket", close)) {
      if (items.length > 0) {
        this.#tokens.expect("Operator", ",");
        if (this.#tokens.is("Bracket", close)) break;
      }
      items.push(read());
    }
    this.#tokens.expect("Bracket", close);
    return items;
  }

  #mapKey(): Node {
    const { kind, text, at } = this.#tokens.token;
    if (kind === "Number" || kind === "String" || kind === "Identifier") {
      this.#tokens.next();
      return this.#literal(text, at);
    }
    if (this.#tokens.is("Bracket", "(")) return this.#expression(0);
    return this.#tokens.fail(
      "a map key must be a quoted string, a number, a identifier, or an expression enclosed in " +
        `parentheses (unexpected token ${tokenText(this.#tokens.token)})`,
      at,
    );
  }
}
