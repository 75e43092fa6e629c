/** Objects in a bucket of an S3-compatible server. */
import type { Readable } from "node:stream";
import { webStream } from "../platform/web_stream.ts";
import { S3Client, S3Errors } from "@bradenmacdonald/s3-lite-client";
import { errorText } from "../base/error_text.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { endsWithin, systemClock } from "../platform/clock.ts";
import { download } from "./http_artifact.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";

/** Size of the parts of an upload. Each upload keeps one in memory. */
const PART_BYTES = 16 * 1024 * 1024;

/** How long a signed address lets a read begin. */
const READ_SECONDS = 300;

/** Longest time of one request, of which the largest sends a part. */
const REQUEST_MS = 10 * 60_000;

/** The library waits for ever, and so does Deno's `fetch`. */
class TimedClient extends S3Client {
  override async makeRequest(
    request: Parameters<S3Client["makeRequest"]>[0],
  ): Promise<Response> {
    const answer = super.makeRequest(request).then(wholeAnswer);
    if (await endsWithin(systemClock, REQUEST_MS, answer)) return await answer;
    throw new Error(`${this.host} did not answer within ${REQUEST_MS / 1000} s`);
  }
}

/** An answer whose body has come. */
async function wholeAnswer(response: Response): Promise<Response> {
  const { body, bodyUsed, status, headers } = response;
  if (body === null || bodyUsed) return response;
  return new Response(await response.arrayBuffer(), { status, headers });
}

export interface S3Options {
  /** Host, with port if needed; a scheme overrides `insecure`. */
  endpoint: string;
  bucket: string;
  /** @default {"us-east-1"} */
  region?: string;
  /** Plain HTTP. */
  insecure?: boolean;
  accessKey?: string;
  secretKey?: string;
  sessionToken?: string;
  createBucket?: boolean;
}

export class S3Objects implements ObjectStore {
  readonly name: string;
  readonly #client: S3Client;
  readonly #options: S3Options;
  #bucketReady: Promise<void> | undefined;

  constructor(options: S3Options) {
    const { endpoint, bucket, region, insecure, accessKey, secretKey, sessionToken } = options;
    this.#options = options;
    this.name = `s3://${bucket}`;
    const isAws = /(^|\.)amazonaws\.com$/.test(endpoint);
    this.#client = new TimedClient({
      endPoint: /^https?:\/\//.test(endpoint)
        ? endpoint
        : `${insecure === true ? "http" : "https"}://${endpoint}`,
      region: region === undefined || region === "" ? "us-east-1" : region,
      bucket,
      pathStyle: !isAws,
      ...(accessKey !== undefined && { accessKey }),
      ...(secretKey !== undefined && { secretKey }),
      ...(sessionToken !== undefined && { sessionToken }),
    });
  }

  async read(key: string): Promise<StoredObject | undefined> {
    checkKey(key);
    return await download(new URL(await this.#urlOf(key)));
  }

  #urlOf(key: string): string | Promise<string> {
    const { bucket, accessKey } = this.#options;
    if (accessKey !== undefined) {
      return this.#client.presignedGetObject(key, { expirySeconds: READ_SECONDS });
    }
    const { protocol, host, pathStyle } = this.#client;
    const path = key.split("/").map(encodeURIComponent).join("/");
    return pathStyle
      ? `${protocol}//${host}/${bucket}/${path}`
      : `${protocol}//${bucket}.${host}/${path}`;
  }

  async write(key: string, body: Readable): Promise<void> {
    checkKey(key);
    if (this.#options.createBucket === true) await this.#ensureBucket();
    const stream = webStream(body);
    await this.#client.putObject(key, stream, { partSize: PART_BYTES });
  }

  #ensureBucket(): Promise<void> {
    const { bucket } = this.#options;
    this.#bucketReady ??= (async () => {
      if (!await this.#client.bucketExists(bucket)) await this.#client.makeBucket(bucket);
    })().catch((error) => {
      this.#bucketReady = undefined;
      throw error;
    });
    return this.#bucketReady;
  }

  async *list(prefix: string): AsyncGenerator<string> {
    try {
      for await (const object of this.#client.listObjects({ prefix })) yield object.key;
    } catch (error) {
      throw troubleOf(error);
    }
  }

  async remove(key: string): Promise<void> {
    checkKey(key);
    try {
      await this.#client.deleteObject(key);
    } catch (error) {
      if (!isMissing(error)) throw troubleOf(error);
    }
  }
}

/** The key becomes the path of an address, where these segments would lead out of the bucket. */
function checkKey(key: string): void {
  if (key === "" || key.split("/").some((part) => part === "." || part === "..")) {
    throw invalid(`Artifact key "${key}" is not a path below its bucket`);
  }
}

/** An error as callers see it: the server is Unavailable when it cannot be reached, or cannot answer now. */
function troubleOf(error: unknown): unknown {
  const passes = error instanceof S3Errors.ServerError
    ? error.statusCode >= 500 || error.statusCode === 429
    // From `fetch`: there was no answer.
    : error instanceof TypeError;
  if (!passes) return error;
  return new Problem(ProblemCode.Unavailable, errorText(error), {
    retryAfterSeconds: 1,
    cause: error,
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof S3Errors.ServerError && error.code === "NoSuchKey";
}
