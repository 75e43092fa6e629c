/** Places below a root: how they are named, and which names are refused. */
import { basename, dirname, join } from "node:path";
import { invalid, Problem, ProblemCode } from "../../base/problem.ts";

/** Longest name that Linux's file systems take. */
const MAX_NAME_BYTES = 255;
/** Longest path that Linux takes in one call. */
const MAX_PATH_BYTES = 4_096;
/** Deeper trees are refused: each level holds a descriptor. */
export const MAX_DEPTH = 128;

/** Something below a root. */
export interface Place {
  /** Absolute. Trusted: links in it are followed. */
  root: string;
  /** Below the root, with slashes; empty for the root itself. Not trusted. */
  path: string;
}

/** True for a name that has lost bytes: it was not UTF-8, and stands for no file here. */
export function isUnreadable(name: string): boolean {
  return name.includes("\ufffd");
}

/** The place of a path that is trusted except for its last name, which may be a link. */
export function trustedPlace(path: string): Place {
  return { root: dirname(path), path: basename(path) };
}

/** The path of a place on this machine, for messages and for programs that mount it. Nothing here opens it. */
export function placeText({ root, path }: Place): string {
  return join(root, path);
}

/** A link stands in the way. */
export class LinkInPath extends Problem {
  /** The link, below the root. */
  readonly link: string;
  /** The path in it. */
  readonly target: string;
  /** The names after it in the wanted path. */
  readonly rest: readonly string[];

  constructor(parts: readonly string[], index: number, target: string) {
    const link = parts.slice(0, index + 1).join("/");
    super(
      ProblemCode.InvalidArgument,
      `"${link}" is a link to "${target}"; links are not followed here`,
    );
    this.name = "LinkInPath";
    this.link = link;
    this.target = target;
    this.rest = parts.slice(index + 1);
  }
}

/**
 * The names of a path below a root. A leading slash means the root.
 *
 * @throws {Problem} for `..`, for names that no file system takes, and for a path that is too long or too deep
 */
export function namesOf(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const wrong = names.includes("..")
    ? 'may not go up by ".."'
    : path.includes("\0")
    ? "has a NUL"
    : names.length > MAX_DEPTH
    ? `has more than ${MAX_DEPTH} levels`
    : Buffer.byteLength(path) > MAX_PATH_BYTES
    ? `has more than ${MAX_PATH_BYTES} bytes`
    : names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
    ? `has a name of more than ${MAX_NAME_BYTES} bytes`
    : undefined;
  if (wrong === undefined) return names;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  throw invalid(`Path ${JSON.stringify(shown)} ${wrong}`);
}
