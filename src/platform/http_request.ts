/**
 * One HTTP request that a manifest asks for. Not made with `fetch`: manifests may send a body with GET, set any header and skip
 * the check of certificates; and on Node `fetch` brings the process down when a server closes the connection while a large
 * body is read slowly (undici 7.29: an assertion outside of any promise).
 */
import { request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { exchange } from "./exchange.ts";
import { type HttpAnswer, type HttpRequest, isRedirect, MAX_HEADER_BYTES } from "./http_message.ts";

/** More redirects than this are an error. */
const MAX_REDIRECTS = 10;
/** Characters of a location that an error shows. */
const MAX_SHOWN = 200;
/** Loaded with the first request: it takes 60 ms and 12 MB, and many servers never send one. */
let client: Promise<typeof import("./http_client.ts")> | undefined;

/**
 * Sends a request, follows redirects as browsers do, and reads the answer.
 *
 * @throws {Error} when there is no answer, or one that is too long.
 */
export async function sendHttp(call: HttpRequest): Promise<HttpAnswer> {
  const { sendOnce } = await (client ??= import("./http_client.ts"));
  let request = call;
  for (let redirects = 0;; redirects++) {
    assertKnown(request.url);
    const answer = await sendOnce(request);
    if (!isRedirect(answer.status)) return answer;
    const [location] = [answer.headers["location"]].flat();
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
  const url = URL.parse(location, asked.url.href);
  if (url === null) {
    throw new Error(`redirected to ${JSON.stringify(location.slice(0, MAX_SHOWN))}: not a URL`);
  }
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

/** Headers by canonical name (`Content-Type`), each a list, as expressions over them are written. */
export function headersByName(
  headers: Iterable<[string, string | string[] | undefined]>,
): Record<string, string[]> {
  const lists = new Map<string, string[]>();
  for (const [sent, values = []] of headers) {
    const name = canonicalName(sent);
    const more = [values].flat().map((value) => value.trimEnd());
    lists.set(name, [...lists.get(name) ?? [], ...more]);
  }
  return Object.fromEntries(lists);
}

function canonicalName(name: string): string {
  return name.toLowerCase().replace(
    /(^|-)([a-z])/g,
    (_, dash, letter) => dash + letter.toUpperCase(),
  );
}
