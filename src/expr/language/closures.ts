/** The closures of a checked tree: one for each node, or for each chain of operators. */

import { BUILTINS } from "../functions/builtins.ts";
import { containsOpen, fetchMember, fetchOpen, getOpen } from "../values/access.ts";
import { fault } from "../values/error.ts";
import type { IntRange } from "../values/int_range.ts";
import { asBool, isNil } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import { isInteger } from "../values/types.ts";
import type { FunctionTable, Value } from "../values/values.ts";
import {
  callOf,
  elementOfRange,
  listOf,
  mapOf,
  memberByKey,
  memberByName,
  memberOfEnv,
  sliceOf,
  wholeEnv,
} from "./access_closures.ts";
import {
  type BinaryNode,
  type BuiltinNode,
  countNodes,
  ENV_NAME,
  isEnv,
  type MapNode,
  type MemberNode,
  type Node,
  type SliceNode,
  stringOf,
} from "./ast.ts";
import { type Body, type CollectionCall, compileCollection, readElement } from "./collections.ts";
import { PREDICATE_BUILTINS } from "./names.ts";
import { binaryStep, compileRange, specializedBinary, unaryStep } from "./operator_closures.ts";
import { usesIndex } from "./optimize.ts";
import { type Run, SKIP, type State } from "./run_state.ts";
import { countProblem } from "./type_rules.ts";

/** Slots of the innermost predicate. */
interface PredicateSlots {
  readonly element: number;
  readonly index: number;
  readonly accumulator: number;
}

/** Left-leaning chains of operators longer than this run as a loop, not as nested closures. */
const MAX_CLOSURE_CHAIN = 40;

/** Makes the closures of one program. */
export class Compiler {
  /** Number of slots a run needs for variables and predicates. */
  slots = 0;
  readonly functions: FunctionTable;
  readonly #open: ReadonlySet<string>;
  readonly #variables: { name: string; slot: number; isOpen: boolean }[] = [];
  readonly #predicates: PredicateSlots[] = [];
  readonly #context: RunContext;

  constructor(functions: FunctionTable, open: ReadonlySet<string>, context: RunContext) {
    this.functions = functions;
    this.#open = open;
    this.#context = context;
  }

  /** Closure of a node outside a chain. */
  compile(node: Node): Run {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "name":
        return this.#name(node.name);
      case "pointer":
        return this.#pointer(node.name, node.at);
      case "unary":
        return this.#unary(node.operator, node.operand, node.at);
      case "binary":
        return this.#binary(node);
      case "chain": {
        const body = this.#link(node.body);
        return (s) => {
          const value = body(s);
          // A chain that ends in a nil list is nil.
          return value === SKIP || isNil(value as Value) ? null : value;
        };
      }
      case "member":
      case "call":
        return this.#link(node);
      case "slice":
        return this.#slice(node);
      case "builtin":
        return this.#builtin(node);
      case "predicate":
        return this.compile(node.body);
      case "conditional":
        return this.#conditional(node.test, node.yes, node.no, node.at);
      case "let":
        return this.#let(node.name, node.value, node.body);
      case "sequence":
        return this.#sequence(node.parts);
      case "array":
        return listOf(this.#all(node.items), node.at);
      case "map":
        return this.#map(node);
    }
  }

  // Names

  #name(name: string): Run {
    const variable = this.#variables.findLast((entry) => entry.name === name);
    if (variable !== undefined) {
      const { slot } = variable;
      return (s) => s.slots[slot] as Value;
    }
    if (name === ENV_NAME) return wholeEnv;
    const given = this.functions.get(name);
    if (given !== undefined) return () => given;
    return (s) => Object.hasOwn(s.env, name) ? s.env[name] as Value : null;
  }

  #pointer(name: string, at: number): Run {
    const slots = this.#predicates.at(-1);
    if (slots === undefined) return () => null;
    if (name === "") {
      const { element } = slots;
      return (s) => {
        s.at = at;
        return readElement(s.slots[element] as Value);
      };
    }
    const slot = name === "acc" ? slots.accumulator : slots.index;
    return (s) => s.slots[slot] as Value;
  }

  #let(name: string, value: Node, body: Node): Run {
    const first = this.compile(value);
    const slot = this.slots++;
    this.#variables.push({ name, slot, isOpen: this.#isOpen(value) });
    const rest = this.compile(body);
    this.#variables.pop();
    return (s) => {
      s.slots[slot] = first(s) as Value;
      return rest(s);
    };
  }

  // Operators

  #unary(operator: string, operand: Node, at: number): Run {
    const value = this.compile(operand);
    const step = unaryStep(operator, at);
    return step === undefined ? value : (s) => step(value(s) as Value, s);
  }

  #binary(node: BinaryNode): Run {
    const spine: BinaryNode[] = [node];
    let first = node.left;
    while (first.kind === "binary") {
      spine.push(first);
      first = first.left;
    }
    if (spine.length <= MAX_CLOSURE_CHAIN) return this.#shortBinary(node);
    const start = this.compile(first);
    const steps = spine.reverse().map((link) => this.#binaryStep(link));
    return (s) => {
      let value = start(s) as Value;
      for (const step of steps) value = step(value, s);
      return value;
    };
  }

  #shortBinary(node: BinaryNode): Run {
    const left = node.left.kind === "binary"
      ? this.#shortBinary(node.left)
      : this.compile(node.left);
    const special = specializedBinary(node, left, (right) => this.compile(right));
    if (special !== undefined) return special;
    const step = this.#binaryStep(node);
    return (s) => step(left(s) as Value, s);
  }

  #binaryStep(node: BinaryNode): (left: Value, s: State) => Value {
    if (node.operator === "in" && this.#isOpen(node.right)) {
      const container = this.compile(node.right);
      const { at } = node;
      return (left, s) => {
        const value = container(s) as Value;
        s.at = at;
        return containsOpen(left, value, s.context);
      };
    }
    const isInt = node.left.type !== undefined && isInteger(node.left.type);
    return binaryStep(node, isInt, (right) => this.compile(right), this.#context);
  }

  #conditional(test: Node, yes: Node, no: Node, at: number): Run {
    const condition = this.compile(test);
    const first = this.compile(yes);
    const second = this.compile(no);
    return (s) => {
      const value = condition(s) as Value;
      s.at = at;
      return asBool(value) ? first(s) : second(s);
    };
  }

  #sequence(parts: readonly Node[]): Run {
    const runs = this.#all(parts);
    return (s) => {
      let value: Value = null;
      for (const run of runs) value = run(s) as Value;
      return value;
    };
  }

  // Chains

  /** Closure of a link of a chain; it returns SKIP if the chain has met a nil. */
  #link(node: Node): Run {
    if (node.kind === "member") return this.#member(node);
    if (node.kind !== "call") return this.compile(node);
    return callOf(this.#link(node.callee), this.#all(node.args), node.at);
  }

  #member(node: MemberNode): Run {
    const { at, isOptional } = node;
    if (isEnv(node.object)) return memberOfEnv(this.compile(node.property), at);
    const name = stringOf(node.property);
    const range = name === undefined ? this.#range(node.object) : undefined;
    if (range !== undefined) return elementOfRange(range, this.compile(node.property), at);
    const object = this.#link(node.object);
    const site = { at, isOptional, read: this.#isOpen(node.object) ? fetchOpen : fetchMember };
    return name === undefined
      ? memberByKey(object, this.compile(node.property), site)
      : memberByName(object, name, site);
  }

  #slice({ object, from, to, at }: SliceNode): Run {
    const list = this.compile(object);
    const end = to && this.compile(to);
    const start = from && this.compile(from);
    return sliceOf(list, start, end, at);
  }

  /** `payload` or `$env.payload`, if that name is open, or a variable that stands for it. */
  #isOpen(node: Node): boolean {
    if (node.kind === "chain") return this.#isOpen(node.body);
    if (node.kind === "name") {
      const variable = this.#variables.findLast(({ name }) => name === node.name);
      return variable?.isOpen ?? this.#open.has(node.name);
    }
    if (node.kind !== "member" || !isEnv(node.object)) return false;
    const name = stringOf(node.property);
    return name !== undefined && this.#open.has(name);
  }

  // Functions and literals

  #builtin(node: BuiltinNode): Run {
    if (PREDICATE_BUILTINS.has(node.name)) return this.#collection(node);
    const builtin = BUILTINS.get(node.name);
    const range = node.name === "len" && node.args[0] && this.#range(node.args[0]);
    if (range) return (s) => BigInt(range(s).length);
    const args = this.#all(node.args);
    const { at, name } = node;
    if (builtin === undefined) return () => fault(`unknown builtin ${name}`);
    const problem = node.type === undefined && countProblem(builtin, name, args.length);
    const [first] = node.args;
    const run: typeof builtin.run = problem
      ? () => fault(problem)
      : name === "get" && first !== undefined && this.#isOpen(first)
      ? ([container = null, key = null]) => getOpen(container, key)
      : builtin.run;
    const [only] = args;
    if (args.length === 1 && only !== undefined) {
      return (s) => {
        const value = only(s) as Value;
        s.at = at;
        return run([value], s.context);
      };
    }
    return (s) => {
      const values = args.map((arg) => arg(s) as Value);
      s.at = at;
      return run(values, s.context);
    };
  }

  /** Closure of a range that need not be made into a list. */
  #range(node: Node): ((s: State) => IntRange) | undefined {
    return compileRange(node, (child) => this.compile(child));
  }

  #collection(node: BuiltinNode): Run {
    const [list, predicate, extra] = node.args;
    if (list === undefined) return () => null;
    const slots = { element: this.slots++, index: this.slots++, accumulator: this.slots++ };
    const call: CollectionCall = {
      name: node.name,
      at: node.at,
      list: this.#range(list) ?? this.compile(list),
      body: predicate && this.#body(predicate, slots),
      map: node.plan?.map && this.#body(node.plan.map, slots),
      extra: extra && this.compile(extra),
      mustFind: node.plan?.mustFind === true,
      threshold: node.plan?.threshold,
      slots,
    };
    return compileCollection(call);
  }

  #body(node: Node, slots: PredicateSlots): Body {
    this.#predicates.push(slots);
    const run = this.compile(node);
    this.#predicates.pop();
    const nodes = countNodes(node);
    // Nested predicates are counted once for each level.
    this.#context.step(nodes);
    return { run, cost: 1 + (nodes >> 2), usesIndex: usesIndex(node) };
  }

  #map({ pairs, at }: MapNode): Run {
    const runs = pairs.map(({ key, value }) => [this.compile(key), this.compile(value)] as const);
    return mapOf(runs, at);
  }

  #all(nodes: readonly Node[]): Run[] {
    return nodes.map((node) => this.compile(node));
  }
}
