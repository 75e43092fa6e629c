/**
 * What all routes have in common: request ids, the limit on requests of a sender, refusals of paths and methods, and the
 * headers of every answer.
 */
import type { Ids } from "../platform/ids.ts";
import type { Hold } from "../service/workflows/large_reads.ts";
import { CALLBACK_GRANT, callbackPreflight, type OriginRule } from "./origin.ts";
import { problemResponse } from "./problems.ts";
import { CountedRequest, type RateLimiter } from "./rate_limit.ts";
import { cleanPath, isCallbackPath } from "./request_path.ts";

/** What routes find in their environment. */
export interface RequestEnv {
  /** What the HTTP server says about the request. */
  server: unknown;
  /** Path and query as they were sent. */
  target: { path: string; query: string };
  requestId: string;
  /** Absent: requests are not limited. */
  counted?: CountedRequest;
  /** The room that it holds for what it reads. */
  hold?: Hold;
  /** Set for an answer that is JSON and already has the headers of `answerHeaders`. */
  isComplete?: true;
}

export interface EveryRequestOptions {
  ids: Ids;
  /** Undefined: requests are not limited. */
  rateLimiter: RateLimiter | undefined;
  origin: OriginRule;
  /** Path and query of a request. */
  targetOf: (request: Request, server: unknown) => RequestEnv["target"];
  /** The routes. */
  fetch: (request: Request, env: RequestEnv) => Response | Promise<Response>;
}

/** Methods that clients of the reference use. Others are refused first of all. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Ids that a client may give its requests. */
const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

/** The headers that every answer has. */
export function answerHeaders(requestId: string): Record<string, string> {
  return { "x-request-id": requestId, "x-content-type-options": "nosniff" };
}

/** Headers of answers other than JSON, which a browser may show as a page. An answer may have its own rule about frames. */
const PAGE_HEADERS = { "referrer-policy": "no-referrer", "x-frame-options": "DENY" };

/** What counts for the limit: the API, callbacks, and attempts to log in. */
function isCounted(path: string): boolean {
  return path.startsWith("/api/") || isCallbackPath(path) || path === "/login" ||
    path.startsWith("/oauth2/");
}

/** Wraps the routes in what every request needs. */
export function wrapRoutes(
  { ids, rateLimiter, origin, targetOf, fetch }: EveryRequestOptions,
): (request: Request, server: unknown) => Promise<Response> {
  return async (request, server) => {
    const given = request.headers.get("x-request-id");
    const requestId = given !== null && REQUEST_ID.test(given) ? given : ids.uuid();
    const target = targetOf(request, server);
    const env: RequestEnv = { server, target, requestId };
    if (rateLimiter !== undefined && isCounted(target.path)) {
      env.counted = new CountedRequest(rateLimiter, server);
    }
    // Intentionally not `has`: on Deno that lists all headers, while one is read by itself.
    const page = request.headers.get("origin");
    const isCallback = isCallbackPath(target.path);
    const preflight = isCallback ? callbackPreflight(request) : undefined;
    const refusal = isCallback ? undefined : refuseOrigin(request, page, origin);
    const response = env.counted?.refusal ?? preflight ?? refusal ??
      refuseTarget(request.method, target) ?? await fetch(request, env);
    if (page !== null) {
      const granted = isCallback ? CALLBACK_GRANT : origin.grant(page) ?? {};
      for (const [name, value] of Object.entries(granted)) {
        response.headers.set(name, value);
      }
    }
    for (const [name, value] of Object.entries(env.counted?.headers ?? {})) {
      response.headers.set(name, value);
    }
    if (env.isComplete !== true) {
      for (
        const [name, value] of Object.entries({ ...answerHeaders(requestId), ...PAGE_HEADERS })
      ) {
        if (name !== "x-frame-options" || !response.headers.has(name)) {
          response.headers.set(name, value);
        }
      }
    }
    return response;
  };
}

function refuseOrigin(
  { method, headers }: Request,
  origin: string | null,
  rule: OriginRule,
): Response | undefined {
  const sent = { method, headers, origin };
  const refusal = rule.refusal(sent);
  return refusal === undefined ? rule.preflight(sent) : problemResponse(refusal);
}

function refuseTarget(
  method: string,
  { path, query }: { path: string; query: string },
): Response | undefined {
  const clean = cleanPath(path);
  if (clean !== path) return redirect(method, query === "" ? clean : `${clean}?${query}`);
  if (method === "HEAD" && path.startsWith("/api/")) {
    return new Response(null, { status: 501, headers: { "content-type": "application/json" } });
  }
  if (METHODS.has(method)) return undefined;
  return new Response(null, { status: 405, headers: { allow: "GET, POST, PUT, DELETE" } });
}

function redirect(method: string, location: string): Response {
  const shown = location.replaceAll("&", "&amp;");
  const hasBody = method === "GET";
  return new Response(
    hasBody ? `<a href="${shown}">Temporary Redirect</a>.\n\n` : null,
    {
      status: 307,
      headers: {
        location,
        ...((hasBody || method === "HEAD") && { "content-type": "text/html; charset=utf-8" }),
      },
    },
  );
}
