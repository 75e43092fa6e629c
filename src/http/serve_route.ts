/**
 * A request on its way through a route. The order makes sure that nobody gets more than they may have: path and query first,
 * then the caller (from the headers) and the rate limit, and only then the body and the use case.
 */
import type { Context, Hono } from "hono";
import { credentialsOf } from "../auth/credentials.ts";
import type { Caller } from "../auth/port.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { escapeMarkup, writeJson } from "../base/json_text.ts";
import { workingOn } from "../base/work.ts";
import { nextTurn } from "../platform/clock.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import { StaleManifests } from "../service/events/intake.ts";
import { Hold } from "../service/workflows/large_reads.ts";
import { answerStream, isLargeAnswer } from "./answer_text.ts";
import { decodeBody, RequestBody } from "./body.ts";
import type { BodyLedger, BodySender } from "./body_ledger.ts";
import type { AppDeps } from "./deps.ts";
import { downloadResponse } from "./download.ts";
import { answerHeaders, type RequestEnv } from "./every_request.ts";
import { readUpload } from "./multipart.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "./preference.ts";
import { asProblem, problemResponse } from "./problems.ts";
import { parseProjection } from "./projection.ts";
import { readQuery } from "./query.ts";
import { addressOf } from "./rate_limit.ts";
import { shownPath } from "./request_path.ts";
import type { Call, Route } from "./route.ts";
import { type Framing, framingOf, refusedStream, streamResponse } from "./stream.ts";

export type RouteApp = Hono<{ Bindings: RequestEnv }>;
export type RouteContext = Context<{ Bindings: RequestEnv }>;

/** Share of the members of a body that an event may have: every binding that reads an event gets a copy. */
const EVENT_SHARE = 1 / 4;
/** Length of a text that is escaped in one go, UTF-16 units. */
const LENGTH_AT_ONCE = 2 ** 18;

/** A route as it is served. */
export interface ServedRoute {
  route: Route;
  paramsOf: (path: string) => Record<string, string>;
  deps: AppDeps;
  waits: Deadlines;
  /** Of readers of large answers. */
  reads: Deadlines;
  ledger: BodyLedger;
}

/** Answers a request. If the manifests have changed since its sender was judged by them, it is judged again, once. */
export async function serveRoute(served: ServedRoute, c: RouteContext): Promise<Response> {
  const { large } = served.deps.service.workflows;
  const hold = c.env.hold = new Hold(large);
  try {
    return await large.within(hold, () => serveWithBody(served, c));
  } finally {
    if (!hold.isKept) hold.release();
  }
}

async function serveWithBody(served: ServedRoute, c: RouteContext): Promise<Response> {
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

/** @throws {StaleManifests} when the request is to be judged again; not when this is the second time */
async function attempt(
  served: ServedRoute,
  c: RouteContext,
  body: RequestBody | undefined,
  isAgain: boolean,
): Promise<Response> {
  const { route, paramsOf, deps } = served;
  const { headers } = c.req.raw;
  const { path, query } = c.env.target;
  const { service } = deps;
  workingOn("request", c.env.requestId);
  const abort = route.kind === "stream" ? new AbortController() : undefined;
  const signal = abort === undefined ? deps.closing : AbortSignal.any([abort.signal, deps.closing]);
  // Faults of path, query or body are not put into the frame of a stream, as in the reference.
  let framing: Framing | undefined;
  try {
    const params = paramsOf(path);
    const values = readQuery(query, route.query);
    const credentials = credentialsOf(headers);
    const guarded = { service, params, headers, credentials, isAgain };
    const verdict = body && await route.guard?.({ ...guarded, body });
    framing = route.kind === "stream" ? framingOf(headers) : undefined;
    const caller = verdict !== undefined && "caller" in verdict
      ? verdict.caller
      : await deps.gatekeeper(credentials);
    if (!isAgain) c.env.counted?.identify(caller);
    const tooFast = c.env.counted?.refusal;
    if (tooFast !== undefined) return tooFast;
    framing = undefined;
    const warnings: string[] = [];
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
      isMinimal: route.hasMinimal === true && prefersMinimal(headers),
      warn: (text) => void warnings.push(text),
    };
    framing = route.kind === "stream" ? framingOf(headers) : undefined;
    const response = await respond(served, c, call, framing ?? "ndjson", () => abort?.abort());
    // 299: whoever shows the answer shows this too, as with Kubernetes.
    for (const text of warnings) response.headers.append("warning", `299 - "${text}"`);
    return response;
  } catch (error) {
    if (error instanceof StaleManifests && !isAgain) throw error;
    abort?.abort();
    return refuse(error, deps, c, framing);
  }
}

/** Calls the use case and writes its answer. */
async function respond(
  { route, deps, waits, reads }: ServedRoute,
  c: RouteContext,
  call: Call,
  framing: Framing,
  onEnd: () => void,
): Promise<Response> {
  const request = c.req.raw;
  switch (route.kind) {
    case "unary": {
      const response = await answerResponse(await route.run(call), deps, c.env, reads);
      if (call.isMinimal) response.headers.set(...MINIMAL_APPLIED);
      return response;
    }
    case "download":
      return downloadResponse(await route.open(call), request.method);
    case "upload": {
      const store = await route.open(call);
      const { maxUploadBytes: maxBytes, bodyTimeoutMs: timeoutMs } = deps;
      const file = await readUpload(request, { maxBytes, timeoutMs, waits });
      return jsonResponse(writeJson(await store(file)), deps, c.env);
    }
    case "stream":
      return streamResponse(await route.open(call), {
        framing,
        projection: parseProjection((call.query as { fields?: string }).fields),
        clock: deps.service.clock,
        onEnd,
        onError: (error) => logDefect(error, deps, c),
      });
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
  const members = route.holdsEvent === true
    ? EVENT_SHARE * deps.maxBodyMembers
    : deps.maxBodyMembers;
  return await decodeBody(text, route.body, members);
}

function bodyLimit(route: Route, deps: AppDeps): number {
  const most = route.holdsEvent === true ? deps.service.settings.maxEventBytes : deps.maxBodyBytes;
  return Math.min(most, route.maxBodyBytes ?? Infinity);
}

function answerResponse(
  answer: JsonObject | string,
  deps: AppDeps,
  env: RequestEnv,
  reads: Deadlines,
): Response | Promise<Response> {
  workingOn("request", env.requestId);
  if (typeof answer !== "string" && isLargeAnswer(answer)) {
    const { hold } = env;
    if (hold !== undefined) hold.isKept = true;
    return jsonResponse(answerStream(answer, reads, () => hold?.release()), deps, env);
  }
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  if (text.length <= LENGTH_AT_ONCE) return jsonResponse(escapeMarkup(text), deps, env);
  return escapedInTurns(text).then((escaped) => jsonResponse(escaped, deps, env));
}

/** A long text, escaped in pieces, so that others get their turn. */
async function escapedInTurns(text: string): Promise<string> {
  let escaped = "";
  for (let at = 0; at < text.length; at += LENGTH_AT_ONCE) {
    if (at > 0) await nextTurn();
    escaped += escapeMarkup(text.slice(at, at + LENGTH_AT_ONCE));
  }
  return escaped;
}

// Several headers given at once take Deno several times as long as the type alone and then the others.
const JSON_TYPE = { headers: { "content-type": "application/json" } };

function jsonResponse(
  body: string | ReadableStream<Uint8Array>,
  deps: AppDeps,
  env: RequestEnv,
): Response {
  env.isComplete = true;
  const response = new Response(body, JSON_TYPE);
  const { headers } = response;
  const own = answerHeaders(env.requestId);
  for (const name in own) headers.set(name, own[name] ?? "");
  headers.set("grpc-metadata-content-type", "application/grpc");
  headers.set("grpc-metadata-argo-version", deps.service.settings.build.version);
  return response;
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

/** Logs an error that is a defect of ours, not a refusal. */
export function logDefect(error: unknown, deps: AppDeps, c: RouteContext): void {
  const problem = asProblem(error);
  if (problem === error) return;
  const { method } = c.req;
  const path = shownPath(c.req.path);
  const traceparent = deps.service.traces && c.req.raw.headers.get("traceparent");
  deps.service.log.error(
    { err: error, requestId: c.env.requestId, method, path, ...(traceparent && { traceparent }) },
    "request failed",
  );
}
