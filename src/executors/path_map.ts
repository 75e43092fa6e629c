/**
 * Paths of a template on the machine itself. A local process has no file system of its own, so the absolute paths that a
 * template declares (artifacts, output parameters, volume mounts) are moved into the task's folder: wherever such a path
 * stands in the command, the arguments, the script or the environment it is replaced by its new place. Tasks that run side
 * by side with the same `/tmp/out` never meet. A program that puts the path together itself isn't reached by this.
 */

/** A path of the template and where it is on this machine. */
export interface Mount {
  /** Absolute, as the template has it. */
  at: string;
  /** Absolute, on this machine. */
  host: string;
  readOnly?: boolean;
}

export interface PathMap {
  /** The place of an absolute path on this machine; itself when nothing was moved. */
  resolve(path: string): string;
  /** The text with every moved path replaced. */
  rewrite(text: string): string;
}

/** Makes the map; the longest matching mount wins, so a path below a mounted volume lies in the volume. */
export function createPathMap(mounts: readonly Mount[]): PathMap {
  const byPath = new Map<string, string>();
  for (const mount of mounts) {
    const at = trimSlash(mount.at);
    if (at !== "" && !byPath.has(at)) byPath.set(at, trimSlash(mount.host));
  }
  const paths = [...byPath.keys()].sort((a, b) => b.length - a.length);
  if (paths.length === 0) return { resolve: (path) => path, rewrite: (text) => text };
  // A path starts after anything that can't be part of one, and ends before anything that can't go on with its last name.
  const pattern = new RegExp(
    `(?<![\\w.~/\\-)}\\]*?])(${paths.map(escapeRegExp).join("|")})(?![\\w\\-]|\\.\\w)`,
    "g",
  );
  return {
    resolve(path) {
      for (const at of paths) {
        const host = byPath.get(at);
        if (host === undefined) continue;
        if (path === at) return host;
        if (path.startsWith(`${at}/`)) return trimSlash(host + path.slice(at.length));
      }
      return path;
    },
    rewrite: (text) => text.replace(pattern, (found) => byPath.get(found) ?? found),
  };
}

function trimSlash(path: string): string {
  return path.replace(/\/+$/, "");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
