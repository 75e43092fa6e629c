/**
 * The HTTP application: declared routes on Hono. A request is looked at in an order in which nobody gets more than they may
 * have: path, route and query, then who calls, as far as the headers tell, and how often; only then its body, and the use
 * case.
 */
import { type Context, Hono } from "hono";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import type { Caller } from "../auth/port.ts";
import type { Json } from "../base/json.ts";
import { escapeMarkup, writeJson } from "../base/json_text.ts";
import { invalid, notFound, unavailable } from "../base/problem.ts";
import { workingOn } from "../base/work.ts";
import { nextTurn } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import type { Labels, Metrics } from "../platform/metrics.ts";
import type { ServiceDeps } from "../service/deps.ts";
import { StaleManifests } from "../service/event_intake.ts";
import { answerStream, isLargeAnswer } from "./answer_text.ts";
import { downloadResponse } from "./download.ts";
import { answerHeaders, createEdge, type RequestEnv } from "./edge.ts";
import { mountArgoUi, servedPath, servedTarget } from "./argo_ui.ts";
import { mountDescription } from "./description.ts";
import { decodeBody, RequestBody } from "./body.ts";
import { BodyLedger, type BodySender } from "./body_ledger.ts";
import { asProblem, noSuchRoute, problemResponse } from "./problems.ts";
import { readUpload } from "./multipart.ts";
import type { OriginRule } from "./origin.ts";
import { parseProjection } from "./projection.ts";
import { readQuery } from "./query.ts";
import { addressOf, type RateLimiter } from "./rate_limit.ts";
import { rawTarget } from "./request_path.ts";
import type { Call, Route } from "./route.ts";
import { type Framing, framingOf, refusedStream, streamResponse } from "./stream.ts";

export interface AppDeps {
  service: ServiceDeps;
  gatekeeper: Gatekeeper;
  metrics: Metrics;
  /** Largest request body, bytes; events have a limit of their own. */
  maxBodyBytes: number;
  /** Most bytes of all bodies that are held at a time. */
  maxBodiesBytes: number;
  /** Most members of a body, see `readFirstJson`. */
  maxBodyMembers: number;
  /** Largest file that can be uploaded as an artifact, bytes. */
  maxUploadBytes: number;
  /** How long a body may take to arrive; of an upload, how long nothing of it may arrive. */
  bodyTimeoutMs: number;
  /** Which pages of a browser may call. */
  origin: OriginRule;
  /** Rejects with the reason when the server can't do its work now. */
  ready: () => Promise<void>;
  /** Why the store refuses writes now; undefined while it takes them. */
  writesRefused?: () => string | undefined;
  /** Aborts when the server is about to end: open streams are closed properly. */
  closing: AbortSignal;
  /** Absent: no bound on requests. */
  rateLimiter?: RateLimiter;
  /** Folder with built pages of the reference. Absent: there are none. */
  argoUiDir?: string;
}

type RouteApp = Hono<{ Bindings: RequestEnv }>;
type RouteContext = Context<{ Bindings: RequestEnv }>;

/** How many of the members of a body an event may have: every binding that looks at it gets a copy. */
const EVENT_SHARE = 1 / 4;
/** Length of a text that is escaped in one go, UTF-16 units. */
const LENGTH_AT_ONCE = 2 ** 18;

export interface App {
  fetch(request: Request, server: unknown): Promise<Response>;
  /** Everything that is answered by more than "there is no such thing", in the words of the router. */
  mounted: readonly { method: string; path: string }[];
}

/** Makes the application with these routes. */
export function createApp(deps: AppDeps, routes: readonly Route[]): App {
  const hasPages = deps.argoUiDir !== undefined;
  const app: RouteApp = new Hono(hasPages ? { getPath: servedPath } : {});
  const waits = new Deadlines(deps.service.clock, deps.bodyTimeoutMs);
  const ledger = createLedger(deps);
  mountProbes(app, deps);
  mountDescription(app, routes, deps.service.settings.build.version);
  if (deps.argoUiDir !== undefined) mountArgoUi(app, deps.argoUiDir);
  for (const route of routes) {
    const measure = requestMetrics(deps, route);
    const served = { route, paramsOf: paramsReader(route.path), deps, waits, ledger };
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
    targetOf: hasPages ? servedTarget : rawTarget,
    fetch: (request, env) => app.fetch(request, env),
  });
  return { fetch: edge, mounted: app.routes.map(({ method, path }) => ({ method, path })) };
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
  ledger: BodyLedger;
}

/** Answers a request. It is looked at again, once, when what was known had changed. */
async function answer(served: ServedRoute, c: RouteContext): Promise<Response> {
  const { deps, ledger, route, waits } = served;
  if (route.body === undefined) return await attempt(served, c, undefined, false);
  const limits = { maxBytes: bodyLimit(route, deps), timeoutMs: deps.bodyTimeoutMs, waits };
  const sender: BodySender = deps.service.settings.authRequired
    ? { type: "unproved", address: addressOf(c.env.server) }
    : { type: "anyone" };
  const body = new RequestBody(c.req.raw, limits, ledger, sender);
  try {
    return await attempt(served, c, body, false);
  } catch (error) {
    if (error instanceof StaleManifests) return await attempt(served, c, body, true);
    throw error;
  } finally {
    body.release();
  }
}

/** @throws {StaleManifests} when it should be looked at again, unless that is done */
async function attempt(
  { route, paramsOf, deps, waits }: ServedRoute,
  c: RouteContext,
  body: RequestBody | undefined,
  isAgain: boolean,
): Promise<Response> {
  const request = c.req.raw;
  const { headers } = request;
  const { path, query } = c.env.target;
  const { service, bodyTimeoutMs: timeoutMs } = deps;
  workingOn("request", c.env.requestId);
  const abort = route.kind === "stream" ? new AbortController() : undefined;
  const signal = abort === undefined ? deps.closing : AbortSignal.any([abort.signal, deps.closing]);
  // What is wrong with path, query and body is told without the frame of a stream, as the reference does.
  let framing: Framing | undefined;
  try {
    const params = paramsOf(path);
    const values = readQuery(query, route.query);
    const verdict = body && await route.guard?.({ service, params, headers, body, isAgain });
    framing = route.kind === "stream" ? framingOf(headers) : undefined;
    const caller = verdict !== undefined && "caller" in verdict
      ? verdict.caller
      : await deps.gatekeeper(headers);
    if (!isAgain) c.env.counted?.identify(caller);
    const tooFast = c.env.counted?.refusal;
    if (tooFast !== undefined) return tooFast;
    framing = undefined;
    const call: Call = {
      service,
      operation: route.operation,
      caller,
      params,
      query: values,
      body: body && await readBody(body, route, caller, deps, c.env.requestId),
      headers,
      server: c.env.server,
      manifests: verdict !== undefined && "manifests" in verdict ? verdict.manifests : undefined,
      signal,
    };
    framing = route.kind === "stream" ? framingOf(headers) : undefined;
    if (route.kind === "unary") {
      const found = await route.run(call);
      workingOn("request", c.env.requestId);
      const text = isLargeAnswer(found) ? answerStream(found) : await answerText(found);
      return unaryResponse(text, deps, c.env);
    }
    if (route.kind === "download") return downloadResponse(await route.open(call), request.method);
    if (route.kind === "upload") {
      const store = await route.open(call);
      const file = await readUpload(request, { maxBytes: deps.maxUploadBytes, timeoutMs, waits });
      return unaryResponse(writeJson(await store(file)), deps, c.env);
    }
    const source = await route.open(call);
    const fields = (call.query as { fields?: string }).fields;
    return streamResponse(source, {
      framing: framing ?? "ndjson",
      projection: parseProjection(fields),
      clock: service.clock,
      onEnd: () => abort?.abort(),
      onError: (error) => logDefect(error, deps, c),
    });
  } catch (error) {
    if (error instanceof StaleManifests && !isAgain) throw error;
    abort?.abort();
    return refuse(error, deps, c, framing);
  }
}

/** Reads and decodes the body of a request whose sender is known. */
async function readBody(
  body: RequestBody,
  route: Route,
  { isAnyone, identity }: Caller,
  deps: AppDeps,
  requestId: string,
): Promise<Json | undefined> {
  if (route.body === undefined) return undefined;
  const key = `${identity.issuer ?? ""} ${identity.subject ?? ""}`;
  body.sentBy(isAnyone === true ? { type: "anyone" } : { type: "identity", key });
  const text = await body.text();
  workingOn("request", requestId);
  const members = route.body === "json" ? EVENT_SHARE * deps.maxBodyMembers : deps.maxBodyMembers;
  return await decodeBody(text, route.body, members);
}

function createLedger({ maxBodiesBytes, maxBodyBytes, service }: AppDeps): BodyLedger {
  const { maxEventBytes } = service.settings;
  return new BodyLedger({ maxBytes: maxBodiesBytes, maxBodyBytes, maxEventBytes });
}

function bodyLimit(route: Route, deps: AppDeps): number {
  return route.body === "json" ? deps.service.settings.maxEventBytes : deps.maxBodyBytes;
}

/**
 * Reads the parameters of a route's paths.
 * @throws {Problem} when a segment is what the reference's router doesn't match: an escaped slash, a colon at the end; or
 * where a namespace stands and it can't be one
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
      const value = values.join("/");
      if (name === "namespace") checkNamespace(value);
      params[name] = value;
    }
    return params;
  };
}

/** What a namespace is called in Kubernetes: a label of a domain name. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Here for all routes, so that no other name gets into keys, logs or rules. @param name "" where the path has none */
function checkNamespace(name: string): void {
  if (name === "" || NAMESPACE.test(name)) return;
  throw invalid(
    `${
      JSON.stringify(name)
    } in the path can't be a namespace: that has 1 to 63 lower-case letters, digits and hyphens, ` +
      "and begins and ends with a letter or digit",
  );
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The text of an answer; a long one is escaped in pieces, so that others get their turn. */
async function answerText(answer: object): Promise<string> {
  const text = JSON.stringify(answer);
  if (text.length <= LENGTH_AT_ONCE) return escapeMarkup(text);
  let escaped = "";
  for (let at = 0; at < text.length; at += LENGTH_AT_ONCE) {
    if (at > 0) await nextTurn();
    escaped += escapeMarkup(text.slice(at, at + LENGTH_AT_ONCE));
  }
  return escaped;
}

function unaryResponse(
  body: string | ReadableStream<Uint8Array>,
  deps: AppDeps,
  env: RequestEnv,
): Response {
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
  framing: Framing | undefined,
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
      // Reads go on, so requests still belong here: every replica has the same store.
      const refused = deps.writesRefused?.();
      return c.json({
        status: "ok",
        ...(refused !== undefined && { writes: `refused: ${refused}` }),
      });
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
