/**
 * What all routes have in common: request ids, the limit on requests of a sender, refusals of paths and methods, and the
 * headers of every answer.
 */
import type { Ids } from "../platform/ids.ts";
import type { Hold } from "../service/workflows/hold.ts";
import { CALLBACK_GRANT, callbackPreflight, type OriginRule } from "./origin.ts";
import { noSuchRoute, problemResponse } from "./problems.ts";
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
  /** The origin of the page that sends it; null when no page does. */
  page: string | null;
  /** The room that it holds for what it reads. */
  hold?: Hold;
  /** Set for an answer that is JSON and already has what `setAnswerHeaders` sets. */
  isComplete?: true;
}

export interface EveryRequestOptions {
  ids: Ids;
  /** Undefined: requests are not limited. */
  rateLimiter: RateLimiter | undefined;
  origin: OriginRule;
  /** Path and query of a request. */
  targetOf: (request: Request, server: unknown) => RequestEnv["target"];
  /** The routes. Their answers still need `completeAnswer`. */
  fetch: (request: Request, env: RequestEnv) => Promise<Response>;
}

/** Methods that clients of the reference use. Others are refused first of all. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Ids that a client may give its requests. */
const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

/** Sets the headers that every answer has. */
export function setAnswerHeaders(headers: Headers, requestId: string): void {
  headers.set("x-request-id", requestId);
  headers.set("x-content-type-options", "nosniff");
}

/** What counts for the limit: the API, callbacks, and attempts to log in. */
function isCounted(path: string): boolean {
  return path.startsWith("/api/") || isCallbackPath(path) || path === "/login" ||
    path.startsWith("/oauth2/");
}

/** Wraps the routes in what every request needs. */
export function wrapRoutes(
  { ids, rateLimiter, origin, targetOf, fetch }: EveryRequestOptions,
): (request: Request, server: unknown) => Promise<Response> {
  return (request, server) => {
    const { headers } = request;
    const given = headers.get("x-request-id");
    const requestId = given !== null && REQUEST_ID.test(given) ? given : ids.uuid();
    const target = targetOf(request, server);
    // Intentionally not `has`: on Deno that lists all headers, while one is read by itself.
    const env: RequestEnv = { server, target, requestId, page: headers.get("origin") };
    if (rateLimiter !== undefined && isCounted(target.path)) {
      env.counted = new CountedRequest(rateLimiter, server);
    }
    const refusal = env.counted?.refusal ??
      (isCallbackPath(target.path)
        ? callbackPreflight(request)
        : refuseOrigin(request, env.page, origin)) ??
      refuseTarget(request.method, target);
    if (refusal === undefined) return fetch(request, env);
    return Promise.resolve(completeAnswer(refusal, env, origin));
  };
}

/** Adds the headers that the answer to a request still needs. */
export function completeAnswer(response: Response, env: RequestEnv, origin: OriginRule): Response {
  if (env.isComplete === true && env.page === null && env.counted === undefined) return response;
  const { headers } = response;
  if (env.page !== null) {
    const isCallback = isCallbackPath(env.target.path);
    setAll(headers, isCallback ? CALLBACK_GRANT : origin.grant(env.page) ?? {});
  }
  if (env.counted !== undefined) setAll(headers, env.counted.headers);
  if (env.isComplete !== true) {
    setAnswerHeaders(headers, env.requestId);
    // What is not JSON may be shown as a page. It may have its own rule about frames.
    headers.set("referrer-policy", "no-referrer");
    if (!headers.has("x-frame-options")) headers.set("x-frame-options", "DENY");
  }
  return response;
}

function setAll(headers: Headers, values: Readonly<Record<string, string>>): void {
  for (const name in values) headers.set(name, values[name] ?? "");
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
  if (METHODS.has(method)) return undefined;
  if (path.startsWith("/api/")) return problemResponse(noSuchRoute());
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
