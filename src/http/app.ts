/**
 * The HTTP application: declared routes on Hono, in the order in which the reference looks at a request. Path first,
 * then route, body and query, then credentials, then the use case.
 */
import { type Context, Hono } from "hono";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json_text.ts";
import { notFound, unavailable } from "../base/problem.ts";
import { Deadlines } from "../platform/deadlines.ts";
import type { Labels, Metrics } from "../platform/metrics.ts";
import type { ServiceDeps } from "../service/deps.ts";
import { StaleManifests } from "../service/event_intake.ts";
import { downloadResponse } from "./download.ts";
import { answerHeaders, createEdge, type RequestEnv } from "./edge.ts";
import { mountDescription } from "./description.ts";
import { decodeBody, RequestBody } from "./body.ts";
import { asProblem, noSuchRoute, problemResponse } from "./problems.ts";
import { readUpload } from "./multipart.ts";
import type { OriginRule } from "./origin.ts";
import { parseProjection } from "./projection.ts";
import { readQuery } from "./query.ts";
import type { RateLimiter } from "./rate_limit.ts";
import type { Call, Route } from "./route.ts";
import { framingOf, refusedStream, streamResponse } from "./stream.ts";

export interface AppDeps {
  service: ServiceDeps;
  gatekeeper: Gatekeeper;
  metrics: Metrics;
  /** Largest request body, bytes; events have a limit of their own. */
  maxBodyBytes: number;
  /** Largest file that can be uploaded as an artifact, bytes. */
  maxUploadBytes: number;
  /** How long a body may take to arrive; of an upload, how long nothing of it may arrive. */
  bodyTimeoutMs: number;
  /** Which pages of a browser may call. */
  origin: OriginRule;
  /** Rejects with the reason when the server can't do its work now. */
  ready: () => Promise<void>;
  /** Aborts when the server is about to end: open streams are closed properly. */
  closing: AbortSignal;
  /** Absent: no bound on requests. */
  rateLimiter?: RateLimiter;
}

type RouteApp = Hono<{ Bindings: RequestEnv }>;
type RouteContext = Context<{ Bindings: RequestEnv }>;

/** Items of a list that are written in one go. */
const ITEMS_AT_ONCE = 250;

/** Makes the application with these routes: a fetch handler. */
export function createApp(
  deps: AppDeps,
  routes: readonly Route[],
): { fetch(request: Request, server: unknown): Promise<Response> } {
  const app: RouteApp = new Hono();
  const waits = new Deadlines(deps.service.clock, deps.bodyTimeoutMs);
  mountProbes(app, deps);
  mountDescription(app, routes, deps.service.settings.build.version);
  for (const route of routes) {
    const measure = requestMetrics(deps, route);
    const served = { route, paramsOf: paramsReader(route.path), deps, waits };
    const handler = (c: RouteContext) => measure(c.env, () => answer(served, c));
    for (const path of routePaths(route.path)) app.on(route.method, path, handler);
  }
  // Below /api clients rely on another answer.
  for (const { method, path } of routes.filter((route) => !route.path.startsWith("/api/"))) {
    const allow = method === "GET" ? "GET, HEAD" : method;
    for (const plain of routePaths(path)) {
      app.all(plain, (c) => c.json({ code: 12, message: "Method Not Allowed" }, 405, { allow }));
    }
  }
  app.notFound((c) => {
    const { path } = c.env.target;
    if (path.startsWith("/api/")) return problemResponse(noSuchRoute());
    return c.json({ code: 5, message: "Not Found" }, 404);
  });
  app.onError((error, c) => {
    logDefect(error, deps, c);
    return problemResponse(asProblem(error));
  });
  const edge = createEdge({
    ids: deps.service.ids,
    rateLimiter: deps.rateLimiter,
    origin: deps.origin,
    fetch: (request, env) => app.fetch(request, env),
  });
  return { fetch: edge };
}

/** Paths in Hono's form; a parameter at the end may also be empty, and `{path}` takes slashes. */
function routePaths(path: string): string[] {
  const plain = path.replace(/\{path\}$/, ":path{.+}").replace(/\{(\w+)\}/g, ":$1");
  return path.endsWith("}") ? [plain, plain.slice(0, plain.lastIndexOf("/") + 1)] : [plain];
}

/** A route as it is served. */
interface ServedRoute {
  route: Route;
  paramsOf: (path: string) => Record<string, string>;
  deps: AppDeps;
  waits: Deadlines;
}

/** @param known the body, when the request is looked at again because what was known had changed */
async function answer(
  served: ServedRoute,
  c: RouteContext,
  known?: RequestBody,
): Promise<Response> {
  const { route, paramsOf, deps, waits } = served;
  const request = c.req.raw;
  const { path, query } = c.env.target;
  const abort = route.kind === "stream" ? new AbortController() : undefined;
  const signal = abort === undefined ? deps.closing : AbortSignal.any([abort.signal, deps.closing]);
  let call: Omit<Call, "caller">;
  let proved: Caller | undefined;
  const { bodyTimeoutMs: timeoutMs } = deps;
  const body = known ??
    new RequestBody(request, { maxBytes: bodyLimit(route, deps), timeoutMs, waits });
  try {
    const params = paramsOf(path);
    const { service } = deps;
    const { headers } = request;
    const isAgain = known !== undefined;
    const verdict = await route.guard?.({ service, params, headers, body, isAgain });
    if (verdict !== undefined && "response" in verdict) return verdict.response;
    if (verdict !== undefined && "caller" in verdict) proved = verdict.caller;
    call = {
      service,
      operation: route.operation,
      params,
      body: route.body === undefined ? undefined : decodeBody(await body.text(), route.body),
      query: readQuery(query, route.query),
      headers,
      manifests: verdict !== undefined && "manifests" in verdict ? verdict.manifests : undefined,
      signal,
    };
  } catch (error) {
    return refuse(error, deps, c, undefined);
  }
  const framing = route.kind === "stream" ? framingOf(request.headers) : undefined;
  try {
    const caller = proved ?? await deps.gatekeeper(request.headers);
    if (known === undefined) c.env.counted?.identify(caller.identity);
    const tooFast = c.env.counted?.refusal;
    if (tooFast !== undefined) return tooFast;
    if (route.kind === "unary") {
      return unaryResponse(await answerText(await route.run({ ...call, caller })), deps, c.env);
    }
    if (route.kind === "download") {
      return downloadResponse(await route.open({ ...call, caller }), request.method);
    }
    if (route.kind === "upload") {
      const store = await route.open({ ...call, caller });
      const file = await readUpload(request, { maxBytes: deps.maxUploadBytes, timeoutMs, waits });
      return unaryResponse(writeJson(await store(file)), deps, c.env);
    }
    const source = await route.open({ ...call, caller });
    const fields = (call.query as { fields?: string }).fields;
    return streamResponse(source, {
      framing: framing ?? "ndjson",
      projection: parseProjection(fields),
      clock: deps.service.clock,
      onEnd: () => abort?.abort(),
      onError: (error) => logDefect(error, deps, c),
    });
  } catch (error) {
    if (error instanceof StaleManifests && known === undefined) {
      return await answer(served, c, body);
    }
    abort?.abort();
    return refuse(error, deps, c, framing);
  }
}

function bodyLimit(route: Route, deps: AppDeps): number {
  return route.body === "json" ? deps.service.settings.maxEventBytes : deps.maxBodyBytes;
}

/**
 * Reads the parameters of a route's paths.
 * @throws {Problem} when a segment is what the reference's router doesn't match: an escaped slash, a colon at the end
 */
function paramsReader(template: string): (path: string) => Record<string, string> {
  const names = template.split("/");
  const isApi = template.startsWith("/api/");
  const places = names.flatMap((name, index) =>
    name.startsWith("{") ? [{ name: name.slice(1, -1), index }] : []
  );
  return (path) => {
    const segments = path.split("/");
    const params: Record<string, string> = {};
    for (const { name, index } of places) {
      const isLast = index === names.length - 1;
      const sent = name === "path" ? segments.slice(index) : segments.slice(index, index + 1);
      const values = sent.map(decodeSegment);
      const isStrange = (value: string | undefined) =>
        value === undefined || value.includes("/") || (isApi && isLast && value.includes(":"));
      if (values.some(isStrange)) throw isApi ? noSuchRoute() : notFound("Not Found");
      params[name] = values.join("/");
    }
    return params;
  };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The text of an answer; that of a long list is written in pieces, so that others get their turn. */
async function answerText(answer: JsonObject): Promise<string> {
  const { items } = answer;
  if (!Array.isArray(items) || items.length <= ITEMS_AT_ONCE) return writeJson(answer);
  const [before = "", after = ""] = writeJson({ ...answer, items: [] }).split('"items":[]');
  const pieces: string[] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    pieces.push(writeJson(items.slice(at, at + ITEMS_AT_ONCE)).slice(1, -1));
  }
  return `${before}"items":[${pieces.join(",")}]${after}`;
}

function unaryResponse(body: string, deps: AppDeps, env: RequestEnv): Response {
  env.isComplete = true;
  return new Response(body, {
    headers: {
      ...answerHeaders(env.requestId),
      "content-type": "application/json",
      "grpc-metadata-content-type": "application/grpc",
      "grpc-metadata-argo-version": deps.service.settings.build.version,
    },
  });
}

function refuse(
  error: unknown,
  deps: AppDeps,
  c: RouteContext,
  framing: "ndjson" | "sse" | undefined,
): Response {
  logDefect(error, deps, c);
  const problem = asProblem(error);
  return framing === undefined ? problemResponse(problem) : refusedStream(problem, framing);
}

function logDefect(error: unknown, deps: AppDeps, c: RouteContext): void {
  const problem = asProblem(error);
  if (problem === error) return;
  const { method, path } = c.req;
  deps.service.log.error(
    { err: error, requestId: c.env.requestId, method, path },
    "request failed",
  );
}

function mountProbes(app: RouteApp, deps: AppDeps): void {
  app.get("/healthz", (c) => c.json({ status: "ok" }));
  app.get("/readyz", async (c) => {
    try {
      if (deps.closing.aborted) throw unavailable("the server stops");
      await deps.ready();
      return c.json({ status: "ok" });
    } catch (error) {
      return c.json({ status: "not ready", reason: asProblem(error).message }, 503);
    }
  });
  app.get("/metrics", async (c) => {
    try {
      await deps.gatekeeper(c.req.raw.headers);
    } catch {
      return new Response(null, { status: 403 });
    }
    return c.text(deps.metrics.render(), 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    });
  });
}

type Measure = (env: RequestEnv, run: () => Promise<Response>) => Promise<Response>;

/** Measures the requests of a route. */
function requestMetrics({ metrics, service }: AppDeps, { operation }: Route): Measure {
  const total = metrics.counter("sluice_http_requests_total", "Requests by operation and status");
  const seconds = metrics.histogram(
    "sluice_http_request_seconds",
    "Time to the answer of a request, for streams to the first byte",
  );
  const labels = { operation };
  const byStatus = new Map<number, Labels>();
  return async function measured({ requestId }, run) {
    const start = service.clock.monotonic();
    const response = await run();
    const { status } = response;
    let counted = byStatus.get(status);
    if (counted === undefined) {
      byStatus.set(status, counted = { operation, status: String(status) });
    }
    total.inc(counted);
    const ms = service.clock.monotonic() - start;
    seconds.observe(ms / 1000, labels);
    if (service.log.isLevelEnabled("debug")) {
      service.log.debug({ requestId, operation, status, ms: Math.round(ms) }, "request");
    }
    return response;
  };
}
