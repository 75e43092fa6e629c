/**
 * A built copy of the reference's own pages, served from a folder under `/argo/` on the port of the service. The pages call the
 * API under their own address, so it is answered there too. The pages themselves are not part of this project.
 */
import type { FileHandle } from "node:fs/promises";
import type { Hono } from "hono";
import { getMimeType } from "hono/utils/mime";
import { getPath } from "hono/utils/url";
import { ConfigError } from "../platform/config.ts";
import { openInside, readTextInside } from "../platform/files/inside.ts";
import { webStream } from "../platform/web_stream.ts";
import type { RequestEnv } from "./every_request.ts";
import { cleanPath, rawTarget } from "./request_path.ts";

/** Where the pages are. */
export const ARGO_UI_BASE = "/argo/";
const INDEX = "index.html";
const MAX_INDEX_BYTES = 2 ** 20;
const BASE_TAG = /<base\s[^>]*>/i;
/** A hash in the name of a file: the file never changes, because other content gets another name. */
const HASHED = /\.[0-9a-f]{16,}\./;

/** Paths under the base that belong to the service. */
const OF_THE_SERVICE =
  /^\/argo\/(api|(input-)?artifacts(-by-uid)?|artifact-files|upload-artifacts|oauth2)\//;

/** The editor in the pages starts workers and sets styles. Nothing may come from other servers. */
const PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; " +
  "frame-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'none'";
/** The page of a workflow shows these in frames, and no other page may. */
const WIDGETS = `${ARGO_UI_BASE}widgets/`;
const FRAMED = {
  "content-security-policy": PAGE_POLICY.replace(
    "frame-ancestors 'none'",
    "frame-ancestors 'self'",
  ),
  "x-frame-options": "SAMEORIGIN",
};

/** @throws {ConfigError} when the folder of `--argo-ui-dir` has no built pages */
export async function checkArgoUi(dir: string): Promise<void> {
  const wrong = await readTextInside({ root: dir, path: INDEX }, MAX_INDEX_BYTES).then(
    (html) => BASE_TAG.test(html) ? undefined : `the ${INDEX} in it has no <base>`,
    (cause: Error) => `its ${INDEX} can't be read: ${cause.message}`,
  );
  if (wrong === undefined) return;
  throw new ConfigError([
    `--argo-ui-dir is "${dir}", which is not a folder with the built pages of Argo Workflows: ${wrong}; ` +
    "name the folder that a build leaves in ui/dist/app (docs/argo-ui.md), or leave the setting out",
  ]);
}

/** Adds the pages. They show nothing of what is stored, and need no credentials. */
export function mountArgoUi(app: Hono<{ Bindings: RequestEnv }>, dir: string): void {
  app.get("/argo", (c) => c.redirect(ARGO_UI_BASE));
  app.get(`${ARGO_UI_BASE}*`, async (c) => {
    const asked = c.env.target.path;
    const path = fileOf(asked);
    const file = path === undefined
      ? undefined
      : await openInside({ root: dir, path }).catch(() => undefined);
    // A path that is no file is a page, and all pages have the same text.
    return file === undefined
      ? indexResponse(await readTextInside({ root: dir, path: INDEX }, MAX_INDEX_BYTES), asked)
      : await fileResponse(file, path ?? "", c.req.raw);
  });
}

/**
 * The target of a request. If a page calls the service under its base, the target is that without the base. Everything that
 * examines a request uses this target.
 */
export function servedTarget(request: Request, server: unknown): RequestEnv["target"] {
  const target = rawTarget(request, server);
  const { path } = target;
  const isOfTheService = OF_THE_SERVICE.test(path) && cleanPath(path) === path;
  return isOfTheService ? { ...target, path: path.slice(ARGO_UI_BASE.length - 1) } : target;
}

/** The path by which a request finds its route, as the router itself reads it. */
export function servedPath(request: Request, { env }: { env?: RequestEnv } = {}): string {
  return getPath(env === undefined ? request : { url: `http://-${env.target.path}` } as Request);
}

/** The file that a path names under the base; undefined when no such file may be shown. */
function fileOf(path: string): string | undefined {
  const name = path.slice(ARGO_UI_BASE.length);
  try {
    const decoded = decodeURIComponent(name);
    const isShown = decoded !== INDEX && !/(^|\/)(\.|$)/.test(decoded);
    return isShown ? decoded : undefined;
  } catch {
    return undefined;
  }
}

function indexResponse(html: string, path: string): Response {
  return new Response(html.replace(BASE_TAG, `<base href="${ARGO_UI_BASE}">`), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": PAGE_POLICY,
      ...(path.startsWith(WIDGETS) && FRAMED),
    },
  });
}

async function fileResponse(file: FileHandle, path: string, request: Request): Promise<Response> {
  const { size, mtimeMs } = await file.stat();
  const etag = `"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`;
  const headers: Record<string, string> = {
    "content-type": getMimeType(path) ?? "application/octet-stream",
    "content-length": String(size),
    "cache-control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
    // A worker has the policy of the file that it was made from.
    "content-security-policy": PAGE_POLICY,
    etag,
  };
  const isKnown = request.headers.get("if-none-match") === etag;
  if (isKnown || request.method === "HEAD") {
    await file.close();
    if (isKnown) delete headers["content-length"];
    return new Response(null, { status: isKnown ? 304 : 200, headers });
  }
  // An error while the file is read goes to the reader.
  const bytes = file.createReadStream().on("error", () => {});
  return new Response(webStream(bytes), { headers });
}
