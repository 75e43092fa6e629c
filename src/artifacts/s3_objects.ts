/** Objects in a bucket of an S3-compatible server. */
import type { Readable } from "node:stream";
import { webStream } from "../platform/web_stream.ts";
import { S3Errors } from "@bradenmacdonald/s3-lite-client";
import { errorText } from "../base/error_text.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { download } from "./http_artifact.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";
import { BoundedS3Client } from "./s3_client.ts";

/** Size of the parts of an upload. Each upload keeps one in memory. */
const PART_BYTES = 16 * 1024 * 1024;

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
  readonly #client: BoundedS3Client;
  readonly #options: S3Options;
  #bucketReady: Promise<void> | undefined;

  constructor(options: S3Options) {
    const { endpoint, bucket, region, insecure, accessKey, secretKey, sessionToken } = options;
    this.#options = options;
    this.name = `s3://${bucket}`;
    const isAws = /(^|\.)amazonaws\.com$/.test(endpoint);
    this.#client = new BoundedS3Client({
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
    const { url, headers } = this.#client.reading(key);
    return await download(url, headers);
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
      yield* this.#client.keys(prefix);
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
