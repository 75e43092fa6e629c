import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compileExpr } from "../language/compile.ts";
import { ARGO_FUNCTIONS } from "./argo_functions.ts";
import { adler32 } from "./sprig_hash.ts";

test.each(["sha1", "sha256", "sha512"])("%s sums equal the platform's for any text", (name) => {
  const source = `sprig.${name}sum(text)`;
  const program = compileExpr(source, { env: { text: "" }, functions: ARGO_FUNCTIONS });
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
    expect(program.run({ text })).toBe(createHash(name).update(text).digest("hex"));
  }));
});

test("adler32() of a known text", () => {
  expect(adler32(new TextEncoder().encode("hello"))).toBe(103547413);
  expect(adler32(new Uint8Array())).toBe(1);
});
