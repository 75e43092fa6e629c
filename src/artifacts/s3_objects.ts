/** Objects in a bucket of an S3-compatible server. */
import { Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { S3Client, S3Errors } from "@bradenmacdonald/s3-lite-client";
import type { ObjectStore, StoredObject } from "./object_store.ts";

/** Uploads go in parts of this size, which is what each keeps in memory. */
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
  readonly #client: S3Client;
  readonly #options: S3Options;
  #bucketReady: Promise<void> | undefined;

  constructor(options: S3Options) {
    const { endpoint, bucket, region, insecure, accessKey, secretKey, sessionToken } = options;
    this.#options = options;
    this.name = `s3://${bucket}`;
    const isAws = /(^|\.)amazonaws\.com$/.test(endpoint);
    this.#client = new S3Client({
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
    try {
      const response = await this.#client.getObject(key);
      const body = response.body as NodeReadableStream | null;
      return {
        size: Number(response.headers.get("content-length") ?? 0),
        body: body === null ? Readable.from([]) : Readable.fromWeb(body),
      };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async write(key: string, body: Readable): Promise<void> {
    if (this.#options.createBucket === true) await this.#ensureBucket();
    const stream = Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>;
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
    for await (const object of this.#client.listObjects({ prefix })) yield object.key;
  }

  async remove(key: string): Promise<void> {
    try {
      await this.#client.deleteObject(key);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof S3Errors.ServerError && error.code === "NoSuchKey";
}
