/** Where the server is, seen from the browser. */

const { root: relative = "./", layout = "", login } = document.documentElement.dataset;

/** People can log in through an identity provider. */
export const HAS_SSO: boolean = login === "provider";

/** Nobody can log in, and nobody has to. */
export const IS_OPEN: boolean = login === "none";

/** Path of the server's root, with a slash at its end; other than `/` behind a proxy with a prefix. */
export const ROOT: string = new URL(relative, location.href).pathname;

/** The address of the worker that lays out graphs. */
export const LAYOUT_WORKER: string = new URL(layout, location.href).href;

/** The address of something of this server, for a path from its root. */
export function addressOf(path: string): string {
  return ROOT + path.replace(/^\//, "");
}
