/** A typed client of the whole API: operations by their names in `/openapi.json`. */
import type { Json } from "../base/json.ts";
import type { MinimalAnswer } from "./answer.ts";
import { OPERATIONS, type Operations } from "./operations.ts";
import { type ClientOptions, frames, pieces, readAnswer, send } from "./transport.ts";

type OfKind<K extends "unary" | "stream" | "download" | "upload"> = {
  [O in keyof Operations]: Operations[O]["kind"] extends K ? O : never;
}[keyof Operations];

/** Operations with one JSON answer. */
export type UnaryOperation = OfKind<"unary">;
/** Operations that follow `Prefer: return=minimal`. */
export type MinimalOperation = {
  [O in keyof Operations]: Operations[O] extends { hasMinimal: true } ? O : never;
}[keyof Operations];
/** Operations that answer with frames. */
export type StreamOperation = OfKind<"stream">;
/** Operations that answer with a file. */
export type DownloadOperation = OfKind<"download">;

/** Operations that take a file. */
export type UploadOperation = OfKind<"upload">;

/** The input of an operation. Parameters that it needs are required members. */
export type Input<O extends keyof Operations> =
  & Given<"params", Operations[O]["params"]>
  & Given<"query", Operations[O]["query"]>
  & (Operations[O]["body"] extends undefined ? unknown : { body?: Operations[O]["body"] })
  & {
    /** Requests with the same key and content have one effect. */
    idempotencyKey?: string | undefined;
    signal?: AbortSignal | undefined;
  };

type Given<K extends string, T> = Record<never, never> extends T ? { [P in K]?: T }
  : { [P in K]: T };

/** Calls one server. */
export interface Client {
  readonly server: string;
  /** Calls an operation and returns its answer. @throws {ClientError} */
  call<O extends UnaryOperation>(operation: O, input: Input<O>): Promise<Operations[O]["answer"]>;
  /** Calls an operation of whose answer only name and phase matter. @throws {ClientError} */
  callMinimal<O extends MinimalOperation>(operation: O, input: Input<O>): Promise<MinimalAnswer>;
  /** The frames of a stream, until it ends. @throws {ClientError} also between two frames */
  stream<O extends StreamOperation>(
    operation: O,
    input: Input<O>,
  ): AsyncIterable<Operations[O]["answer"]>;
  /** The bytes of a file, piece by piece. @throws {ClientError} also between two pieces */
  download<O extends DownloadOperation>(operation: O, input: Input<O>): AsyncIterable<Uint8Array>;
  /** Uploads a file. @throws {ClientError} */
  upload<O extends UploadOperation>(
    operation: O,
    input: Input<O>,
    file: { name: string; content: Blob },
  ): Promise<Operations[O]["answer"]>;
}

/** Creates a client. Nothing is sent before the first call. */
export function createClient(options: ClientOptions): Client {
  const request = (operation: keyof Operations, input: AnyInput) => {
    const { method, path } = OPERATIONS[operation];
    return send(options, {
      method,
      target: filledPath(path, input.params ?? {}) + queryText(input.query ?? {}),
      body: input.body,
      form: input.form,
      idempotencyKey: input.idempotencyKey,
      prefer: input.prefer,
      signal: input.signal,
    });
  };
  return {
    server: options.server,
    async call(operation, input) {
      return await readAnswer(options, await request(operation, input as AnyInput)) as never;
    },
    async callMinimal(operation, input) {
      const response = await request(operation, { ...input as AnyInput, prefer: "return=minimal" });
      return await readAnswer(options, response) as MinimalAnswer;
    },
    async *stream(operation, input) {
      const response = await request(operation, input as AnyInput);
      for await (const frame of frames(options, response)) yield frame as never;
    },
    async *download(operation, input) {
      yield* pieces(options, await request(operation, input as AnyInput));
    },
    async upload(operation, input, { name, content }) {
      const form = new FormData();
      form.append("file", content, name);
      const response = await request(operation, { ...input as AnyInput, form });
      return await readAnswer(options, response) as never;
    },
  };
}

interface AnyInput {
  params?: Record<string, string>;
  query?: Query;
  body?: Json;
  form?: FormData;
  idempotencyKey?: string | undefined;
  prefer?: string;
  signal?: AbortSignal | undefined;
}

type Query = Record<string, string | number | boolean | string[] | undefined>;

/** The `@` of `@latest` is not escaped. */
function filledPath(path: string, params: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? "";
    // URLs drop such a segment, also an escaped one: the request would go to another path.
    if (/^\.\.?$/.test(value)) throw new TypeError(`The ${name} ${value} is not possible`);
    return encodeURIComponent(value).replaceAll("%40", "@");
  });
}

function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [value].flat().map((one) => `${encodeURIComponent(key)}=${encodeURIComponent(one)}`)
  );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}
