/**
 * Artifacts behind a URL. The server itself fetches what a manifest names, so those who may submit workflows can reach what
 * the server can reach. Limit that by the network, not here.
 */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { webStream } from "../platform/web_stream.ts";
import { toSentHeader } from "../base/header_text.ts";
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { systemClock } from "../platform/clock.ts";
import { openHttp, sendHttp } from "../platform/http_request.ts";
import type { StoredObject } from "./object_store.ts";
import { limitSilence } from "./silence.ts";

/** Longest wait for the beginning of an answer. */
const ANSWER_TIMEOUT_MS = 60_000;
/** Longest time in which a server sends nothing of a download: that of the upload. */
const SILENCE_MS = 300_000;
/** Longest time in which a server takes nothing of an upload, or does not answer it: that of Node's `fetch`; Deno's has none. */
const UPLOAD_TIMEOUT_MS = 300_000;
/** Most bytes of the answer to a request for a token. */
const MAX_TOKEN_BYTES = 1024 * 1024;

/** Gives the value of a `{name, key}` reference to a Secret. */
export type ReadSecret = (reference: Json | undefined) => Promise<string | undefined>;

/** Downloads an artifact; undefined for 404. */
export async function readUrl(
  location: JsonObject,
  secret: ReadSecret,
): Promise<StoredObject | undefined> {
  const url = urlOf(location);
  return await download(url, await headersOf(location, secret));
}

/**
 * Opens the answer to a GET; undefined for 404.
 *
 * @throws {Problem} for any other status but 2xx
 * @throws {Error} when there is no answer
 */
export async function download(
  url: URL,
  headers?: Iterable<[string, string]>,
): Promise<StoredObject | undefined> {
  const body = await openInTime(url, headers);
  const status = body.statusCode ?? 0;
  if (status >= 200 && status < 300) {
    const late = () => new Error(`${url.origin} sent nothing for ${SILENCE_MS / 1000} s`);
    const broken = (cause: Error) => new Error(`${url.origin} broke off its answer`, { cause });
    return {
      size: Number(body.headers["content-length"] ?? 0),
      body: limitSilence(body, { ms: SILENCE_MS, late, broken, clock: systemClock }),
    };
  }
  body.destroy();
  if (status === 404) return undefined;
  throw refused("GET", url, status);
}

/** Opens a URL; rejects when the head of the answer does not come in time. */
function openInTime(
  url: URL,
  headers: Iterable<[string, string]> | undefined,
): Promise<IncomingMessage> {
  return inTime(url, (signal) => openHttp(url, headers ?? [], signal));
}

/** Asks a server, and ends that when it takes too long. */
async function inTime<T>(url: URL, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = new Error(`${url.origin} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`);
  const cancel = systemClock.after(ANSWER_TIMEOUT_MS, () => stop.abort(late));
  try {
    return await ask(stop.signal);
  } finally {
    cancel();
  }
}

/** Uploads an artifact. @param signal ends it, also when only the answer is missing */
export async function writeUrl(
  location: JsonObject,
  body: Readable,
  secret: ReadSecret,
  signal?: AbortSignal,
): Promise<void> {
  const url = urlOf(location);
  const headers = await headersOf(location, secret);
  const stop = new AbortController();
  const ends = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const late = `${url.origin} did not take the upload within ${UPLOAD_TIMEOUT_MS / 1000} s`;
  let cancel = () => {};
  let isOver = false;
  const wait = () => {
    cancel();
    if (isOver) return;
    cancel = systemClock.after(UPLOAD_TIMEOUT_MS, () => stop.abort(new Error(late)));
  };
  // The time that the source takes is not the server's.
  const watched = watchedPieces(body, wait, () => cancel());
  const init = { method: "PUT", headers, body: webStream(watched) as BodyInit, duplex: "half" };
  wait();
  try {
    const response = await fetch(url, { ...init, signal: ends });
    await response.body?.cancel();
    if (!response.ok) throw refused("PUT", url, response.status);
  } catch (error) {
    body.destroy();
    throw error;
  } finally {
    // A server may answer before it has taken all.
    isOver = true;
    cancel();
  }
}

/** The same pieces; says when the reader has one, and when it asks for the next. */
async function* watchedPieces(
  body: Readable,
  given: () => void,
  asked: () => void,
): AsyncGenerator<Uint8Array> {
  asked();
  for await (const piece of body) {
    given();
    yield piece as Uint8Array;
    asked();
  }
  given();
}

/** The place of an artifact in messages: without a query, which may hold a signature. */
export function placeOf({ url }: JsonObject): string {
  const known = typeof url === "string" ? URL.parse(url) : null;
  return known === null ? "http" : `${known.origin}${known.pathname}`;
}

function urlOf(location: JsonObject): URL {
  const { url } = location;
  if (typeof url !== "string" || !URL.canParse(url)) {
    throw invalid(`Artifact has an invalid URL: ${JSON.stringify(url)}`);
  }
  return new URL(url);
}

async function headersOf(location: JsonObject, secret: ReadSecret): Promise<Headers> {
  const headers = new Headers();
  for (const header of Array.isArray(location["headers"]) ? location["headers"] : []) {
    if (!isJsonObject(header)) continue;
    headers.append(String(header["name"]), toSentHeader(String(header["value"] ?? "")));
  }
  const auth = isJsonObject(location["auth"]) ? location["auth"] : {};
  // The credentials of Artifactory stand beside the URL.
  const basic = isJsonObject(auth["basicAuth"]) ? auth["basicAuth"] : location;
  const user = await secret(basic["usernameSecret"]);
  const password = await secret(basic["passwordSecret"]);
  if (user !== undefined || password !== undefined) {
    const pair = Buffer.from(`${user ?? ""}:${password ?? ""}`).toString("base64");
    headers.set("authorization", `Basic ${pair}`);
  }
  // Argo Workflows writes `oauth2: {}` and `clientCert: {}` beside a basicAuth.
  if (hasMembers(auth["oauth2"])) {
    headers.set("authorization", `Bearer ${await fetchToken(auth["oauth2"], secret)}`);
  }
  if (hasMembers(auth["clientCert"])) {
    throw new Problem(
      ProblemCode.Unimplemented,
      "Client certificates for http artifacts are not supported; use basicAuth or oauth2",
    );
  }
  return headers;
}

function hasMembers(value: Json | undefined): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

async function fetchToken(oauth: JsonObject, secret: ReadSecret): Promise<string> {
  const url = await secret(oauth["tokenURLSecret"]);
  if (url === undefined || !URL.canParse(url)) throw invalid("Artifact's oauth2 has no token URL");
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: await secret(oauth["clientIDSecret"]) ?? "",
    client_secret: await secret(oauth["clientSecretSecret"]) ?? "",
  });
  if (Array.isArray(oauth["scopes"])) form.set("scope", oauth["scopes"].join(" "));
  for (const item of Array.isArray(oauth["endpointParams"]) ? oauth["endpointParams"] : []) {
    if (isJsonObject(item)) form.append(String(item["key"]), String(item["value"] ?? ""));
  }
  return await askForToken(new URL(url), form);
}

async function askForToken(url: URL, form: URLSearchParams): Promise<string> {
  const { status, body } = await inTime(url, (signal) =>
    sendHttp({
      method: "POST",
      url,
      headers: [["Content-Type", "application/x-www-form-urlencoded;charset=UTF-8"]],
      body: Buffer.from(form.toString()),
      insecureSkipVerify: false,
      maxBytes: MAX_TOKEN_BYTES,
      signal,
    }));
  if (status < 200 || status >= 300) throw refused("POST", url, status);
  const answer = parseOrUndefined(body);
  const token = isJsonObject(answer) ? answer["access_token"] : undefined;
  if (typeof token !== "string") {
    throw invalid(`The token answer of ${url.origin} has no access_token`);
  }
  return token;
}

function refused(method: string, url: URL, status: number): Problem {
  // The query is left out: it may hold a signature.
  return new Problem(
    ProblemCode.Unknown,
    `${method} ${url.origin}${url.pathname} answered ${status}`,
  );
}
