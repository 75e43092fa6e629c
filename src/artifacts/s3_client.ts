/**
 * The library that speaks with S3 servers, with requests that are bounded: a manifest may name any server. The library's own
 * wait for ever, hold answers of any length, and are signed in a way that servers refuse for keys with a question mark.
 */
import { S3Client, S3Errors } from "@bradenmacdonald/s3-lite-client";
import { createHash, webcrypto } from "node:crypto";
import { GatheredBytes } from "../base/gathered_bytes.ts";
import { invalid } from "../base/problem.ts";
import { nextTurn, systemClock } from "../platform/clock.ts";
import { inSharedTurns } from "../platform/turns.ts";
import { encodePath, encodeQuery, type S3Credentials, signedHeaders } from "./s3_signing.ts";

/** Longest time of one request, of which the largest sends a part. */
const REQUEST_MS = 10 * 60_000;
/** Most bytes of a list. One of 1,000 of the longest keys has a third of that. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Most bytes of any other answer: the library takes a time that grows with the square of its length to read some. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** Most answers to one list. */
const MAX_PAGES = 10_000;

/** Most keys of one list: as many as so many answers have. */
const MAX_KEYS = 1_000 * MAX_PAGES;

/** A server may put many short keys into an answer. */
const KEYS_PER_TURN = 10_000;

const NO_BODY_HASH = createHash("sha256").digest("hex");

type S3Request = Parameters<S3Client["makeRequest"]>[0];

export class BoundedS3Client extends S3Client {
  readonly #credentials: S3Credentials | undefined;

  constructor(
    options: ConstructorParameters<typeof S3Client>[0] & { secretKey?: string },
  ) {
    super(options);
    const { accessKey, secretKey = "", sessionToken, region } = options;
    this.#credentials = accessKey === undefined
      ? undefined
      : { accessKey, secretKey, sessionToken, region };
  }

  #urlOf(key: string, query = "", bucketName?: string): URL {
    const bucket = this.getBucketName(bucketName === undefined ? undefined : { bucketName });
    const [host, path] = this.pathStyle
      ? [this.host, `${this.pathPrefix ?? ""}/${bucket}/${key}`]
      : [`${bucket}.${this.host}`, `/${key}`];
    return new URL(
      `${this.protocol}//${host}${encodePath(path)}${query === "" ? "" : `?${query}`}`,
    );
  }

  /** Where an object is read, and with which headers. */
  reading(key: string): { url: URL; headers: [string, string][] } {
    const url = this.#urlOf(key);
    return { url, headers: this.#headers("GET", url, NO_BODY_HASH) };
  }

  #headers(method: string, url: URL, bodyHash: string): [string, string][] {
    const credentials = this.#credentials;
    if (credentials === undefined) return [];
    return signedHeaders({ method, url, bodyHash, at: systemClock.now() }, credentials);
  }

  override async makeRequest(request: S3Request): Promise<Response> {
    const { method, objectName, bucketName, query = {}, payload, statusCode = 200 } = request;
    const pairs = typeof query === "string"
      ? Object.fromEntries(new URLSearchParams(query))
      : query;
    const url = this.#urlOf(objectName, encodeQuery(pairs), bucketName);
    const body = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
    const headers = new Headers(request.headers);
    // It follows from the body.
    headers.delete("content-length");
    const signed = this.#headers(method, url, await hashOf(body));
    for (const [name, value] of signed) headers.set(name, value);
    const isList = "list-type" in pairs;
    const answer = await this.#answer(
      url,
      { method, headers, ...(body && { body }) },
      isList ? MAX_LIST_BYTES : MAX_ANSWER_BYTES,
    );
    if (answer.status === statusCode) return answer;
    if (answer.status >= 400) throw await S3Errors.parseServerError(answer);
    const message = `${this.host} answered ${answer.status} where ${statusCode} was expected`;
    throw new S3Errors.ServerError(answer.status, "UnexpectedStatusCode", message);
  }

  /** An answer whose whole body has come; of one that is a refusal, its beginning. */
  async #answer(url: URL, init: RequestInit, maxBytes: number): Promise<Response> {
    const stop = new AbortController();
    const late = new Error(`${this.host} did not answer within ${REQUEST_MS / 1000} s`);
    const cancel = systemClock.after(REQUEST_MS, () => stop.abort(late));
    try {
      const response = await fetch(url, { ...init, signal: stop.signal });
      const { status, headers } = response;
      const isRefusal = status >= 400;
      const most = isRefusal ? MAX_ANSWER_BYTES : maxBytes;
      const body = new GatheredBytes();
      for await (const part of inSharedTurns(response.body ?? [])) {
        if (body.length + part.length <= most) {
          body.add(part);
          continue;
        }
        if (!isRefusal) throw tooLong(this.host, most);
        body.add(part.subarray(0, most - body.length));
        break;
      }
      const isEmpty = status === 204 || status === 205 || status === 304;
      const bytes = body.bytes as Uint8Array<ArrayBuffer>;
      return new Response(isEmpty ? null : bytes, { status, headers });
    } finally {
      cancel();
      // An answer that is left in the middle would keep its connection.
      stop.abort();
    }
  }

  /** Keys that begin with a prefix, in the order of the server. */
  async *keys(prefix: string): AsyncGenerator<string> {
    let token = "";
    let keys = 0;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = {
        "list-type": "2",
        prefix,
        ...(token !== "" && { "continuation-token": token }),
      };
      const answer = await this.makeRequest({ method: "GET", objectName: "", query });
      const text = await answer.text();
      if (!/<ListBucketResult[\s>]/.test(text)) {
        throw new Error(`${this.host} answered a list with ${JSON.stringify(text.slice(0, 200))}`);
      }
      const [head = "", ...contents] = text.split("<Contents>");
      keys += contents.length;
      if (keys > MAX_KEYS) throw invalid(`${this.host} lists more than ${MAX_KEYS} keys`);
      for (const [index, content] of contents.entries()) {
        if (index % KEYS_PER_TURN === KEYS_PER_TURN - 1) await nextTurn();
        yield textIn(content, KEY);
      }
      const rest = `${head}${contents.at(-1) ?? ""}`;
      token = textIn(rest, TOKEN);
      if (token === "" || textIn(rest, TRUNCATED) !== "true") return;
    }
    throw invalid(`${this.host} lists more than ${MAX_PAGES} pages of keys`);
  }
}

async function hashOf(body: Uint8Array | undefined): Promise<string> {
  if (body === undefined) return NO_BODY_HASH;
  // Not on the thread of the event loop: a part has 16 MiB.
  const hash = await webcrypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>);
  return Buffer.from(hash).toString("hex");
}

function tooLong(host: string, most: number): Error {
  return invalid(`${host} gave an answer of more than ${most} bytes`);
}

const KEY = /<Key>([^<]*)<\/Key>/;
const TOKEN = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/;
const TRUNCATED = /<IsTruncated>([^<]*)<\/IsTruncated>/;

/** The text of an element; "" when there is none. */
function textIn(xml: string, element: RegExp): string {
  const text = element.exec(xml)?.[1] ?? "";
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi,
    (found, decimal?: string, hex?: string, entity?: string) => {
      if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? found;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : found;
    },
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};
