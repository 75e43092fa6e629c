/**
 * The few calls of the Kubernetes API that are needed here. A client of our own rather than the official one: client
 * certificates and streams work the same on both runtimes, without two dozen packages in the image.
 */
import { Agent, request } from "node:https";
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { defined } from "../base/defined.ts";
import { errorText } from "../base/error_text.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import { exchange } from "../platform/exchange.ts";
import { LineSplitter } from "../platform/line_splitter.ts";
import type { KubeConfig } from "./kube_config.ts";

/** What etcd, and the API server's client of it, say of an object that is too large for them: told as a fault of the server. */
const TOO_LARGE = /request is too large|message larger than max/;

/** Refusals that pass: a quota is full, or is new and not counted yet; an API server has just started. */
const PASSING_REFUSAL = /exceeded quota|status unknown for quota|not yet ready to handle request/i;

/** An answer of the API server that isn't what was asked for. */
export class KubeError extends Error {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The API's word for it: `AlreadyExists`, `NotFound`, `Expired` … */
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = "KubeError";
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** True when the object is more than the API server or etcd takes. */
  get isTooLarge(): boolean {
    return this.status === 413 || (this.status >= 500 && TOO_LARGE.test(this.message));
  }

  /**
   * True when the same call may succeed later: no answer, too many requests, a server's fault, a refusal that passes, a token
   * of ours that has run out and will be renewed.
   */
  get isTransient(): boolean {
    if (this.status >= 500) return !this.isTooLarge;
    return this.status === 0 || this.status === 401 || this.status === 429 ||
      (this.status === 403 && PASSING_REFUSAL.test(this.message)) ||
      (this.status === 409 && this.reason === "Conflict");
  }
}

export interface KubeRequest {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From `/api/…`. */
  path: string;
  query?: Record<string, string>;
  body?: Json;
  /** Acts as this user, for example `system:serviceaccount:NAMESPACE:NAME`. */
  as?: string;
  /** @default {"application/merge-patch+json"} for PATCH */
  contentType?: string;
  /** Another form of the answer, for example metadata only. */
  accept?: string;
  signal?: AbortSignal;
  /** Of a stream that waits for nothing: most time until it begins, and until more of it comes, ms. */
  pausesAtMostMs?: number;
}

export interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: JsonObject;
}

/** The server ends a watch after this time, and it begins anew where it was. */
const WATCH_SECONDS = 240;
/** Most time without an answer to a call that isn't a stream. */
export const ANSWER_MS = 30_000;
/** Calls under way at a time; more wait. */
const MAX_CALLS = 64;

export class KubeClient {
  readonly config: KubeConfig;
  readonly #calls: Agent | PlainAgent;
  /** Logs that are followed and watches hold a connection for long: they must not take those of the calls. */
  readonly #streams: Agent | PlainAgent;

  constructor(config: KubeConfig) {
    this.config = config;
    this.#calls = agentFor(config, MAX_CALLS);
    this.#streams = agentFor(config, Infinity);
  }

  /** Calls and reads the answer. @throws {KubeError} */
  async call<Answer = JsonObject>(call: KubeRequest): Promise<Answer> {
    const timeout = AbortSignal.timeout(ANSWER_MS);
    const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
    const response = await this.#open({ ...call, signal }, this.#calls);
    try {
      return JSON.parse(await readText(response)) as Answer;
    } catch (error) {
      // It broke off, or somebody in between has answered.
      throw noAnswer(call, error);
    }
  }

  /**
   * Lines of a stream, until it ends or the signal aborts.
   *
   * @param longest bytes of a line; longer ones come in pieces. @default {1 MiB}
   * @throws {KubeError}
   */
  async *lines(call: KubeRequest, longest?: number): AsyncGenerator<string> {
    const response = await this.#open(call, this.#streams);
    const splitter = new LineSplitter(longest);
    const { pausesAtMostMs } = call;
    const late = () => response.destroy(new Error("no more came in time"));
    const wait = () => pausesAtMostMs === undefined ? undefined : setTimeout(late, pausesAtMostMs);
    let timer = wait();
    try {
      for await (const part of response as AsyncIterable<Uint8Array>) {
        // The reader may take its time.
        clearTimeout(timer);
        yield* splitter.linesOf(part);
        timer = wait();
      }
      const rest = splitter.takeRest();
      if (rest !== undefined) yield rest;
    } catch (error) {
      if (call.signal?.aborted !== true) throw noAnswer(call, error);
    } finally {
      clearTimeout(timer);
      response.destroy();
    }
  }

  /**
   * Changes after a resource version, until the server ends the stream, or should have: a connection that died without a
   * word is noticed by that. @throws {KubeError}
   */
  async *watch(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
    as?: string,
  ): AsyncGenerator<WatchEvent> {
    const all = {
      ...query,
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(WATCH_SECONDS),
    };
    const overdue = AbortSignal.timeout((WATCH_SECONDS + 10) * 1000);
    const until = AbortSignal.any([signal, overdue]);
    const call = { path, query: all, signal: until, ...(as !== undefined && { as }) };
    for await (const line of this.lines(call, Infinity)) {
      if (line !== "") yield eventIn(line, call);
    }
  }

  /** The open response of a call that went well. @throws {KubeError} */
  async #open(call: KubeRequest, agent: Agent | PlainAgent): Promise<IncomingMessage> {
    const { method = "GET", body, pausesAtMostMs } = call;
    const url = new URL(this.config.server + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
    const token = await this.config.token().catch((error: unknown) => {
      throw noAnswer(call, error);
    });
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const options = {
      method,
      agent,
      headers: {
        accept: call.accept ?? "application/json, */*",
        "user-agent": "sluice",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(call.as !== undefined && { "impersonate-user": call.as }),
        ...(payload !== undefined && {
          "content-type": call.contentType ??
            (method === "PATCH" ? "application/merge-patch+json" : "application/json"),
          "content-length": String(payload.length),
        }),
      },
    };
    const send = url.protocol === "http:" ? plainRequest : request;
    const late = new AbortController();
    const timer = pausesAtMostMs !== undefined &&
      setTimeout(() => late.abort(new Error("no answer in time")), pausesAtMostMs);
    const signal = timer === false
      ? call.signal
      : AbortSignal.any([late.signal, ...(call.signal === undefined ? [] : [call.signal])]);
    let response: IncomingMessage;
    try {
      response = await exchange(send(url, options), payload, signal);
    } catch (error) {
      throw noAnswer(call, error);
    } finally {
      if (timer !== false) clearTimeout(timer);
    }
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw await refusal(response, status);
  }

  close(): void {
    this.#calls.destroy();
    this.#streams.destroy();
  }
}

function agentFor(config: KubeConfig, maxSockets: number): Agent | PlainAgent {
  const options = { keepAlive: true, keepAliveMsecs: 10_000, maxSockets };
  if (config.server.startsWith("http:")) return new PlainAgent(options);
  const { ca, cert, key } = config;
  return new Agent({
    ...options,
    rejectUnauthorized: !config.insecureSkipVerify,
    ...defined({ ca, cert, key }),
  });
}

async function refusal(response: IncomingMessage, status: number): Promise<KubeError> {
  const text = await readText(response).catch(() => "");
  const retryAfter = Number(response.headers["retry-after"]);
  const answer = parseOrUndefined(text);
  // Others than the API server, such as a proxy, say it in their own way.
  const { reason = "", message }: { reason?: string; message?: string } = isJsonObject(answer)
    ? answer
    : { message: text.slice(0, 500) };
  return new KubeError(
    status,
    reason,
    message || `the API server answered ${status}`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  );
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of response as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** @throws {KubeError} when the line was cut off: whoever is in between may end a stream anywhere */
function eventIn(line: string, call: KubeRequest): WatchEvent {
  try {
    return JSON.parse(line) as WatchEvent;
  } catch (error) {
    throw noAnswer(call, error);
  }
}

function noAnswer({ method = "GET", path }: KubeRequest, error: unknown): KubeError {
  const message = errorText(error);
  return new KubeError(0, "NoAnswer", `${method} ${path}: ${message}`);
}
