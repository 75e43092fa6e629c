/**
 * The language as a jsep plugin. jsep provides the parser object (the source and the position in it), and skips blanks.
 * Our hooks do the rest: `scanner.ts` reads comments and tokens, and `grammar.ts` the whole program.
 *
 * jsep's own parsers for literals, binary operators and member chains are not used, because their nodes have no
 * positions, which every error of the reference names, their unary operators have no precedence, and they accept what
 * the language refuses (parts without a separator, lists with holes).
 */

import type { Node } from "./ast.ts";
import { Grammar } from "./grammar.ts";
import { type Cursor, skipSpacesAndComments } from "./scanner.ts";

/** What the plugin uses of a jsep parser, and what it stores there. */
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
      this.root = new Grammar(this, this.hiddenBuiltins).program();
      this.index = this.expr.length;
    });
    jsep.hooks.add("after-all", function (env) {
      env.node = this.root;
    });
  },
};
