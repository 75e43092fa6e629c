/**
 * What a route is: method, path, parameters, body and use case, declared once. Routing, `/openapi.json`, `/apidocs` and
 * the typed client are all made from these declarations.
 */
import type { Readable } from "node:stream";
import type { ArtifactContent } from "../service/artifacts/artifacts.ts";
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import type { ServiceDeps } from "../service/deps.ts";
import type { StructSchema } from "../spec/schema/schema.ts";
import type { RequestBody } from "./body.ts";
import type { QuerySchema, QueryValues } from "./query.ts";
import type { Version } from "../store/version.ts";
import type { Messages } from "./stream.ts";

/** One request, decoded. */
export interface Call<Q extends QuerySchema = QuerySchema, B = unknown> {
  /** Name of the route's operation. */
  operation: string;
  /** What it reads of workflows is held until the request is answered. */
  service: ServiceDeps;
  caller: Caller;
  /** Path parameters by name; the last one may be "". */
  params: Record<string, string>;
  query: QueryValues<Q>;
  body: B;
  headers: Headers;
  /** What the HTTP server says about the request. */
  server: unknown;
  /** The finding of the guard holds for this version of the manifests; absent: it holds for every version. */
  manifests?: Version | undefined;
  /** Aborts when the server stops; for a stream, also when its client is gone. */
  signal: AbortSignal;
  /** The answer shows no more than `minimalWire` of wire.ts leaves, because the caller prefers that. */
  isMinimal: boolean;
  /** What a large answer may be cut down to if there is no room for it. */
  brief?: JsonObject;
  /** Says in a header `Warning` what the answer lacks: printable ASCII without quotation marks. */
  warn(text: string): void;
}

interface RouteBase {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** With parameters in braces: `/api/v1/workflows/{namespace}/{name}`. `{path}` at the end takes the rest of the path. */
  path: string;
  /** Unique name, for clients that are generated from the description. */
  operation: string;
  tag: string;
  summary: string;
  query: QuerySchema;
  /** The address may end in anything: what can't be read of the query is ignored. */
  hasOpenQuery?: true;
  /** Parameters that the route requires. */
  requiredQuery?: readonly string[];
  /** Absent: the route takes no body and ignores one. */
  body?: StructSchema | "json";
  /** Other forms of the body, which is still JSON: media type → JSON Schema. For the description. */
  otherBodies?: Readonly<Record<string, JsonObject>>;
  /** Largest body, bytes, if that is less than for other routes. */
  maxBodyBytes?: number;
  /** The body is an event or holds one: it has the bounds of events. */
  holdsEvent?: true;
  /** Examines a request before its credentials are checked. */
  guard?: (
    guarded: GuardedRequest,
  ) => GuardVerdict | undefined | Promise<GuardVerdict | undefined>;
  /** The form of a successful answer. Absent: an object that the description does not specify. */
  answer?: AnswerShape;
  /** Follows `Prefer: return=minimal`. */
  hasMinimal?: true;
  /** Turns any answer into what a browser shows, if the request is a form. */
  answerForm?: (headers: Headers, answer: Response) => Response | Promise<Response>;
}

/** What a guard sees. */
export interface GuardedRequest {
  service: ServiceDeps;
  params: Record<string, string>;
  headers: Headers;
  /** As `credentialsOf` lists them. */
  credentials: readonly string[];
  body: RequestBody;
  /** Its earlier finding no longer holds: the request was refused with `StaleManifests`. */
  isAgain: boolean;
}

/** What a guard finds unless it refuses: the caller, or a version of the manifests for which it has no objection. */
export type GuardVerdict =
  | { caller: Caller; manifests?: undefined }
  | { manifests: Version; caller?: undefined };

/**
 * What a route answers: an object, a list of objects or an empty object; for the `result` of each frame of a stream, a change
 * of an object or a line of a log.
 */
export type AnswerShape =
  | { type: "object"; schema: StructSchema }
  | { type: "list"; schema: StructSchema }
  | { type: "change"; schema: StructSchema }
  | { type: "logLine" }
  | { type: "empty" }
  | { type: "open" };

/** An answer whose text is known to be long: it is written when there is room for it. */
export interface UnwrittenAnswer {
  /** About how many characters it has. */
  size: number;
  /** Its JSON text with markup as it is. */
  write(): string;
}

/** A JSON answer: the object, its text with markup as it is, or what writes that. */
export type Answer = JsonObject | string | UnwrittenAnswer;

/** Tells an answer that is not written yet from an object. */
export function isUnwritten(answer: JsonObject | UnwrittenAnswer): answer is UnwrittenAnswer {
  return typeof answer["write"] === "function";
}

/** A route with one JSON answer. */
export interface UnaryRoute extends RouteBase {
  kind: "unary";
  run(call: Call): Promise<Answer>;
}

/** A route that answers with frames until the source or the client ends it. */
export interface StreamRoute extends RouteBase {
  kind: "stream";
  /** Resolves when nothing can be refused any more. Each value becomes the `result` of one frame. */
  open(call: Call): Promise<AsyncIterable<Messages>>;
}

/** The answer of a download: a file, a page of links, or a redirect to them. */
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

/** A route that takes a file from the field `file` of a form, and answers with JSON. */
export interface UploadRoute extends RouteBase {
  kind: "upload";
  /** Refuses, or resolves to what is done with the file. The file is not read before that. */
  open(call: Call): Promise<(file: UploadedFile) => Promise<JsonObject>>;
}

export interface UploadedFile {
  /** The sender's name of the file. */
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
  input: RouteInput<UnaryRoute, Q> & { run(call: Call<Q, B>): Promise<Answer> },
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
