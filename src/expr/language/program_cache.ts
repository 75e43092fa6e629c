/** Keeps compiled programs by source, up to a bound. */

import { BoundedCache } from "../../base/bounded_cache.ts";
import { workingOn } from "../../base/work.ts";
import { type Compiled, compileWithNames, hiddenBuiltins } from "./compile.ts";
import { BudgetExceeded, ExprCompileError } from "../values/error.ts";
import type { CompileOptions, Program, Reference } from "./program.ts";
import { referencesOf } from "./references.ts";
import { typeOfValue, typeText } from "../values/types.ts";
import type { FunctionTable, ValueMap } from "../values/values.ts";

/** A program, and the kinds of the names for which it was compiled. */
interface Variant {
  readonly program: Program;
  readonly functions: FunctionTable | undefined;
  readonly open: ReadonlySet<string> | undefined;
  readonly kinds: ReadonlyMap<string, string>;
}

/** Environments of one source rarely differ in kind; more variants than this are dropped. */
const MAX_VARIANTS = 8;

/**
 * Compiled programs by source, and by the kinds of the names that they use. An expression that does not compile is not
 * kept.
 */
export class ProgramCache {
  readonly #entries: BoundedCache<string, Variant[]>;

  /** @param limit most sources, at least 1 */
  constructor(limit: number) {
    this.#entries = new BoundedCache(limit);
  }

  /**
   * Compiles an expression, unless it was compiled before for the same kinds of names.
   * @throws {ExprCompileError} when it is not valid
   */
  compile(source: string, options: CompileOptions): Program {
    const { env, functions, open } = options;
    const hidden = hiddenBuiltins(env, functions ?? NO_FUNCTIONS);
    const key = hidden.size === 0 ? source : `${[...hidden].join(" ")}\0${source}`;
    const variants = this.#entries.get(key) ?? this.#entries.set(key, []);
    for (const variant of variants) {
      const isMade = variant.functions === functions && variant.open === open;
      if (!isMade || !hasKinds(env, variant.kinds)) continue;
      chargeCompile(variant.program, options);
      return variant.program;
    }
    const compiled = compileWithNames(source, options);
    variants.unshift(variantOf(compiled, options));
    variants.length = Math.min(variants.length, MAX_VARIANTS);
    return compiled.program;
  }

  /** Number of sources held. */
  get size(): number {
    return this.#entries.size;
  }
}

const NO_FUNCTIONS: FunctionTable = new Map();

/** A cached program costs the same steps as a new one: a budget must not depend on what others have evaluated. */
function chargeCompile(program: Program, { context }: CompileOptions): void {
  try {
    context?.step(program.compileSteps);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    throw new ExprCompileError(error.message, program.source, 0, { cause: error });
  }
}

function variantOf(
  { program, names }: Compiled,
  { env, functions, open }: CompileOptions,
): Variant {
  return {
    program,
    functions,
    open,
    kinds: new Map([...names].map((name) => [name, kindOf(env, name)])),
  };
}

function hasKinds(env: ValueMap, kinds: ReadonlyMap<string, string>): boolean {
  for (const [name, kind] of kinds) if (kindOf(env, name) !== kind) return false;
  return true;
}

function kindOf(env: ValueMap, name: string): string {
  if (!Object.hasOwn(env, name)) return "absent";
  const type = typeOfValue(env[name] ?? null);
  return type.kind === "nil" ? "nil" : typeText(type);
}

/** Longest source that is cached, in UTF-16 units; longer ones are parsed each time. */
const MAX_KEPT_LENGTH = 2_048;
const MAX_KEPT = 512;
// Memos of pure functions: what they hold never changes a result.
const programs = new ProgramCache(MAX_KEPT);
const references = new BoundedCache<string, readonly Reference[]>(MAX_KEPT);

/**
 * Compiles an expression, with the cache of the process.
 * @throws {ExprCompileError} when it is not valid
 */
export function compileCached(
  source: string,
  options: CompileOptions,
  cache = programs,
): Program {
  // Whoever compiles an expression runs it next.
  workingOn("expression", source);
  return source.length > MAX_KEPT_LENGTH
    ? compileWithNames(source, options).program
    : cache.compile(source, options);
}

/**
 * The names that an expression reads (see `referencesOf`), with the cache of the process.
 * @throws {ExprCompileError} when the syntax is wrong
 */
export function referencesCached(source: string): readonly Reference[] {
  if (source.length > MAX_KEPT_LENGTH) return referencesOf(source);
  return references.get(source) ?? references.set(source, referencesOf(source));
}
