/** Paths with slashes, on every system. */

/** The shortest path with the same meaning: without `.`, `..` where it can be followed, and double slashes. "" becomes ".". */
export function cleanPath(path: string): string {
  const isRooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!isRooted) parts.push(part);
  }
  return (isRooted ? "/" : "") + parts.join("/") || ".";
}
