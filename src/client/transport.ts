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

function ownHeaders({ headers, token = "" }: ClientOptions): Headers {
  try {
    const all = new Headers(headers);
    if (token !== "") all.set("authorization", token.includes(" ") ? token : `Bearer ${token}`);
    return all;
  } catch {
    // The runtime's own reason shows the value.
    throw new TypeError(
      "The token or a header has a character that no header may have, such as a line break",
    );
  }
}

/** Sends a request. @throws {ClientError} when it is refused, or there is no answer */
export async function send(options: ClientOptions, outgoing: Outgoing): Promise<Response> {
  const headers = ownHeaders(options);
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
    // What the status says counts although the rest is lost.
    const text = await response.text().catch(() => "");
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
export async function readAnswer(options: ClientOptions, response: Response): Promise<unknown> {
  const text = await read(options, () => response.text());
  if (text === "") return {};
  const answer = parsedJson(text);
  return typeof answer === "object" && answer !== null ? answer : refused(options, response, text);
}

/** For what is no answer of a server: the login page of a proxy, or another program at this port. */
function refused({ server }: ClientOptions, response: Response, text: string): never {
  throw new ClientError(
    `${server} does not answer as Sluice does: ${shownText(response, text)}`,
    response.status,
  );
}

/** The bytes of an answer, piece by piece. @throws {ClientError} when it breaks off */
export async function* pieces(
  options: ClientOptions,
  { body }: Response,
): AsyncIterable<Uint8Array> {
  if (body === null) return;
  try {
    yield* body;
  } catch (error) {
    throw brokenOff(options, error);
  }
}

/** What reading gives. @throws {ClientError} when the answer breaks off */
async function read<T>(options: ClientOptions, reading: () => Promise<T>): Promise<T> {
  try {
    return await reading();
  } catch (error) {
    throw brokenOff(options, error);
  }
}

/** What a reader is told; one that has ended the answer itself, or has let its time run out, hears just that. */
function brokenOff({ server }: ClientOptions, error: unknown): unknown {
  if (error instanceof ClientError) return error;
  if (error instanceof Error && /^(Abort|Timeout)Error$/.test(error.name)) return error;
  return new ClientError(`The answer of ${server} broke off: ${reason(error)}`, 0);
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

/** The `result` of each frame of a stream. @throws {ClientError} when the stream ends with an error, or breaks off */
export async function* frames(
  options: ClientOptions,
  response: Response,
): AsyncIterable<unknown> {
  if (response.body === null) return;
  const lines = new TextLines();
  try {
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      for (const line of lines.add(chunk)) {
        if (line.trim() !== "") {
          yield resultOf(parsedJson(line) ?? refused(options, response, line));
        }
      }
    }
  } catch (error) {
    throw brokenOff(options, error);
  }
  const { rest } = lines;
  if (rest.trim() === "") return;
  const last = parsedJson(rest);
  // A proxy that ends a stream properly may do so in the middle of a frame.
  if (last === undefined && rest.startsWith("{")) {
    throw new ClientError("The stream broke off in the middle of a frame", 0);
  }
  yield resultOf(last ?? refused(options, response, rest));
}

/** @throws {ClientError} for a frame with an error */
function resultOf(frame: unknown): unknown {
  if (!isJsonObject(frame)) return {};
  if (isJsonObject(frame["error"])) {
    const { message: text, http_code: status } = frame["error"];
    throw new ClientError(String(text), typeof status === "number" ? status : 500);
  }
  return frame["result"] ?? {};
}

function messageOf(text: string): string | undefined {
  const body = parsedJson(text);
  if (!isJsonObject(body)) return undefined;
  if (isJsonObject(body["error"])) return String(body["error"]["message"]);
  return typeof body["message"] === "string" ? body["message"] : undefined;
}

export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.cause instanceof Error && error.cause.message !== ""
    ? error.cause.message
    : error.message;
  // Deno puts the whole URL in front of what went wrong.
  const said = text.includes("error sending request")
    ? /invalid peer certificate: .*$/.exec(text)?.[0] ?? text.split(": ").at(-1) ?? text
    : text;
  return said.trim();
}
