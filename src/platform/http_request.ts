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
  url: URL;
  headers?: Iterable<[string, string]>;
  body?: Uint8Array | undefined;
  insecureSkipVerify?: boolean;
  /** Most bytes of an answer. */
  maxBytes: number;
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** In the order in which they came. */
  headers: [string, string][];
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
  let url = call.url;
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
  const headers: Record<string, string | string[]> = Object.create(null);
  const named = new Set<string>();
  for (const [name, value] of call.headers ?? []) {
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
    named.add(name.toLowerCase());
  }
  if (!named.has("user-agent")) headers["User-Agent"] = "sluice";
  if (body !== undefined && !named.has("content-length")) {
    headers["Content-Length"] = String(body.length);
  }
  const options = { method, maxHeaderSize: MAX_HEADER_BYTES, headers };
  const request = url.protocol === "https:"
    ? secureRequest(url, { ...options, rejectUnauthorized: !insecureSkipVerify })
    : plainRequest(url, options);
  return exchange(request, body, signal);
}

function read(response: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    response.on("data", (part: Uint8Array) => {
      bytes += part.length;
      if (bytes <= maxBytes) parts.push(part);
      else response.destroy(new Error(`response body has more than ${maxBytes} bytes`));
    });
    response.once("end", () => resolve(Buffer.concat(parts).toString("utf8")));
    response.once("error", reject);
    response.once("close", () => {
      if (!response.complete) reject(new Error("the answer broke off"));
    });
  });
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.push([rawHeaders[index] ?? "", rawHeaders[index + 1] ?? ""]);
  }
  return headers;
}

/** Headers by canonical name (`Content-Type`), each a list, as expressions over them are written. */
export function headersByName(headers: Iterable<[string, string]>): Record<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const [sent, value] of headers) {
    const name = canonicalName(sent);
    lists.set(name, [...lists.get(name) ?? [], value]);
  }
  return Object.fromEntries(lists);
}

function canonicalName(name: string): string {
  return name.toLowerCase().replace(
    /(^|-)([a-z])/g,
    (_, dash, letter) => dash + letter.toUpperCase(),
  );
}
