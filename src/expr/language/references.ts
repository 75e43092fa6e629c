/** The names that an expression reads from its environment. */

import { childrenOf, ENV_NAME, type Node, stringOf } from "./ast.ts";
import { parseExpr } from "./parse.ts";
import type { Reference } from "./program.ts";

/**
 * Lists the names that an expression reads, with the literal members after them, in source order. It only parses, so
 * names need not exist.
 * @throws {ExprCompileError} when the syntax is wrong
 */
export function referencesOf(source: string): Reference[] {
  return collectReferences(parseExpr(source));
}

/** Like {@link referencesOf}, for a tree. */
export function collectReferences(root: Node): Reference[] {
  const found: Reference[] = [];
  const visit = (node: Node, isGuarded: boolean, locals: ReadonlySet<string>): void => {
    const path = pathOf(node);
    if (path !== undefined) {
      const [name = ""] = path.names;
      found.push({
        path: path.names,
        guarded: isGuarded || path.isOptional,
        local: locals.has(name),
        offset: path.at,
      });
      for (const rest of path.rest) visit(rest, isGuarded, locals);
      return;
    }
    if (node.kind === "let") {
      visit(node.value, isGuarded, locals);
      visit(node.body, isGuarded, new Set([...locals, node.name]));
    } else if (node.kind === "binary" && node.operator === "??") {
      visit(node.left, true, locals);
      visit(node.right, isGuarded, locals);
    } else {
      for (const child of childrenOf(node)) visit(child, isGuarded, locals);
    }
  };
  visit(root, false, new Set());
  return found.sort((a, b) => a.offset - b.offset);
}

interface Path {
  readonly names: string[];
  readonly isOptional: boolean;
  readonly at: number;
  /** Parts of the chain that are expressions of their own: computed keys. */
  readonly rest: Node[];
}

/** The path that a node stands for: a name, and the literal members that directly follow it. */
function pathOf(node: Node): Path | undefined {
  const links: Extract<Node, { kind: "member" }>[] = [];
  let base = node;
  for (;;) {
    if (base.kind === "chain") base = base.body;
    else if (base.kind === "member") {
      links.unshift(base);
      base = base.object;
    } else break;
  }
  if (base.kind !== "name") return undefined;
  const names: string[] = [base.name];
  const rest: Node[] = [];
  let isLiteral = true;
  for (const link of links) {
    const name = stringOf(link.property);
    if (name === undefined) rest.push(link.property);
    isLiteral &&= name !== undefined;
    if (isLiteral && name !== undefined) names.push(name);
  }
  if (names[0] === ENV_NAME) names.shift();
  return { names, isOptional: links.some((link) => link.isOptional), at: base.at, rest };
}
