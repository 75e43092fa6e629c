/**
 * Speaks to a server over its REST API. No knowledge of commands or printing: what the server answers comes back as
 * data, what it refuses is a `ClientError` with the server's own text.
 */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";

export interface ClientOptions {
  /** `http://host:port`, optionally with a path; no slash at the end. */
  server: string;
  /** Sent as `Authorization`; a single word gets `Bearer ` in front. */
  token?: string;
  /** Sent with every request, for example from `-H`. */
  headers?: Record<string, string>;
}

/** The server refused, or could not be reached. */
export class ClientError extends Error {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.name = "ClientError";
    this.status = status;
  }
}

export interface RequestOptions {
  query?: Record<string, string | number | boolean | string[] | undefined>;
  body?: Json;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export interface Client {
  readonly server: string;
  /** One JSON answer. Rejects with `ClientError`. */
  request(method: string, path: string, options?: RequestOptions): Promise<JsonObject>;
  /** The messages of a streaming route, until it ends. */
  stream(path: string, options?: RequestOptions): AsyncIterable<JsonObject>;
  /** A body as it is, for downloads. */
  download(path: string): Promise<Uint8Array>;
}

/** Encodes one path segment; `@latest` stays readable. */
export function segment(text: string): string {
  return encodeURIComponent(text).replaceAll("%40", "@");
}

function queryText(query: RequestOptions["query"]): string {
  const pairs = Object.entries(query ?? {}).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [value].flat().map((one) => `${encodeURIComponent(key)}=${encodeURIComponent(one)}`)
  );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

/** Makes a client. Nothing is sent before the first request. */
export function createClient(options: ClientOptions): Client {
  async function send(method: string, path: string, request: RequestOptions): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    if (options.token !== undefined && options.token !== "") {
      headers["Authorization"] = options.token.includes(" ")
        ? options.token
        : `Bearer ${options.token}`;
    }
    if (request.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.idempotencyKey;
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(`${options.server}${path}${queryText(request.query)}`, {
        method,
        headers,
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: request.signal ?? null,
      });
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw new ClientError(
        `Cannot reach ${options.server}: ${
          reason(error)
        }. Is the server running? (--server or SLUICE_SERVER names another)`,
        0,
      );
    }
    if (!response.ok) {
      const text = await response.text();
      throw new ClientError(
        messageOf(text) ?? `${response.status} ${response.statusText}: ${text.slice(0, 500)}`,
        response.status,
      );
    }
    return response;
  }

  return {
    server: options.server,
    async request(method, path, request = {}) {
      const response = await send(method, path, request);
      const text = await response.text();
      const value: unknown = text === "" ? {} : JSON.parse(text);
      return isJsonObject(value) ? value : {};
    },
    async *stream(path, request = {}) {
      const response = await send("GET", path, request);
      if (response.body === null) return;
      let rest = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.trim() !== "") yield frame(line);
      }
      if (rest.trim() !== "") yield frame(rest);
    },
    async download(path) {
      return new Uint8Array(await (await send("GET", path, {})).arrayBuffer());
    },
  };
}

function frame(line: string): JsonObject {
  const message: unknown = JSON.parse(line);
  if (!isJsonObject(message)) return {};
  if (isJsonObject(message["error"])) {
    const { message: text, http_code: status } = message["error"];
    throw new ClientError(String(text), typeof status === "number" ? status : 500);
  }
  return isJsonObject(message["result"]) ? message["result"] : {};
}

function messageOf(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) return undefined;
    if (isJsonObject(body["error"])) return String(body["error"]["message"]);
    return typeof body["message"] === "string" ? body["message"] : undefined;
  } catch {
    return undefined;
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.cause instanceof Error && error.cause.message !== ""
    ? error.cause.message
    : error.message;
  // Deno puts the whole URL in front of what went wrong.
  return text.includes("error sending request") ? text.split(": ").at(-1) ?? text : text;
}
