/**
 * One HTTP request that a manifest asks for. Made with `node:http` rather than `fetch`: manifests may send a body with GET, set
 * any header and skip the check of certificates; and on Node `fetch` brings the process down when a server closes the
 * connection while a large body is read slowly (undici 7.29: an assertion outside of any promise).
 */
import { request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { exchange } from "./exchange.ts";

/** More redirects than this are an error. */
const MAX_REDIRECTS = 10;
/** Bytes of the head of an answer. */
const MAX_HEADER_BYTES = 64 * 1024;

export interface HttpCall {
  /** @default {"GET"} */
  method?: string;
  url: string | URL;
  headers?: Iterable<[string, string]>;
  body?: Uint8Array | undefined;
  insecureSkipVerify?: boolean;
  /** Most bytes of an answer. */
  maxBytes: number;
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** By canonical name (`Content-Type`), each a list. */
  headers: Record<string, string[]>;
  body: string;
}

/**
 * Sends a request, follows redirects as browsers do, and reads the answer.
 *
 * @throws {Error} when there is no answer, or one that is too long.
 */
export async function sendHttp(call: HttpCall): Promise<HttpAnswer> {
  const response = await openHttp(call);
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response),
    body: await read(response, call.maxBytes),
  };
}

/**
 * Sends a request and follows redirects as browsers do. The answer's body is a stream that the caller reads or destroys.
 *
 * @throws {Error} when there is no answer.
 */
export async function openHttp(call: Omit<HttpCall, "maxBytes">): Promise<IncomingMessage> {
  let { method = "GET", body } = call;
  let url = new URL(call.url);
  let headers = [...call.headers ?? []];
  for (let redirects = 0;; redirects++) {
    const response = await sendOnce({ ...call, method, headers, body }, url);
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return response;
    response.destroy();
    if (redirects === MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
    const next = new URL(location, url);
    if (next.host !== url.host) {
      headers = headers.filter(([name]) =>
        !/^(authorization|cookie|www-authenticate)$/i.test(name)
      );
    }
    url = next;
    if (status < 307 && method !== "GET" && method !== "HEAD") {
      method = "GET";
      body = undefined;
    }
  }
}

function sendOnce(call: Omit<HttpCall, "maxBytes">, url: URL): Promise<IncomingMessage> {
  const { method, body, signal, insecureSkipVerify = false } = call;
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return Promise.reject(new Error(`unsupported protocol scheme "${url.protocol.slice(0, -1)}"`));
  }
  const headers: Record<string, string[]> = {};
  for (const [name, value] of call.headers ?? []) (headers[name] ??= []).push(value);
  const named = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  if (!named.has("user-agent")) headers["User-Agent"] = ["sluice"];
  if (body !== undefined && !named.has("content-length")) {
    headers["Content-Length"] = [String(body.length)];
  }
  const options = {
    method,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [
        name,
        values.length === 1 ? values[0] ?? "" : values,
      ]),
    ),
  };
  const request = url.protocol === "https:"
    ? secureRequest(url, { ...options, rejectUnauthorized: !insecureSkipVerify })
    : plainRequest(url, options);
  return exchange(request, body, signal);
}

async function read(response: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > maxBytes) {
      response.destroy();
      throw new Error(`response body has more than ${maxBytes} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function headersOf(response: IncomingMessage): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (let index = 0; index + 1 < response.rawHeaders.length; index += 2) {
    const name = canonicalName(response.rawHeaders[index] ?? "");
    (headers[name] ??= []).push(response.rawHeaders[index + 1] ?? "");
  }
  return headers;
}

/** `content-type` → `Content-Type`, as expressions over headers are written. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(
    /(^|-)([a-z])/g,
    (_, dash, letter) => dash + letter.toUpperCase(),
  );
}
