/** Compiles a checked tree to closures. */

import { containsOpen, fetchMember, fetchOpen, getOpen, sliceOfValue } from "./access.ts";
import { type BinaryNode, childrenOf, type MemberNode, type Node, stringOf } from "./ast.ts";
import { BUILTINS } from "./builtins.ts";
import { checkTree, ENV_NAME, isEnv } from "./check.ts";
import { type Body, type CollectionCall, compileCollection, readElement } from "./collections.ts";
import { BudgetExceeded, ExprCompileError, ExprRuntimeError, Fault, fault } from "./error.ts";
import { goTypeName } from "./go_text.ts";
import type { IntRange } from "./int_range.ts";
import { isBuiltin, PREDICATE_BUILTINS } from "./names.ts";
import { asBool, isNil } from "./operators.ts";
import { binaryStep, compileRange, specializedBinary, unaryStep } from "./operator_closures.ts";
import { optimizeTree, usesIndex } from "./optimize.ts";
import { parseExpr } from "./parse.ts";
import type { CompileOptions, FunctionTable, Program, Reference } from "./program.ts";
import { collectReferences } from "./references.ts";
import { RunContext, type RunOptions } from "./run_context.ts";
import { isInteger } from "./types.ts";
import { type Run, SKIP, type State } from "./run_state.ts";
import { payForBytes } from "./utf8.ts";
import { GoFunction, newMap, setOwn, type Value, type ValueMap } from "./values.ts";

const NO_FUNCTIONS: FunctionTable = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * Compiles an expression for environments like the given one.
 * @throws {ExprCompileError} when it is not valid
 */
export function compileExpr(source: string, options: CompileOptions): Program {
  return compileWithNames(source, options).program;
}

/** Steps that compiling takes: for the whole, for each character, for each node. */
const STEPS_PER_PROGRAM = 60;
const STEPS_PER_CHARACTER = 0.25;
const STEPS_PER_NODE = 15;

/** A program, and the names of the environment its meaning depends on. */
export interface Compiled {
  readonly program: Program;
  readonly names: ReadonlySet<string>;
}

/** Like {@link compileExpr}; also tells for which names of the environment the result holds. */
export function compileWithNames(source: string, options: CompileOptions): Compiled {
  const functions = options.functions ?? NO_FUNCTIONS;
  const context = options.context ?? new RunContext();
  const before = context.stepsTaken;
  let text = source;
  try {
    context.step(STEPS_PER_PROGRAM + source.length * STEPS_PER_CHARACTER);
    text = source.toWellFormed();
    const tree = parseExpr(text, hiddenBuiltins(options.env, functions));
    context.step(countNodes(tree) * STEPS_PER_NODE);
    const { env, open = NO_NAMES } = options;
    const names = checkTree(tree, { source: text, env, functions, open, context });
    const compiler = new Compiler(functions, open, context);
    const run = compiler.compile(optimizeTree(tree, text));
    const steps = context.stepsTaken - before;
    return { program: new ClosureProgram(text, tree, run, compiler, steps), names };
  } catch (error) {
    if (error instanceof BudgetExceeded) {
      throw new ExprCompileError(error.message, text, 0, { cause: error });
    }
    if (error instanceof RangeError) {
      throw new ExprCompileError("expression is nested too deeply", text, 0);
    }
    if (error instanceof ExprCompileError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ExprCompileError(`internal error: ${reason}`, text, 0, { cause: error });
  }
}

/** Built-ins whose names the environment or the function table takes. */
export function hiddenBuiltins(env: ValueMap, functions: FunctionTable): Set<string> {
  const hidden = new Set<string>();
  for (const name of Object.keys(env)) if (isBuiltin(name)) hidden.add(name);
  for (const name of functions.keys()) if (isBuiltin(name)) hidden.add(name);
  return hidden;
}

class ClosureProgram implements Program {
  readonly source: string;
  readonly compileSteps: number;
  readonly #tree: Node;
  readonly #run: Run;
  readonly #slots: number;
  readonly #functions: FunctionTable;
  #references: readonly Reference[] | undefined;

  constructor(source: string, tree: Node, run: Run, compiler: Compiler, compileSteps: number) {
    this.source = source;
    this.compileSteps = compileSteps;
    this.#tree = tree;
    this.#run = run;
    this.#slots = compiler.slots;
    this.#functions = compiler.functions;
  }

  get references(): readonly Reference[] {
    this.#references ??= collectReferences(this.#tree);
    return this.#references;
  }

  run(env: ValueMap, options?: RunOptions): Value {
    const state: State = {
      env,
      functions: this.#functions,
      slots: this.#slots === 0 ? NO_SLOTS : new Array(this.#slots).fill(null),
      context: RunContext.of(options),
      at: 0,
    };
    try {
      const value = this.#run(state);
      return value === SKIP ? null : value as Value;
    } catch (error) {
      if (error instanceof Fault) throw new ExprRuntimeError(error.message, this.source, state.at);
      if (error instanceof BudgetExceeded) {
        throw new ExprRuntimeError(error.message, this.source, state.at, { cause: error });
      }
      if (error instanceof RangeError) {
        throw new ExprRuntimeError("values are nested too deeply", this.source, state.at);
      }
      // A defect, in a function of the host for example; the caller still gets one of our errors.
      const text = error instanceof Error ? error.message : String(error);
      throw new ExprRuntimeError(`internal error: ${text}`, this.source, state.at, {
        cause: error,
      });
    }
  }
}

const NO_SLOTS: Value[] = [];

/** Slots of the innermost predicate. */
interface PredicateSlots {
  readonly element: number;
  readonly index: number;
  readonly accumulator: number;
}

/** Left-leaning chains of operators longer than this run as a loop, not as nested closures. */
const MAX_CLOSURE_CHAIN = 40;

class Compiler {
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
          return value === SKIP ? null : value;
        };
      }
      case "member":
      case "call":
        return this.#link(node);
      case "slice":
        return this.#slice(node.object, node.from, node.to, node.at);
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
        return this.#array(node.items, node.at);
      case "map":
        return this.#map(node.pairs, node.at);
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
    const runs = parts.map((part) => this.compile(part));
    return (s) => {
      let value: Value = null;
      for (const run of runs) value = run(s) as Value;
      return value;
    };
  }

  // Chains

  /** Closure of a link of a chain; it gives SKIP when the chain has met a nil. */
  #link(node: Node): Run {
    if (node.kind === "member") return this.#member(node);
    if (node.kind !== "call") return this.compile(node);
    const callee = this.#link(node.callee);
    const args = node.args.map((arg) => this.compile(arg));
    const { at } = node;
    return (s) => {
      const values = args.map((arg) => arg(s) as Value);
      const target = callee(s);
      if (target === SKIP) return SKIP;
      s.at = at;
      if (target instanceof GoFunction) return target.call(values, s.context);
      if (target === null) return fault("invalid operation: cannot call nil");
      return fault(
        `invalid operation: cannot call non-function of type ${goTypeName(target as Value)}`,
      );
    };
  }

  #member(node: MemberNode): Run {
    if (isEnv(node.object)) return this.#envMember(node);
    const { at, isOptional } = node;
    const name = stringOf(node.property);
    const range = name === undefined ? this.#range(node.object) : undefined;
    if (range !== undefined) {
      const index = this.compile(node.property);
      return (s) => {
        const list = range(s);
        const key = index(s) as Value;
        s.at = at;
        return list.fetch(key);
      };
    }
    const object = this.#link(node.object);
    const read = this.#isOpen(node.object) ? fetchOpen : fetchMember;
    if (name !== undefined) {
      return (s) => {
        const target = object(s) as Value;
        if (target !== null && typeof target === "object") {
          const prototype = Object.getPrototypeOf(target);
          if (prototype === Object.prototype || prototype === null) {
            return Object.hasOwn(target, name) ? (target as ValueMap)[name] as Value : null;
          }
        }
        return fetchSlow(target, name, isOptional, at, s, read);
      };
    }
    const key = this.compile(node.property);
    return (s) => {
      const target = object(s) as Value;
      if (target === (SKIP as unknown)) return SKIP;
      if (isOptional && isNil(target)) return SKIP;
      return fetchSlow(target, key(s) as Value, false, at, s, read);
    };
  }

  /** `payload` or `$env.payload`, where that name is open, or a variable that stands for it. */
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

  #envMember(node: MemberNode): Run {
    const key = this.compile(node.property);
    const { at } = node;
    return (s) => {
      const name = key(s) as Value;
      s.at = at;
      return fetchMember(wholeEnv(s) as Value, name);
    };
  }

  #slice(object: Node, from: Node | undefined, to: Node | undefined, at: number): Run {
    const list = this.compile(object);
    const end = to && this.compile(to);
    const start = from && this.compile(from);
    return (s) => {
      const target = list(s) as Value;
      const last = end?.(s) as Value | undefined;
      const first = start?.(s) as Value | undefined;
      s.at = at;
      chargeBytes(target, s);
      const part = sliceOfValue(target, first, last);
      if (Array.isArray(part)) s.context.step(1 + (part.length >> 2));
      return part;
    };
  }

  // Functions and literals

  #builtin(node: Node & { kind: "builtin" }): Run {
    if (PREDICATE_BUILTINS.has(node.name)) return this.#collection(node);
    const builtin = BUILTINS.get(node.name);
    const range = node.name === "len" && node.args[0] && this.#range(node.args[0]);
    if (range) return (s) => BigInt(range(s).length);
    const args = node.args.map((arg) => this.compile(arg));
    const { at, name } = node;
    if (builtin === undefined) return () => fault(`unknown builtin ${name}`);
    const [first] = node.args;
    const run: typeof builtin.run = name === "get" && first !== undefined && this.#isOpen(first)
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

  /** Closure of a range that need not be written out. */
  #range(node: Node): ((s: State) => IntRange) | undefined {
    return compileRange(node, (child) => this.compile(child));
  }

  #collection(node: Node & { kind: "builtin" }): Run {
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

  #array(items: readonly Node[], at: number): Run {
    const runs = items.map((item) => this.compile(item));
    return (s) => {
      const values = runs.map((run) => run(s) as Value);
      s.at = at;
      s.context.spend(values.length);
      return values;
    };
  }

  /** The first of several equal keys wins. */
  #map(pairs: readonly { key: Node; value: Node }[], at: number): Run {
    const runs = pairs.map(({ key, value }) => [this.compile(key), this.compile(value)] as const);
    return (s) => {
      const map = newMap();
      for (const [key, value] of runs) {
        const name = key(s) as Value;
        const item = value(s) as Value;
        s.at = at;
        if (typeof name !== "string") {
          const type = name === null ? "nil" : goTypeName(name);
          return fault(`interface conversion: interface {} is ${type}, not string`);
        }
        if (!Object.hasOwn(map, name)) setOwn(map, name, item);
      }
      s.context.spend(runs.length);
      return map;
    };
  }
}

/** The environment as a value, functions included. */
function wholeEnv(s: State): Value {
  if (s.functions.size === 0) return s.env;
  const all = newMap();
  for (const name of Object.keys(s.env)) setOwn(all, name, s.env[name] as Value);
  for (const [name, value] of s.functions) setOwn(all, name, value);
  return all;
}

/** A member of anything but a plain map. */
function fetchSlow(
  target: Value,
  key: Value,
  isOptional: boolean,
  at: number,
  s: State,
  read: (container: Value, key: Value) => Value,
): Value | typeof SKIP {
  if (target === (SKIP as unknown)) return SKIP;
  if (isOptional && isNil(target)) return SKIP;
  s.at = at;
  chargeBytes(target, s);
  return read(target, key);
}

/** Finding the bytes of a string takes time in proportion to its length. */
function chargeBytes(target: Value, s: State): void {
  if (typeof target === "string") payForBytes(target, s.context);
}

/** Size of a tree. */
function countNodes(root: Node): number {
  let count = 0;
  const open: Node[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    count++;
    open.push(...childrenOf(node));
  }
  return count;
}
