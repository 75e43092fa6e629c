/**
 * The pages that people see in a browser. The server sends a shell, and a script fills it: a client of the public API like any
 * other. The shell shows nothing of what is stored, and needs no credential.
 */
import type { Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import type { MissingPage } from "../http/deps.ts";
import type { RequestEnv } from "../http/every_request.ts";
import { PAGES } from "./app/paths.ts";
import { type AssetSource, serveAsset } from "./assets.ts";
import { mountLogin } from "./login.ts";
import { mountSso, type SsoPagesOptions } from "./sso.ts";
import { rootFrom, shell, type ShellFacts, unbuiltPage } from "./shell.ts";

/** Where scripts and styles are. */
const ASSETS = "/ui/assets/";

/**
 * Everything comes from this server, and nothing is written into the page as code or style. What a user's artifact shows comes
 * in a frame without rights.
 */
export const PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

export interface PagesOptions extends SsoPagesOptions {
  assets: AssetSource;
  /** A token can prove who somebody is: otherwise nobody can log in, and nobody has to. */
  takesTokens: boolean;
}

/** Adds the pages. @returns what shows that there is none at an address */
export function mountPages(
  app: Hono<{ Bindings: RequestEnv }>,
  options: PagesOptions,
): MissingPage {
  const { assets, sso, takesTokens } = options;
  const login: ShellFacts["login"] = sso !== undefined
    ? "provider"
    : takesTokens
    ? "token"
    : "none";
  const show = async (
    c: Context<{ Bindings: RequestEnv }>,
    here: string,
    status: 200 | 404,
  ): Promise<Response> => {
    const headers = { "content-security-policy": PAGE_POLICY, "cache-control": "no-cache" };
    const built = await assets();
    if (built === undefined) return c.html(unbuiltPage(), 503, headers);
    const { path } = c.env.target;
    const theme = getCookie(c, "sluice-theme");
    const query = new URLSearchParams(c.req.query());
    const facts = { root: rootFrom(path), here, path, query, theme, login };
    return c.html(shell(built, facts), status, headers);
  };
  for (const { path } of PAGES) app.get(path, (c) => show(c, path, 200));
  // What is left of a workflow's address when somebody shortens it, and where the reference has its list.
  for (
    const path of ["/workflows", "/workflows/", "/workflows/:namespace", "/workflows/:namespace/"]
  ) {
    app.get(path, (c) => {
      const namespace = c.req.param("namespace") ?? c.req.query("namespace");
      const query = namespace ? `?${new URLSearchParams({ namespace })}` : "";
      return c.redirect(rootFrom(c.env.target.path) + query);
    });
  }
  app.get(`${ASSETS}:name`, async (c) => {
    const asset = (await assets())?.files.get(c.req.param("name"));
    return asset === undefined ? c.notFound() : serveAsset(asset, c.req.raw.headers);
  });
  mountLogin(app, options);
  mountSso(app, options);
  return (c) => show(c, c.env.target.path, 404);
}
