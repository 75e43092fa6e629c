/**
 * Requests over HTTP, without knowledge of operations. Answers are returned as they are; a refusal becomes a `ClientError` with
 * the server's own text.
 */
import { defined } from "../base/defined.ts";
import { isJsonObject, type Json } from "../base/json.ts";
import { TextLines } from "../base/text_lines.ts";

export interface ClientOptions {
  /** `http://host:port`, optionally with a path; no slash at the end. */
  server: string;
  /** Sent as `Authorization`, with `Bearer ` in front of a single word. */
  token?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Hears what an answer lacks, as the server says in the header `Warning`. */
  onWarning?: (text: string) => void;
  /** Sends a request. For tests, and for runtimes with a network of their own. @default {fetch} */
  fetch?: (request: Request) => Promise<Response>;
}

/** The server has refused a request, or could not be reached. */
export class ClientError extends Error {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.name = "ClientError";
    this.status = status;
  }
}

/** One request. */
export interface Outgoing {
  method: string;
  /** Path and query. */
  target: string;
  body?: Json | undefined;
  /** Instead of `body`. */
  form?: FormData | undefined;
  /** Requests with the same key and content have one effect. */
  idempotencyKey?: string | undefined;
  /** What the caller prefers, as the header `Prefer` has it. */
  prefer?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends a request. @throws {ClientError} when it is refused, or there is no answer */
export async function send(options: ClientOptions, outgoing: Outgoing): Promise<Response> {
  const headers = new Headers(options.headers);
  const { token = "" } = options;
  if (token !== "") headers.set("authorization", token.includes(" ") ? token : `Bearer ${token}`);
  if (outgoing.idempotencyKey !== undefined) {
    headers.set("idempotency-key", outgoing.idempotencyKey);
  }
  if (outgoing.prefer !== undefined) headers.set("prefer", outgoing.prefer);
  if (outgoing.body !== undefined) headers.set("content-type", "application/json");
  const request = new Request(`${options.server}${outgoing.target}`, {
    method: outgoing.method,
    headers,
    ...(outgoing.body !== undefined && { body: JSON.stringify(outgoing.body) }),
    ...defined({ body: outgoing.form, signal: outgoing.signal }),
  });
  let response: Response;
  try {
    response = await (options.fetch ?? fetch)(request);
  } catch (error) {
    if (outgoing.signal?.aborted) throw error;
    throw new ClientError(`Cannot reach ${options.server}: ${reason(error)}`, 0);
  }
  if (!response.ok) {
    const text = await response.text();
    throw new ClientError(
      messageOf(text) ?? `${options.server} answers ${response.status} ${response.statusText}: ` +
          shownText(response, text),
      response.status,
    );
  }
  for (const [, text = ""] of response.headers.get("warning")?.matchAll(WARNING) ?? []) {
    options.onWarning?.(text);
  }
  return response;
}

/** The JSON of an answer; an empty one is an empty object. @throws {ClientError} when it breaks off, or is none of Sluice's */
export async function readAnswer({ server }: ClientOptions, response: Response): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new ClientError(`The answer of ${server} broke off: ${reason(error)}`, 0);
  }
  if (text === "") return {};
  const answer = parsedJson(text);
  if (typeof answer === "object" && answer !== null) return answer;
  // Such as the login page of a proxy, or another program at this port.
  throw new ClientError(
    `${server} does not answer as Sluice does: ${shownText(response, text)}`,
    response.status,
  );
}

/** The beginning of an answer that is no JSON, on one line. */
function shownText({ headers }: Response, text: string): string {
  const type = headers.get("content-type") ?? "of no type";
  return `${type}, ${JSON.stringify(text.slice(0, 100))}`;
}

/** `undefined` if the text is no JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A warning for people, in the form that Kubernetes has. */
const WARNING = /299 \S+ "([^"]*)"/g;

/** The `result` of each frame of a stream. @throws {ClientError} when the stream ends with an error */
export async function* frames(response: Response): AsyncIterable<unknown> {
  if (response.body === null) return;
  const lines = new TextLines();
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    for (const line of lines.add(chunk)) if (line.trim() !== "") yield frame(line);
  }
  const { rest } = lines;
  if (rest.trim() === "") return;
  // A proxy that ends a stream properly may do so in the middle of a frame.
  if (rest.startsWith("{") && parsedJson(rest) === undefined) {
    throw new ClientError("The stream broke off in the middle of a frame", 0);
  }
  yield frame(rest);
}

function frame(line: string): unknown {
  const message: unknown = JSON.parse(line);
  if (!isJsonObject(message)) return {};
  if (isJsonObject(message["error"])) {
    const { message: text, http_code: status } = message["error"];
    throw new ClientError(String(text), typeof status === "number" ? status : 500);
  }
  return message["result"] ?? {};
}

function messageOf(text: string): string | undefined {
  const body = parsedJson(text);
  if (!isJsonObject(body)) return undefined;
  if (isJsonObject(body["error"])) return String(body["error"]["message"]);
  return typeof body["message"] === "string" ? body["message"] : undefined;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.cause instanceof Error && error.cause.message !== ""
    ? error.cause.message
    : error.message;
  // Deno puts the whole URL in front of what went wrong.
  return text.includes("error sending request") ? text.split(": ").at(-1) ?? text : text;
}
