/**
 * A request on its way through a route. The order makes sure that nobody gets more than they may have: path and query first,
 * then the caller (from the headers) and the rate limit, and only then the body and the use case.
 */
import type { Hono } from "hono";
import { credentialsOf } from "../auth/credentials.ts";
import type { Caller } from "../auth/port.ts";
import { type Standing, standingOf } from "../auth/standing.ts";
import { escapeMarkup, writeJson } from "../base/json_text.ts";
import { invalid, isProblem, type Problem, ProblemCode } from "../base/problem.ts";
import { workingOn } from "../base/work.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import { Turns } from "../platform/turns.ts";
import { StaleManifests } from "../service/events/intake.ts";
import type { Hold } from "../service/workflows/hold.ts";
import { SMALL_READ } from "../service/workflows/large_reads.ts";
import { answerPieces, answerStream, isLargeAnswer, textPieces } from "./answer_text.ts";
import { type BodyLimits, decodeBody, formHint, packedRefusal, RequestBody } from "./body.ts";
import type { BodyLedger, BodySender } from "./body_ledger.ts";
import type { AppDeps } from "./deps.ts";
import { downloadResponse } from "./download.ts";
import { completeAnswer, type RequestEnv, setAnswerHeaders } from "./every_request.ts";
import { readUpload } from "./multipart.ts";
import { MINIMAL_APPLIED, prefersMinimal } from "./preference.ts";
import { asProblem, problemResponse } from "./problems.ts";
import { parseProjection } from "./projection.ts";
import { readablePart, readQuery, refuseMembers } from "./query.ts";
import { addressOf } from "./rate_limit.ts";
import type { Measure } from "./request_metrics.ts";
import { shownPath } from "./request_path.ts";
import { type Answer, type Call, isUnwritten, type Route, type UnaryRoute } from "./route.ts";
import { type Framing, framingOf, refusedStream, streamResponse } from "./stream.ts";

export type RouteApp = Hono<{ Bindings: RequestEnv }>;

/** A route as it is served. */
export interface ServedRoute {
  route: Route;
  paramsOf: (path: string) => Record<string, string>;
  measure: Measure;
  deps: AppDeps;
  /** Of readers of large answers. */
  reads: Deadlines;
  ledger: BodyLedger;
  /** Of bodies. */
  limits: BodyLimits;
  /** Most members of a body. */
  maxMembers: number;
}

/** Answers a request. If the manifests have changed since its sender was judged by them, it is judged again, once. */
export async function serveRoute(
  served: ServedRoute,
  request: Request,
  env: RequestEnv,
): Promise<Response> {
  const { route, deps, limits, ledger } = served;
  const start = deps.service.clock.monotonic();
  const body = route.body && new RequestBody(request, limits, ledger, senderBefore(deps, env));
  try {
    let response: Response;
    try {
      response = await attempt(served, request, env, body, false);
    } catch (error) {
      if (!(error instanceof StaleManifests)) throw error;
      response = await attempt(served, request, env, body, true);
    }
    if (route.answerForm !== undefined) {
      response = await route.answerForm(request.headers, response);
    }
    served.measure(env, request, response.status, start);
    return completeAnswer(response, env, deps.origin);
  } finally {
    body?.release();
    if (env.hold?.isKept === false) env.hold.release();
  }
}

/** What of a query a route looks at. */
function queryFor({ hasOpenQuery, query, body }: Route, given: string): string {
  if (given !== "" && typeof body === "object" && body.isClosed === true) {
    refuseMembers(given, body);
  }
  return hasOpenQuery === true ? readablePart(given, query) : given;
}

/** @throws {StaleManifests} when the request is to be judged again; not when this is the second time */
async function attempt(
  served: ServedRoute,
  request: Request,
  env: RequestEnv,
  body: RequestBody | undefined,
  isAgain: boolean,
): Promise<Response> {
  const { route, deps, reads } = served;
  const { service } = deps;
  const { headers } = request;
  workingOn("request", env.requestId);
  const abort = route.kind === "stream" ? new AbortController() : undefined;
  // Faults of path, query or body are not put into the frame of a stream, as in the reference.
  let framing: Framing | undefined;
  try {
    const params = served.paramsOf(env.target.path);
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    const query = readQuery(queryFor(route, env.target.query), route.query, warn);
    const credentials = credentialsOf(headers);
    const judged = body && route.guard?.({ service, params, headers, credentials, isAgain, body });
    const verdict = judged instanceof Promise ? await judged : judged;
    framing = abort && framingOf(headers);
    const found = verdict?.caller ?? deps.gatekeeper(credentials);
    const caller = found instanceof Promise ? await found : found;
    if (!isAgain) env.counted?.identify(caller);
    const tooFast = env.counted?.refusal;
    if (tooFast !== undefined) return tooFast;
    framing = undefined;
    body?.sentBy(senderOf(caller));
    const text = body && await body.text();
    workingOn("request", env.requestId);
    const value = decodedBody(text, served, headers);
    const hold = env.hold ??= service.workflows.newHold(partyOf(caller, env), () => request.signal);
    const call: Call = {
      service: { ...service, workflows: service.workflows.heldBy(hold) },
      operation: route.operation,
      caller,
      params,
      query,
      body: value instanceof Promise ? await value : value,
      headers,
      server: env.server,
      manifests: verdict?.manifests,
      signal: abort === undefined ? deps.closing : AbortSignal.any([abort.signal, deps.closing]),
      isMinimal: route.hasMinimal === true && prefersMinimal(headers),
      warn,
    };
    framing = abort && framingOf(headers);
    const response = route.kind === "unary"
      ? await answerResponse(await route.run(call), { deps, env, reads, hold, call })
      : await respond(route, served, request, env, call, abort);
    return withNotes(response, call, warnings);
  } catch (error) {
    if (error instanceof StaleManifests && !isAgain) throw error;
    abort?.abort();
    logDefect(error, deps, request, env);
    return refuse(asProblem(error), framing);
  }
}

/** @throws {Problem} as `decodeBody`; it says so if the body was sent packed or as a form */
function decodedBody(
  text: string | undefined,
  { route, maxMembers }: ServedRoute,
  headers: Headers,
): ReturnType<typeof decodeBody> {
  const refuseMarked = (error: unknown): never => {
    const packed = packedRefusal(headers);
    if (packed !== undefined || !isProblem(error, ProblemCode.InvalidArgument)) {
      throw packed ?? error;
    }
    const hint = formHint(headers, text);
    throw hint === undefined ? error : invalid(`${error.message}; ${hint}`);
  };
  try {
    const value = decodeBody(text, route.body, maxMembers);
    return value instanceof Promise ? value.catch(refuseMarked) : value;
  } catch (error) {
    return refuseMarked(error);
  }
}

/** Adds what headers say about an answer. */
function withNotes(response: Response, { isMinimal }: Call, warnings: string[]): Response {
  if (isMinimal) response.headers.set(...MINIMAL_APPLIED);
  // 299: whoever shows the answer shows this too, as with Kubernetes.
  for (const text of warnings) response.headers.append("warning", `299 - "${text}"`);
  return response;
}

function refuse(problem: Problem, framing: Framing | undefined): Response {
  return framing === undefined ? problemResponse(problem) : refusedStream(problem, framing);
}

/** Calls the use case of a route whose answer is not one JSON object, and writes the answer. */
async function respond(
  route: Exclude<Route, UnaryRoute>,
  { deps, limits }: ServedRoute,
  request: Request,
  env: RequestEnv,
  call: Call,
  abort: AbortController | undefined,
): Promise<Response> {
  switch (route.kind) {
    case "download":
      return downloadResponse(await route.open(call), request.method);
    case "upload": {
      const store = await route.open(call);
      const file = await readUpload(request, { ...limits, maxBytes: deps.maxUploadBytes });
      return jsonResponse(writeJson(await store(file)), deps, env);
    }
    case "stream": {
      const standing = standingOf(call.caller);
      const source = await route.open(
        standing === undefined ? call : { ...call, caller: standing.caller },
      );
      const forget = standing && abort && watchStanding(standing, call, deps, abort);
      return streamResponse(source, {
        framing: framingOf(request.headers),
        projection: parseProjection((call.query as { fields?: string }).fields),
        clock: deps.service.clock,
        hold: keptHold(env),
        onEnd: () => {
          forget?.();
          abort?.abort();
        },
        onError: (error) => logDefect(error, deps, request, env),
      });
    }
  }
}

/** Ends a stream when its caller has lost what it was opened with. @returns no longer looks */
function watchStanding(
  standing: Standing,
  { headers }: Call,
  { gatekeeper, service: { clock } }: AppDeps,
  stream: AbortController,
): () => void {
  const again = () => gatekeeper(credentialsOf(headers));
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(STANDING_MS, async () => {
      if (!await standing.holds(again)) stream.abort();
      else if (!stream.signal.aborted) wait();
    }, true);
  };
  wait();
  return () => cancel();
}

/** The room of a stream, which keeps it until it ends. What was read to open it is over. */
function keptHold({ hold }: RequestEnv): Hold | undefined {
  if (hold === undefined) return undefined;
  hold.isKept = true;
  hold.give(hold.size);
  return hold;
}

/** How often a stream looks whether its caller still has the rights that it was opened with, ms. */
const STANDING_MS = 60_000;
const ANYONE: BodySender = { type: "anyone" };

/** To whom the bytes of a body count that is read before its sender is known. */
function senderBefore({ service }: AppDeps, { server }: RequestEnv): BodySender {
  return service.settings.authRequired ? { type: "unproved", address: addressOf(server) } : ANYONE;
}

function senderOf({ isAnyone, identity }: Caller): BodySender {
  if (isAnyone === true) return ANYONE;
  return { type: "identity", key: `${identity.issuer ?? ""} ${identity.subject ?? ""}` };
}

/** To whose share it counts what a request reads and answers: one who has not proved who he is has that of his address. */
function partyOf(caller: Caller, { server }: RequestEnv): string {
  const sender = senderOf(caller);
  return sender.type === "identity" ? `identity ${sender.key}` : `address ${addressOf(server)}`;
}

/** What is known when the answer of a request is written. */
interface Answering {
  deps: AppDeps;
  env: RequestEnv;
  reads: Deadlines;
  hold: Hold;
  call: Call;
}

function answerResponse(
  answer: Answer,
  answering: Answering,
): Response | Promise<Response> {
  const { deps, env, hold } = answering;
  workingOn("request", env.requestId);
  // What was read may be large although it has few members.
  const isHeld = hold.size > 0;
  if (typeof answer !== "string" && isUnwritten(answer)) {
    const { size, write } = answer;
    return roomyResponse(size, answering, async () => textPieces(await new Turns().do(write)));
  }
  if (typeof answer !== "string" && (isHeld || isLargeAnswer(answer))) {
    const pieces = answerPieces(answer);
    if (isHeld) return streamed(pieces, answering);
    return writtenInTurns(pieces).then((texts) =>
      roomyResponse(texts.reduce((sum, text) => sum + text.length, 0), answering, () => texts)
    );
  }
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  if (text.length <= SMALL_READ) return jsonResponse(escapeMarkup(text), deps, env);
  if (isHeld) return streamed(textPieces(text), answering);
  return roomyResponse(text.length, answering, () => textPieces(text));
}

/** The pieces of a large answer, written before it is known how much room it needs. */
async function writtenInTurns(pieces: Iterable<string>): Promise<string[]> {
  const turns = new Turns();
  const texts: string[] = [];
  for (const piece of pieces) {
    texts.push(piece);
    await turns.pause();
  }
  return texts;
}

/**
 * An answer that is sent when there is room for its text. If there is none, the brief form of the answer is sent: what was
 * asked for is done, and so the caller learns it.
 * @throws {Problem} DeadlineExceeded if it has no brief form
 */
async function roomyResponse(
  size: number,
  answering: Answering,
  pieces: () => Iterable<string> | Promise<Iterable<string>>,
): Promise<Response> {
  const { deps, env, hold, call } = answering;
  try {
    await hold.enter(size, call.brief !== undefined);
  } catch (error) {
    if (call.brief === undefined) throw error;
    call.isMinimal = true;
    call.warn("too many large answers are being sent: this one is as with Prefer: return=minimal");
    return jsonResponse(writeJson(call.brief), deps, env);
  }
  return streamed(await pieces(), answering);
}

/** An answer that keeps its room until it is sent. */
function streamed(pieces: Iterable<string>, { deps, env, reads, hold }: Answering): Response {
  hold.isKept = true;
  return jsonResponse(answerStream(pieces, reads, hold), deps, env);
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
  setAnswerHeaders(headers, env.requestId);
  headers.set("grpc-metadata-content-type", "application/grpc");
  headers.set("grpc-metadata-argo-version", deps.service.settings.build.version);
  return response;
}

/** Logs an error that is a defect of ours, not a refusal. */
export function logDefect(
  error: unknown,
  deps: AppDeps,
  { method, headers }: Request,
  { requestId, target }: RequestEnv,
): void {
  const problem = asProblem(error);
  if (problem === error) return;
  const path = shownPath(target.path);
  const traceparent = deps.service.traces && headers.get("traceparent");
  deps.service.log.error(
    { err: error, requestId, method, path, ...(traceparent && { traceparent }) },
    "request failed",
  );
}
