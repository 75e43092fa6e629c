/**
 * The `fields` parameter: dotted paths to keep, with commas between them; with `-` in front of the whole text, paths to leave
 * out. Paths go through lists without an index. A path keeps its whole subtree; its ancestors stay as containers.
 */
import { isJsonObject, type Json, type JsonObject, setMember } from "../base/json.ts";

/** A parsed `fields` parameter. */
export interface Projection {
  exclude: boolean;
  root: PathNode;
}

interface PathNode {
  /** A path ends here: the whole subtree is meant. */
  whole: boolean;
  children: Map<string, PathNode>;
}

/** Reads a `fields` parameter; undefined when there is none, so that everything is shown. */
export function parseProjection(fields: string | undefined): Projection | undefined {
  if (fields === undefined || fields === "") return undefined;
  const exclude = fields.startsWith("-");
  const root: PathNode = { whole: false, children: new Map() };
  for (const path of (exclude ? fields.slice(1) : fields).split(",")) {
    if (path === "") continue;
    let node = root;
    for (const key of path.split(".")) {
      let child = node.children.get(key);
      if (child === undefined) {
        child = { whole: false, children: new Map() };
        node.children.set(key, child);
      }
      node = child;
    }
    node.whole = true;
  }
  return { exclude, root };
}

/** The part of a projection below a container (`items`, `result.object`). It is empty when nothing below is named. */
export function projectionBelow(projection: Projection, ...path: string[]): Projection {
  let node: PathNode | undefined = projection.root;
  for (const key of path) {
    // Intentionally not the whole subtree: `fields=result` keeps the frame, but nothing of its object.
    node = node?.children.get(key);
  }
  return {
    exclude: projection.exclude,
    root: node ?? { whole: false, children: new Map() },
  };
}

/** Tells whether a projection keeps a path, at least in part. */
export function keepsPath(projection: Projection | undefined, ...path: string[]): boolean {
  return projection === undefined || keeps(projection, path) !== false;
}

/** Tells whether a projection keeps a path with everything below it. */
export function keepsWhole(projection: Projection, ...path: string[]): boolean {
  return keeps(projection, path) === true;
}

/** Undefined: a part of what is below the path. */
function keeps({ root, exclude }: Projection, path: readonly string[]): boolean | undefined {
  let node: PathNode | undefined = root;
  for (const key of path) {
    node = node.children.get(key);
    if (node === undefined) return exclude;
    if (node.whole) return !exclude;
  }
  return undefined;
}

/** Applies a projection to an object, which is not changed itself. */
export function project(value: JsonObject, projection: Projection): JsonObject {
  return projection.exclude
    ? without(value, projection.root) as JsonObject
    : only(value, projection.root) as JsonObject;
}

function only(value: Json, node: PathNode): Json {
  if (node.whole) return value;
  if (Array.isArray(value)) return value.map((item) => only(item, node));
  if (!isJsonObject(value)) return value;
  const shown: JsonObject = {};
  for (const key in value) {
    const child = descend(node, key);
    const member = value[key];
    if (child === undefined || member === undefined) continue;
    if (child.whole) setMember(shown, key, member);
    else if (typeof member === "object" && member !== null) {
      setMember(shown, key, only(member, child));
    }
  }
  return shown;
}

function without(value: Json, node: PathNode): Json {
  if (Array.isArray(value)) return value.map((item) => without(item, node));
  if (!isJsonObject(value)) return value;
  const shown: JsonObject = {};
  for (const key in value) {
    const child = descend(node, key);
    const member = value[key];
    if (child?.whole === true || member === undefined) continue;
    setMember(shown, key, child === undefined ? member : without(member, child));
  }
  return shown;
}

/** Follows the name of a member, which may hold dots itself (label keys do). */
function descend(node: PathNode, key: string): PathNode | undefined {
  if (!key.includes(".")) return node.children.get(key);
  let at: PathNode | undefined = node;
  // A path that ends within the name is that of another member.
  for (const part of key.split(".")) at = at?.children.get(part);
  return at;
}
