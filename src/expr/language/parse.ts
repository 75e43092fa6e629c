/**
 * Parses a source into a syntax tree. This is the only module that imports jsep, whose hooks and operators are shared
 * by all importers.
 */

import jsep from "jsep";

import type { Node } from "./ast.ts";
import { ExprCompileError } from "../values/error.ts";
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
 * @param hiddenBuiltins names of the environment that take precedence over built-in functions
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
