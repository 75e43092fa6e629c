/** Pure: signs requests to S3 servers, as AWS Signature Version 4 says. */
import { createHash, createHmac } from "node:crypto";

export interface S3Credentials {
  region: string;
  accessKey: string;
  secretKey: string;
  sessionToken?: string | undefined;
}

interface Unsigned {
  method: string;
  /** Its path and query are encoded by {@link encodePath} and {@link encodeQuery}. */
  url: URL;
  /** SHA-256 of the body, hexadecimal. */
  bodyHash: string;
  /** Epoch ms. */
  at: number;
}

/** The headers that a request needs. */
export function signedHeaders(
  { method, url, bodyHash, at }: Unsigned,
  { region, accessKey, secretKey, sessionToken }: S3Credentials,
): [string, string][] {
  const time = new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
  const headers: [string, string][] = [
    ["x-amz-content-sha256", bodyHash],
    ["x-amz-date", time],
  ];
  if (sessionToken !== undefined) headers.push(["x-amz-security-token", sessionToken]);
  const names = ["host", ...headers.map(([name]) => name)].join(";");
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    `host:${url.host}`,
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    bodyHash,
  ].join("\n");
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const hash = createHash("sha256").update(canonical).digest("hex");
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash}`;
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secretKey}`);
  const signature = hmac(key, text).toString("hex");
  const authorization =
    `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return [...headers, ["authorization", authorization]];
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** The path of an object as it is sent and signed. */
export function encodePath(path: string): string {
  return path.split("/").map(encode).join("/");
}

/** A query as it is sent and signed. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
}

/** Leaves only what no server encodes. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
