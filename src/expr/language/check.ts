/**
 * The type checker. It sets the type of every node it visits and finds what can never work: unknown names, clashing
 * types, wrong arguments. Left-leaning chains are walked without recursion, so their length is not limited by the stack.
 */

import { BUILTINS } from "../functions/builtins.ts";
import { ExprCompileError, Fault } from "../values/error.ts";
import { compileRegex } from "../values/regex.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  ANY,
  BOOL,
  elementOf,
  FUNC,
  INT,
  isArray,
  isInteger,
  isNumber,
  isUnknown,
  NIL,
  type StaticType,
  typeOfValue,
  typeText,
  UNKNOWN,
} from "../values/types.ts";
import type { FunctionTable, ValueMap } from "../values/values.ts";
import { getType, membershipMistake, memberType, type Mistake } from "./access_rules.ts";
import {
  type BinaryNode,
  type BuiltinNode,
  type CallNode,
  ENV_NAME,
  isEnv,
  type MemberNode,
  type Node,
  type SliceNode,
  stringOf,
} from "./ast.ts";
import { isBuiltin } from "./names.ts";
import {
  type ArgumentProblem,
  argumentProblem,
  binaryType,
  branchType,
  COLLECTION_RESULTS,
  listType,
  NO_VARIABLES,
} from "./type_rules.ts";

/** What the checker is given. */
export interface CheckInput {
  readonly source: string;
  readonly env: ValueMap;
  readonly functions: FunctionTable;
  /** See `CompileOptions.open`. */
  readonly open: ReadonlySet<string>;
  /** Where compiling takes its steps from. */
  readonly context: RunContext;
}

/**
 * Checks a tree and sets the types of its nodes.
 * @returns names of the environment on which the result depends, present or not
 * @throws {ExprCompileError} for the first mistake in evaluation order
 */
export function checkTree(root: Node, input: CheckInput): ReadonlySet<string> {
  const checker = new Checker(input);
  checker.visit(root);
  return checker.names;
}

/** The child that is evaluated before everything else of a node, for nodes that form long chains. */
export function firstChild(node: Node): Node | undefined {
  switch (node.kind) {
    case "unary":
      return node.operand;
    case "binary":
      return node.left;
    case "chain":
      return node.body;
    case "member":
      return isEnv(node.object) ? undefined : node.object;
    case "slice":
      return node.object;
    case "call":
      return node.callee;
    case "builtin":
      return node.args[0];
    default:
      return undefined;
  }
}

interface PredicateScope {
  readonly collection: StaticType;
  readonly variables: ReadonlyMap<string, StaticType>;
}

class Checker {
  /** Every name looked up in the environment. */
  readonly names = new Set<string>();
  readonly #input: CheckInput;
  readonly #variables: { name: string; type: StaticType }[] = [];
  readonly #scopes: PredicateScope[] = [];

  constructor(input: CheckInput) {
    this.#input = input;
  }

  #fail(node: Node, message: string): never {
    throw new ExprCompileError(message, this.#input.source, node.at);
  }

  #refuse(mistake: Mistake | undefined): void {
    if (mistake !== undefined) this.#fail(mistake.node, mistake.message);
  }

  #accept(result: StaticType | Mistake): StaticType {
    return "message" in result ? this.#fail(result.node, result.message) : result;
  }

  /** Visits a node: goes down to the first child that is not part of a chain, then up again. */
  visit(node: Node): StaticType {
    const spine: Node[] = [];
    let lowest = node;
    for (let next = firstChild(lowest); next !== undefined; next = firstChild(lowest)) {
      spine.push(lowest);
      lowest = next;
    }
    let type = this.#leaf(lowest);
    lowest.type = type;
    for (let parent = spine.pop(); parent !== undefined; parent = spine.pop()) {
      type = this.#withFirst(parent, type);
      parent.type = type;
    }
    return type;
  }

  #leaf(node: Node): StaticType {
    switch (node.kind) {
      case "literal":
        return node.value === null ? NIL : typeOfValue(node.value);
      case "name":
        return this.#name(node, node.name);
      case "pointer":
        return this.#pointer(node, node.name);
      case "member":
        return this.#envMember(node);
      case "builtin":
        return this.#builtin(node, UNKNOWN);
      case "predicate":
        return this.visit(node.body);
      case "conditional":
        return this.#conditional(node.test, node.yes, node.no);
      case "let":
        return this.#let(node, node.name, node.value, node.body);
      case "sequence":
        return node.parts.map((part) => this.visit(part)).at(-1) ?? NIL;
      case "array":
        return listType(node.items.map((item) => this.visit(item)));
      case "map":
        for (const pair of node.pairs) {
          this.visit(pair.key);
          this.visit(pair.value);
        }
        return { kind: "map" };
      default:
        return UNKNOWN;
    }
  }

  /** Type of a node whose first child has been visited. */
  #withFirst(node: Node, first: StaticType): StaticType {
    switch (node.kind) {
      case "unary":
        return this.#unary(node, node.operator, first);
      case "binary":
        return this.#binary(node, first, this.visit(node.right));
      case "member":
        return this.#accept(memberType(node, first, this.visit(node.property)));
      case "slice":
        return this.#slice(node, first);
      case "call":
        return this.#call(node, first);
      case "builtin":
        return this.#builtin(node, first);
      default:
        return first;
    }
  }

  // Names

  #name(node: Node, name: string): StaticType {
    this.#input.context.step(this.#variables.length / 4);
    const variable = this.#variables.findLast((entry) => entry.name === name);
    if (variable !== undefined) return variable.type;
    if (name === ENV_NAME) return UNKNOWN;
    const known = this.#envType(name);
    if (known !== undefined) return known;
    return isBuiltin(name) ? FUNC : this.#fail(node, `unknown name ${name}`);
  }

  /** Type of an entry of the environment or of the function table. */
  #envType(name: string): StaticType | undefined {
    const { env, functions, open } = this.#input;
    const given = functions.get(name);
    if (given !== undefined) return typeOfValue(given);
    if (open.has(name)) return UNKNOWN;
    this.names.add(name);
    return Object.hasOwn(env, name) ? typeOfValue(env[name] ?? null) : undefined;
  }

  /** `$env.name`; any other `$env[…]` is not checked at all. */
  #envMember(node: MemberNode): StaticType {
    const name = stringOf(node.property);
    if (name === undefined) return UNKNOWN;
    const known = this.#envType(name);
    if (known === undefined && !node.isOptional) this.#fail(node, `unknown name ${name}`);
    return known ?? UNKNOWN;
  }

  #pointer(node: Node, name: string): StaticType {
    const scope = this.#scopes.at(-1);
    if (scope === undefined) this.#fail(node, "cannot use pointer accessor outside predicate");
    if (name !== "") {
      return scope.variables.get(name) ?? this.#fail(node, `unknown pointer #${name}`);
    }
    return isUnknown(scope.collection) ? UNKNOWN : elementOf(scope.collection);
  }

  #let(node: Node, name: string, value: Node, body: Node): StaticType {
    if (this.#envType(name) !== undefined) this.#fail(node, `cannot redeclare ${name}`);
    if (isBuiltin(name)) this.#fail(node, `cannot redeclare builtin ${name}`);
    if (this.#variables.some((entry) => entry.name === name)) {
      this.#fail(node, `cannot redeclare variable ${name}`);
    }
    this.#variables.push({ name, type: this.visit(value) });
    const type = this.visit(body);
    this.#variables.pop();
    return type;
  }

  // Operators

  #unary(node: Node, operator: string, operand: StaticType): StaticType {
    if (operator === "not" || operator === "!") {
      if (operand.kind === "bool" || isUnknown(operand)) return BOOL;
    } else if (isNumber(operand)) return operand;
    else if (isUnknown(operand)) return UNKNOWN;
    return this.#fail(
      node,
      `invalid operation: ${operator} (mismatched type ${typeText(operand)})`,
    );
  }

  #binary(node: BinaryNode, left: StaticType, right: StaticType): StaticType {
    const { operator } = node;
    if (operator === "in") this.#refuse(membershipMistake(node, left, right));
    if (operator === "matches") this.#checkPattern(node);
    return binaryType(operator, left, right) ?? this.#fail(
      node,
      `invalid operation: ${operator} (mismatched types ${typeText(left)} and ${typeText(right)})`,
    );
  }

  #checkPattern(node: BinaryNode): void {
    const pattern = stringOf(node.right);
    if (pattern === undefined) return;
    try {
      compileRegex(pattern, this.#input.context);
    } catch (error) {
      if (error instanceof Fault) this.#fail(node, error.message);
      throw error;
    }
  }

  #conditional(test: Node, yes: Node, no: Node): StaticType {
    const condition = this.visit(test);
    if (condition.kind !== "bool" && !isUnknown(condition)) {
      this.#fail(test, `non-bool expression (type ${typeText(condition)}) used as condition`);
    }
    const first = this.visit(yes);
    const second = this.visit(no);
    return branchType(first, second);
  }

  // Access

  #slice(node: SliceNode, base: StaticType): StaticType {
    if (isUnknown(base)) return UNKNOWN;
    if (!isArray(base) && base.kind !== "string") {
      this.#fail(node, `cannot slice ${typeText(base)}`);
    }
    for (const bound of [node.from, node.to]) {
      if (bound === undefined) continue;
      const type = this.visit(bound);
      if (!isInteger(type) && !isUnknown(type)) {
        this.#fail(bound, `non-integer slice index ${typeText(type)}`);
      }
    }
    return base;
  }

  // Calls

  /**
   * A call of a value. The arguments of a function about which nothing is known are not visited, as in the reference.
   */
  #call(node: CallNode, callee: StaticType): StaticType {
    if (isEnv(node.callee)) this.#fail(node, "map[string]interface {} is not callable");
    if (isUnknown(callee)) return UNKNOWN;
    const name = calleeName(node.callee);
    if (callee.kind === "nil") {
      this.#fail(node, `${name} is nil; cannot call nil as function`);
    }
    if (callee.kind !== "func") this.#fail(node, `${typeText(callee)} is not callable`);
    const { signature } = callee;
    if (signature === undefined) {
      for (const arg of node.args) this.visit(arg);
      return ANY;
    }
    const types = node.args.map((arg) => this.visit(arg));
    const problem = argumentProblem(signature, types, name);
    if (problem !== undefined) this.#fail(node.args[problem.index] ?? node, problem.message);
    return signature.result;
  }

  /** @param first type of the first argument, if there is one */
  #builtin(node: BuiltinNode, first: StaticType): StaticType {
    const predicate = node.args[1];
    if (predicate?.kind === "predicate" || COLLECTION_RESULTS.has(node.name)) {
      return this.#collection(node, first, predicate);
    }
    const types = node.args.map((arg, i) => i === 0 ? first : this.visit(arg));
    if (node.name === "get") {
      return this.#accept(getType(node, types, (name) => this.#envType(name)));
    }
    const check = BUILTINS.get(node.name)?.check ?? [];
    if (typeof check === "function") {
      const result = check(types);
      return "error" in result ? this.#fail(node, result.error) : result;
    }
    let problem: ArgumentProblem | undefined;
    for (const signature of check) {
      problem = argumentProblem(signature, types, node.name);
      if (problem === undefined) return signature.result;
    }
    return this.#fail(
      problem === undefined ? node : node.args[problem.index] ?? node,
      problem?.message ?? "",
    );
  }

  #collection(node: BuiltinNode, collection: StaticType, predicate: Node | undefined): StaticType {
    const { name } = node;
    if (!isArray(collection) && !isUnknown(collection)) {
      this.#fail(
        node.args[0] ?? node,
        `builtin ${name} takes only array (got ${typeText(collection)})`,
      );
    }
    const result = COLLECTION_RESULTS.get(name) ?? { type: () => UNKNOWN };
    if (predicate === undefined) {
      return name === "count" ? INT : isUnknown(collection) ? UNKNOWN : elementOf(collection);
    }
    this.#scopes.push({ collection, variables: result.variables ?? NO_VARIABLES });
    const out = this.visit(predicate);
    this.#scopes.pop();
    const [, , extra] = node.args;
    if (extra !== undefined) this.#extraArgument(node, extra);
    if (out.kind === "nil") {
      this.#fail(predicate, "predicate should has one input and one output param");
    }
    if (result.isBool === true && out.kind !== "bool" && !isUnknown(out)) {
      this.#fail(predicate, `predicate should return boolean (got ${typeText(out)})`);
    }
    return result.type(collection, out);
  }

  #extraArgument(node: BuiltinNode, extra: Node): void {
    const type = this.visit(extra);
    if (node.name === "sortBy" && type.kind !== "string" && !isUnknown(type)) {
      this.#fail(extra, `sortBy order argument must be a string (got ${typeText(type)})`);
    }
  }
}

function calleeName(callee: Node): string {
  if (callee.kind === "name") return callee.name;
  const property = callee.kind === "member" ? stringOf(callee.property) : undefined;
  return property ?? "function";
}
