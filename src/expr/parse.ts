/** Source to syntax tree. The only importer of jsep: its hooks and operators are shared by all who import it. */

import jsep from "jsep";

import type { Node } from "./ast.ts";
import { ExprCompileError } from "./error.ts";
import { exprPlugin, type ParserHost } from "./plugin.ts";

interface JsepModule {
  readonly Jsep: new (source: string) => ParserHost & { parse(): unknown };
  readonly plugins: { register(plugin: typeof exprPlugin): void };
}

// The typings of jsep 1.6 lack the parser class and these hooks.
const { Jsep, plugins } = jsep as unknown as JsepModule;
plugins.register(exprPlugin);

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Parses an expression.
 * @param hiddenBuiltins names of the environment that win over a built-in function of the same name
 * @throws {ExprCompileError}
 */
export function parseExpr(source: string, hiddenBuiltins: ReadonlySet<string> = NOTHING): Node {
  const text = source.toWellFormed();
  const parser = new Jsep(text);
  parser.hiddenBuiltins = hiddenBuiltins;
  try {
    parser.parse();
  } catch (error) {
    if (error instanceof RangeError) {
      throw new ExprCompileError("expression is nested too deeply", text, 0);
    }
    throw error;
  }
  return parser.root as Node;
}
