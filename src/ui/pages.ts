/**
 * The pages that people see in a browser. The server sends a shell, and a script fills it: a client of the public API like any
 * other. The shell shows nothing of what is stored, and needs no credential.
 */
import type { Hono } from "hono";
import { getCookie } from "hono/cookie";
import type { RequestEnv } from "../http/every_request.ts";
import { PAGES } from "./app/paths.ts";
import { type AssetSource, serveAsset } from "./assets.ts";
import { mountLogin } from "./login.ts";
import { mountSso, type SsoPagesOptions } from "./sso.ts";
import { rootFrom, shell, unbuiltPage } from "./shell.ts";

/** Where scripts and styles are. */
export const ASSETS = "/ui/assets/";

/**
 * Everything comes from this server, and nothing is written into the page as code or style. What a user's artifact shows comes
 * in a frame without rights.
 */
export const PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

export interface PagesOptions extends SsoPagesOptions {
  assets: AssetSource;
}

/** Adds the pages. */
export function mountPages(app: Hono<{ Bindings: RequestEnv }>, options: PagesOptions): void {
  const { assets, sso } = options;
  for (const { path } of PAGES) {
    app.get(path, async (c) => {
      const headers = { "content-security-policy": PAGE_POLICY, "cache-control": "no-cache" };
      const built = await assets();
      if (built === undefined) return c.html(unbuiltPage(), 503, headers);
      const facts = {
        root: rootFrom(c.env.target.path),
        here: path,
        path: c.env.target.path,
        theme: getCookie(c, "sluice-theme"),
        hasSso: sso !== undefined,
      };
      return c.html(shell(built, facts), 200, headers);
    });
  }
  app.get(`${ASSETS}:name`, async (c) => {
    const asset = (await assets())?.files.get(c.req.param("name"));
    return asset === undefined ? c.notFound() : serveAsset(asset, c.req.raw.headers);
  });
  mountLogin(app, options);
  mountSso(app, options);
}
