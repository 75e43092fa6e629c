/**
 * Paths of a template on the machine itself. A local process has no file system of its own, so the absolute paths that a
 * template declares (artifacts, output parameters, volume mounts) are moved into the task's folder: wherever such a path
 * stands in the command, the arguments, the script or the environment it is replaced by its new place. Tasks that run side
 * by side with the same `/tmp/out` never meet. A program that puts the path together itself isn't reached by this.
 */

import { posix, relative } from "node:path";
import { invalid } from "../../base/problem.ts";
import { namesOf, type Place } from "../../platform/files/place.ts";

/** A path of the template and where it is on this machine. */
export interface Mount {
  /** Absolute, as the template has it. */
  at: string;
  /** Absolute, on this machine. */
  host: string;
  /** Folder of the server's that `host` is in or is; what is below it is a step's. Absent: `host` itself. */
  root?: string;
  readOnly?: boolean;
}

export interface PathMap {
  /** The place of an absolute path on this machine; itself when nothing was moved. */
  resolve(path: string): string;
  /** The same as a place, which its links can't leave; undefined when nothing was moved. */
  place(path: string): Place | undefined;
  /** The text with every moved path replaced. */
  rewrite(text: string): string;
}

/** Makes the map; the longest matching mount wins, so a path below a mounted volume lies in the volume. */
export function createPathMap(mounts: readonly Mount[]): PathMap {
  const byPath = new Map<string, string>();
  const roots = new Map<string, string>();
  for (const mount of mounts) {
    const at = trimSlash(mount.at);
    if (at === "" || byPath.has(at)) continue;
    byPath.set(at, trimSlash(mount.host));
    roots.set(at, trimSlash(mount.root ?? mount.host));
  }
  const paths = [...byPath.keys()].sort((a, b) => b.length - a.length);
  if (paths.length === 0) {
    return { resolve: (path) => path, place: () => undefined, rewrite: (text) => text };
  }
  // A path starts after anything that can't be part of one, and ends before anything that can't go on with its last name.
  const pattern = new RegExp(
    `(?<![\\w.~/\\-)}\\]*?])(${paths.map(escapeRegExp).join("|")})(?![\\w\\-]|\\.\\w)`,
    "g",
  );
  const mountOf = (path: string) => paths.find((at) => path === at || path.startsWith(`${at}/`));
  const resolve = (path: string) => {
    const at = mountOf(path);
    return at === undefined ? path : trimSlash((byPath.get(at) ?? "") + path.slice(at.length));
  };
  return {
    resolve,
    place(path) {
      const root = roots.get(mountOf(path) ?? "");
      return root === undefined ? undefined : { root, path: relative(root, resolve(path)) };
    },
    rewrite: (text) => text.replace(pattern, (found) => byPath.get(found) ?? found),
  };
}

/**
 * A path of a template as its container sees it: absolute, without `..`, which doesn't lead above the root of any file
 * system. A relative one starts at `workingDir`.
 *
 * @throws {Problem} for a path with characters that can't be handed on, or that no file system takes.
 */
export function guestPath(path: string, workingDir = "/"): string {
  // deno-lint-ignore no-control-regex -- these are what it looks for
  if (/[\u0000-\u001f\u007f]/.test(path)) {
    throw invalid(`Path ${JSON.stringify(path)} has a control character`);
  }
  const full = posix.resolve("/", workingDir, path);
  namesOf(full);
  return full;
}

function trimSlash(path: string): string {
  return path.replace(/\/+$/, "");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
