import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { adler32, sha1, sha256, sha512 } from "./sprig_hash.ts";

test("SHA sums equal the platform's for any bytes", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
    expect(sha1(bytes)).toBe(createHash("sha1").update(bytes).digest("hex"));
    expect(sha256(bytes)).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(sha512(bytes)).toBe(createHash("sha512").update(bytes).digest("hex"));
  }));
});

test("adler32() of a known text", () => {
  expect(adler32(new TextEncoder().encode("hello"))).toBe(103547413);
  expect(adler32(new Uint8Array())).toBe(1);
});
