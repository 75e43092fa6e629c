/**
 * What a route is: method, path, parameters, body and use case, declared once. Routing, `/openapi.json`, `/apidocs` and
 * the typed client all come from the same declarations.
 */
import type { Readable } from "node:stream";
import type { ArtifactContent } from "../service/artifacts.ts";
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import type { ServiceDeps } from "../service/deps.ts";
import type { StructSchema } from "../spec/schema.ts";
import type { RequestBody } from "./body.ts";
import type { QuerySchema, QueryValues } from "./query.ts";
import type { Version } from "../store/port.ts";
import type { Messages } from "./stream.ts";

/** One request, decoded. */
export interface Call<Q extends QuerySchema = QuerySchema, B = unknown> {
  /** Name of the route's operation. */
  operation: string;
  service: ServiceDeps;
  caller: Caller;
  /** Path parameters by name; the last one may be "". */
  params: Record<string, string>;
  query: QueryValues<Q>;
  body: B;
  headers: Headers;
  /** What the server under us says about the request. */
  server: unknown;
  /** Version of the manifests for which holds what the guard has found; absent: it holds in any case. */
  manifests?: Version | undefined;
  /** Aborts when the server ends; of a stream also when its client is gone. */
  signal: AbortSignal;
}

interface RouteBase {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** With parameters in braces: `/api/v1/workflows/{namespace}/{name}`; `{path}` at the end takes all that follows. */
  path: string;
  /** Unique name, for clients that are made from the description. */
  operation: string;
  tag: string;
  summary: string;
  query: QuerySchema;
  /** Parameters without which the route refuses. */
  requiredQuery?: readonly string[];
  /** Absent: the route takes no body, and one that is sent is ignored. */
  body?: StructSchema | "json";
  /** Looks at a request before its credentials are checked. */
  guard?: (guarded: GuardedRequest) => Promise<GuardVerdict | undefined>;
  /** What a success looks like; absent means an object that the description leaves open. */
  answer?: AnswerShape;
}

/** What a guard sees. */
export interface GuardedRequest {
  service: ServiceDeps;
  params: Record<string, string>;
  headers: Headers;
  body: RequestBody;
  /** What it found before did no longer hold: the request was refused by `StaleManifests`. */
  isAgain: boolean;
}

/** A guard refuses by a problem, or knows who sends a request, or has nothing to say as long as the manifests have a version. */
export type GuardVerdict = { caller: Caller } | { manifests: Version };

/**
 * What a route answers: one object, a list of them, or an empty object; of a stream each frame's `result`, a change of an
 * object or a line of a log.
 */
export type AnswerShape =
  | { type: "object"; schema: StructSchema }
  | { type: "list"; schema: StructSchema }
  | { type: "change"; schema: StructSchema }
  | { type: "logLine" }
  | { type: "empty" }
  | { type: "open" };

/** A route with one JSON answer. */
export interface UnaryRoute extends RouteBase {
  kind: "unary";
  run(call: Call): Promise<JsonObject>;
}

/** A route that answers with frames until the source or the client ends it. */
export interface StreamRoute extends RouteBase {
  kind: "stream";
  /** Resolves when nothing can be refused any more; each value becomes the `result` of one frame. */
  open(call: Call): Promise<AsyncIterable<Messages>>;
}

/** What a download gives: bytes, a page of links, or the place where they are. */
export type Download =
  | { type: "file"; content: ArtifactContent }
  | { type: "page"; html: string }
  /** Relative to the request's path. */
  | { type: "redirect"; to: string };

/** A route that answers with a file. */
export interface DownloadRoute extends RouteBase {
  kind: "download";
  open(call: Call): Promise<Download>;
}

/** A route that takes a file as a form sends it, in the field `file`, and answers with JSON. */
export interface UploadRoute extends RouteBase {
  kind: "upload";
  /** Refuses, or says what to do with the file, which is not read before. */
  open(call: Call): Promise<(file: UploadedFile) => Promise<JsonObject>>;
}

export interface UploadedFile {
  /** As the sender calls it. */
  fileName: string;
  body: Readable;
}

export type Route = UnaryRoute | StreamRoute | DownloadRoute | UploadRoute;

type RouteInput<R extends RouteBase, Q extends QuerySchema> =
  & Omit<R, "query" | "kind" | "run" | "open">
  & { query?: Q };

/** Declares a unary route; `B` is the body as the schema decodes it. */
export function unary<
  B = Record<string, never>,
  const Q extends QuerySchema = Record<never, never>,
>(
  input: RouteInput<UnaryRoute, Q> & { run(call: Call<Q, B>): Promise<JsonObject> },
): UnaryRoute {
  return { ...input, kind: "unary", query: input.query ?? {}, run: input.run as UnaryRoute["run"] };
}

/** Declares a streaming route. */
export function streaming<const Q extends QuerySchema = Record<never, never>>(
  input: RouteInput<StreamRoute, Q> & {
    open(call: Call<Q>): Promise<AsyncIterable<Messages>>;
  },
): StreamRoute {
  return {
    ...input,
    kind: "stream",
    query: input.query ?? {},
    open: input.open as StreamRoute["open"],
  };
}

/** Declares a download. */
export function download(
  input: Omit<DownloadRoute, "kind" | "query" | "method" | "body">,
): DownloadRoute {
  return { ...input, kind: "download", method: "GET", query: {} };
}

/** Declares an upload. */
export function upload(
  input: Omit<UploadRoute, "kind" | "query" | "method" | "body">,
): UploadRoute {
  return { ...input, kind: "upload", method: "POST", query: {} };
}

/** Reads a path parameter; "" when the segment is empty. */
export function param(call: { params: Record<string, string> }, name: string): string {
  return call.params[name] ?? "";
}
