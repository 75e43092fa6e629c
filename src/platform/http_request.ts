/**
 * One HTTP request that a manifest asks for. Not made with `fetch`: manifests may send a body with GET, set any header and skip
 * the check of certificates; and on Node `fetch` brings the process down when a server closes the connection while a large
 * body is read slowly (undici 7.29: an assertion outside of any promise).
 */
import { request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { exchange } from "./exchange.ts";
import { type HttpAnswer, isRedirect, MAX_HEADER_BYTES } from "./http_answer.ts";
import { type HttpRequest, sendOnce } from "./http_connections.ts";

/** More redirects than this are an error. */
const MAX_REDIRECTS = 10;

/**
 * Sends a request, follows redirects as browsers do, and reads the answer.
 *
 * @throws {Error} when there is no answer, or one that is too long.
 */
export async function sendHttp(call: HttpRequest): Promise<HttpAnswer> {
  let request = call;
  for (let redirects = 0;; redirects++) {
    assertKnown(request.url);
    const answer = await sendOnce(request);
    const location = isRedirect(answer.status) ? locationOf(answer) : undefined;
    if (location === undefined) return answer;
    request = { ...request, ...redirected(request, answer.status, location, redirects) };
  }
}

/**
 * Asks for a document and follows redirects as browsers do. The answer's body is a stream that the caller reads or destroys.
 *
 * @throws {Error} when there is no answer.
 */
export async function openHttp(
  url: URL,
  given: Iterable<[string, string]>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let asked: Asked = { method: "GET", url, headers: [...given], body: undefined };
  for (let redirects = 0;; redirects++) {
    assertKnown(asked.url);
    const headers = Object.fromEntries([["User-Agent", "sluice"], ...asked.headers]);
    const open = asked.url.protocol === "https:" ? secureRequest : plainRequest;
    const request = open(asked.url, { maxHeaderSize: MAX_HEADER_BYTES, headers });
    const response = await exchange(request, undefined, signal);
    const { statusCode = 0, headers: { location } } = response;
    if (!isRedirect(statusCode) || location === undefined) return response;
    response.destroy();
    asked = redirected(asked, statusCode, location, redirects);
  }
}

type Asked = Pick<HttpRequest, "method" | "url" | "headers" | "body">;

/** What is to be asked next. @param redirects how many came before */
function redirected(asked: Asked, status: number, location: string, redirects: number): Asked {
  if (redirects === MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
  const { method, body } = asked;
  const url = new URL(location, asked.url);
  const headers = url.host === asked.url.host
    ? asked.headers
    : asked.headers.filter(([name]) => !/^(authorization|cookie|www-authenticate)$/i.test(name));
  return status < 307 && method !== "GET" && method !== "HEAD"
    ? { method: "GET", url, headers, body: undefined }
    : { method, url, headers, body };
}

function assertKnown({ protocol }: URL): void {
  if (protocol === "http:" || protocol === "https:") return;
  throw new Error(`unsupported protocol scheme "${protocol.slice(0, -1)}"`);
}

function locationOf({ headers }: HttpAnswer): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === "location")?.[1];
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
