/** Which names of its environment an expression reads. Known from the syntax alone, before any name is looked up. */
import { childrenOf, type Node, stringOf } from "./ast.ts";
import type { Reference } from "./program.ts";

/** The names an expression reads, in source order, with doubles. `$env.x` reads `x`. */
export function referencesOf(root: Node): Reference[] {
  const found: Reference[] = [];
  visit(root, false, new Set(), found);
  return found;
}

function visit(
  node: Node,
  guarded: boolean,
  locals: ReadonlySet<string>,
  found: Reference[],
): void {
  const path = pathOf(node);
  if (path !== undefined) {
    addReference(path, guarded, locals, found);
    for (const computed of path.computed) visit(computed, guarded, locals, found);
    return;
  }
  if (node.kind === "let") {
    visit(node.value, false, locals, found);
    visit(node.body, guarded, new Set(locals).add(node.name), found);
    return;
  }
  if (node.kind === "binary" && node.operator === "??") {
    visit(node.left, true, locals, found);
    visit(node.right, guarded, locals, found);
    return;
  }
  for (const child of childrenOf(node)) visit(child, guarded, locals, found);
}

interface Path {
  names: string[];
  isOptional: boolean;
  offset: number;
  /** Expressions in brackets, which end the literal part of the path. */
  computed: Node[];
}

/** A name with the members after it; undefined when a node is no such chain. */
function pathOf(node: Node): Path | undefined {
  const links: { property: Node; isOptional: boolean }[] = [];
  let current = node;
  while (current.kind === "member" || current.kind === "chain") {
    if (current.kind === "chain") current = current.body;
    else {
      links.push(current);
      current = current.object;
    }
  }
  if (current.kind !== "name") return undefined;
  const path: Path = { names: [current.name], isOptional: false, offset: current.at, computed: [] };
  let isLiteral = true;
  for (const { property, isOptional } of links.reverse()) {
    const name = stringOf(property);
    if (isOptional) path.isOptional = true;
    if (name === undefined) {
      isLiteral = false;
      path.computed.push(property);
    } else if (isLiteral) path.names.push(name);
  }
  return path;
}

function addReference(
  path: Path,
  guarded: boolean,
  locals: ReadonlySet<string>,
  found: Reference[],
): void {
  const names = path.names[0] === "$env" ? path.names.slice(1) : path.names;
  const root = names[0];
  if (root === undefined) return;
  found.push({
    path: names,
    guarded: guarded || path.isOptional,
    local: locals.has(root),
    offset: path.offset,
  });
}
