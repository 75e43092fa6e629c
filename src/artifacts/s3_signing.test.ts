import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { encodePath, encodeQuery, signedHeaders } from "./s3_signing.ts";

/** The examples of AWS's own documentation. */
const CREDENTIALS = {
  region: "us-east-1",
  accessKey: "AKIAIOSFODNN7EXAMPLE",
  secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
const bodyHash = createHash("sha256").digest("hex");

test.each([
  [{ lifecycle: "" }, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"],
  [
    { prefix: "J", "max-keys": "2" },
    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  ],
])("a request with the query %j is signed as AWS does it", (query, signature) => {
  const url = new URL(`https://examplebucket.s3.amazonaws.com/?${encodeQuery(query)}`);
  const at = Date.UTC(2013, 4, 24);
  const headers = Object.fromEntries(
    signedHeaders({ method: "GET", url, bodyHash, at }, CREDENTIALS),
  );
  expect(headers["x-amz-date"]).toBe("20130524T000000Z");
  expect(headers["authorization"]).toBe(
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, " +
      `SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
  );
});

test("the token of a session is signed too", () => {
  const url = new URL("https://host/bucket/key");
  const headers = signedHeaders(
    { method: "GET", url, bodyHash, at: 0 },
    { ...CREDENTIALS, sessionToken: "token" },
  );
  expect(headers).toContainEqual(["x-amz-security-token", "token"]);
  expect(headers.at(-1)?.[1]).toContain("x-amz-date;x-amz-security-token");
});

test("paths and queries are encoded as they are signed, and a URL leaves them so", () => {
  const path = encodePath("/b/a b+c%41'(d)!*?#&=/ü\n");
  expect(path).toBe("/b/a%20b%2Bc%2541%27%28d%29%21%2A%3F%23%26%3D/%C3%BC%0A");
  const query = encodeQuery({ prefix: "a b/'*", "list-type": "2" });
  expect(query).toBe("list-type=2&prefix=a%20b%2F%27%2A");
  const url = new URL(`http://host${path}?${query}`);
  expect([url.pathname, url.search]).toEqual([path, `?${query}`]);
});
