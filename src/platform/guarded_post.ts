/**
 * Posts to a URL that somebody else chose. The address that is connected to is checked, not only the name: a name may be
 * resolved to another address each time. Redirects lead to no other host, and little of an answer is read.
 */
import { Buffer } from "node:buffer";
import { lookup as systemLookup } from "node:dns/promises";
import { request as plainRequest } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import { toSentHeader } from "../base/header_text.ts";
import { type AddressRules, isAddress, plainHost } from "./address_rules.ts";
import { exchange } from "./exchange.ts";

const MAX_REDIRECTS = 3;
/** Bytes of the head of an answer. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Bytes of an answer's body that are read. */
const MAX_BODY_BYTES = 64 * 1024;
/** Characters of it that are told. */
const MAX_SHOWN = 200;
/** How long the rest of an answer may take that nobody waits for, ms. */
const DRAIN_MS = 5_000;

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** Finds the addresses of a host. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export interface GuardedPost {
  url: URL;
  headers: readonly (readonly [string, string])[];
  body: Uint8Array;
  /** Ends it, whatever it waits for. */
  signal: AbortSignal;
}

export interface PostAnswer {
  status: number;
  /** Header `Retry-After`. */
  retryAfter?: string;
  /** Begin of the body of an answer that is no success. */
  text?: string;
}

/** An address is not allowed. */
class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** Makes what posts under rules. @param resolve finds addresses. @default as the system does */
export function createGuardedPost(
  rules: AddressRules,
  resolve: Resolve = (host) => systemLookup(host, { all: true }),
): (post: GuardedPost) => Promise<PostAnswer> {
  const lookup = createLookup(rules, shared(resolve));
  return async (post) => {
    let { url } = post;
    for (let redirects = 0;; redirects++) {
      const response = await send(post, url, rules, lookup);
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (status < 300 || status > 399 || location === undefined) {
        return await answerOf(response, post.signal);
      }
      response.destroy();
      const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
      if (next?.origin !== url.origin) {
        throw new Error(`a redirect (${status}) to another host is not followed`);
      }
      // Others would make it a GET.
      if (status !== 307 && status !== 308) {
        throw new Error(`a redirect (${status}) loses the body`);
      }
      if (redirects === MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
      url = next;
    }
  };
}

async function send(
  { headers, body, signal }: GuardedPost,
  url: URL,
  rules: AddressRules,
  lookup: NonNullable<RequestOptions["lookup"]>,
): Promise<IncomingMessage> {
  const isFree = rules.allowsHost(url.hostname);
  if (isAddress(url.hostname) && !isFree) checkAddress(rules, plainHost(url.hostname));
  const request = (url.protocol === "https:" ? secureRequest : plainRequest)(url, {
    method: "POST",
    // A connection of its own: a kept one might be to an address that is no longer allowed.
    agent: false,
    lookup,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: {
      "User-Agent": "sluice",
      ...headersOf(headers),
      "Content-Length": String(body.length),
    },
  });
  request.on("socket", (socket: Socket) => {
    socket.once("connect", () => {
      const { remoteAddress } = socket;
      if (isFree || rules.allowsAddress(remoteAddress ?? "")) return;
      request.destroy(refusal(remoteAddress ?? "unknown"));
    });
  });
  return await exchange(request, body, signal);
}

function headersOf(pairs: GuardedPost["headers"]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const [name, text] of pairs) {
    const value = toSentHeader(text);
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  return headers;
}

function checkAddress(rules: AddressRules, address: string): void {
  if (!rules.allowsAddress(address)) throw refusal(address);
}

function refusal(address: string): AddressRefused {
  return new AddressRefused(
    `address ${address} is not public; --webhook-allow names those that are allowed`,
  );
}

/** Gives a connection only those addresses of a host that are allowed. */
function createLookup(
  rules: AddressRules,
  resolve: Resolve,
): NonNullable<RequestOptions["lookup"]> {
  return (host, options, callback) => {
    resolve(host).then((found) => {
      const isFree = rules.allowsHost(host);
      const allowed = found.filter(({ address }) => isFree || rules.allowsAddress(address));
      const [first] = allowed;
      if (first === undefined) throw refusal(found[0]?.address ?? `of ${host}`);
      const all = (options as { all?: boolean } | undefined)?.all === true;
      if (all) callback(null, allowed as never, undefined as never);
      else callback(null, first.address, first.family);
    }).catch((cause: unknown) => {
      callback(cause as NodeJS.ErrnoException, "" as never, 0 as never);
    });
  };
}

/** Those who ask for the same host at the same time share one question: a slow name server takes one thread for each. */
function shared(resolve: Resolve): Resolve {
  const asked = new Map<string, Promise<ResolvedAddress[]>>();
  return (host) => {
    let found = asked.get(host);
    if (found === undefined) {
      found = resolve(host).finally(() => asked.delete(host));
      asked.set(host, found);
    }
    return found;
  };
}

/** What an answer says. The rest of a success is read by nobody: only its head counts. */
async function answerOf(response: IncomingMessage, signal: AbortSignal): Promise<PostAnswer> {
  const status = response.statusCode ?? 0;
  const retryAfter = response.headers["retry-after"];
  const common = { status, ...(retryAfter !== undefined && { retryAfter }) };
  if (status >= 200 && status < 300) {
    drain(response);
    return common;
  }
  const text = await begin(response, signal);
  return { ...common, ...(text !== "" && { text }) };
}

function drain(response: IncomingMessage): void {
  let bytes = 0;
  const end = setTimeout(() => response.destroy(), DRAIN_MS);
  response.on("data", (part: Uint8Array) => {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) response.destroy();
  });
  response.on("error", () => {});
  response.once("close", () => clearTimeout(end));
}

function begin(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const done = () => {
      signal.removeEventListener("abort", done);
      response.destroy();
      const text = Buffer.concat(parts).toString("utf8");
      resolve(text.slice(0, MAX_SHOWN).toWellFormed());
    };
    response.on("data", (part: Uint8Array) => {
      parts.push(part);
      bytes += part.length;
      if (bytes >= MAX_SHOWN * 4) done();
    });
    response.once("end", done);
    response.on("error", done);
    response.once("close", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
