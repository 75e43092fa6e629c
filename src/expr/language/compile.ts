/** From the source of an expression to a program: parsing, checking, rewriting, compiling to closures. */

import { errorText } from "../../base/error_text.ts";
import { BudgetExceeded, ExprCompileError, ExprRuntimeError, Fault } from "../values/error.ts";
import { RunContext, type RunOptions } from "../values/run_context.ts";
import type { FunctionTable, Value, ValueMap } from "../values/values.ts";
import { countNodes, type Node } from "./ast.ts";
import { checkTree } from "./check.ts";
import { Compiler } from "./closures.ts";
import { isBuiltin } from "./names.ts";
import { optimizeTree } from "./optimize.ts";
import { parseExpr } from "./parse.ts";
import type { CompileOptions, Program, Reference } from "./program.ts";
import { collectReferences } from "./references.ts";
import { type Run, SKIP, type State } from "./run_state.ts";

const NO_FUNCTIONS: FunctionTable = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();
const NO_SLOTS: Value[] = [];

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

/** A program, and the names of the environment on which its meaning depends. */
export interface Compiled {
  readonly program: Program;
  readonly names: ReadonlySet<string>;
}

/** Like {@link compileExpr}; also returns the names of the environment on which the result depends. */
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
    const reason = errorText(error);
    throw new ExprCompileError(`internal error: ${reason}`, text, 0, { cause: error });
  }
}

/** Built-ins whose names the environment or the function table uses. */
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
      // A defect, for example in a function of the host; the caller still gets one of our errors.
      const text = errorText(error);
      throw new ExprRuntimeError(`internal error: ${text}`, this.source, state.at, {
        cause: error,
      });
    }
  }
}
