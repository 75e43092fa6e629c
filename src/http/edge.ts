/**
 * What surrounds every request, whatever its route: its id, the bound on requests of its sender, what is wrong with its
 * path or method, and the headers that every answer has.
 */
import type { Ids } from "../platform/ids.ts";
import type { OriginRule } from "./origin.ts";
import { problemResponse } from "./problems.ts";
import { CountedRequest, type RateLimiter } from "./rate_limit.ts";
import { cleanPath } from "./request_path.ts";

/** What routes find in their environment. */
export interface RequestEnv {
  /** What the server under us says about the request. */
  server: unknown;
  /** Path and query as they were sent. */
  target: { path: string; query: string };
  requestId: string;
  /** Absent: there is no bound on requests. */
  counted?: CountedRequest;
  /** Set by an answer that is JSON and has the headers of `answerHeaders` already. */
  isComplete?: true;
}

export interface EdgeOptions {
  ids: Ids;
  /** Absent: no bound on requests. */
  rateLimiter: RateLimiter | undefined;
  origin: OriginRule;
  /** What a request asks for. */
  targetOf: (request: Request, server: unknown) => RequestEnv["target"];
  /** The routes. */
  fetch: (request: Request, env: RequestEnv) => Response | Promise<Response>;
}

/** Methods that clients of the reference know; others are refused before anything is looked at. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What a client may call its request. */
const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

/** The headers that every answer has. */
export function answerHeaders(requestId: string): Record<string, string> {
  return { "x-request-id": requestId, "x-content-type-options": "nosniff" };
}

/** Those of answers that a browser may show as a page, which JSON is not; one may forbid frames in its own words. */
const PAGE_HEADERS = { "referrer-policy": "no-referrer", "x-frame-options": "DENY" };

/** Puts the edge around the routes. */
export function createEdge(
  { ids, rateLimiter, origin, targetOf, fetch }: EdgeOptions,
): (request: Request, server: unknown) => Promise<Response> {
  return async (request, server) => {
    const given = request.headers.get("x-request-id");
    const requestId = given !== null && REQUEST_ID.test(given) ? given : ids.uuid();
    const target = targetOf(request, server);
    const env: RequestEnv = { server, target, requestId };
    if (rateLimiter !== undefined && target.path.startsWith("/api/")) {
      env.counted = new CountedRequest(rateLimiter, server);
    }
    const response = env.counted?.refusal ?? refuseOrigin(request, origin) ??
      refuseTarget(request.method, target) ?? await fetch(request, env);
    if (request.headers.has("origin")) {
      for (const [name, value] of Object.entries(origin.grant(request.headers) ?? {})) {
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

function refuseOrigin({ method, headers }: Request, origin: OriginRule): Response | undefined {
  const refusal = origin.refusal(method, headers);
  return refusal === undefined ? origin.preflight(method, headers) : problemResponse(refusal);
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
        ...(hasBody || method === "HEAD" ? { "content-type": "text/html; charset=utf-8" } : {}),
      },
    },
  );
}
