import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { fromReference, toReference } from "./reference_form.ts";

describe("toReference()", () => {
  test("writes NUL as the reference does, and nothing else in its place", async () => {
    const object = JSON.stringify({ a: "\u0000x\u0000", b: "\\u0000", "\u0000": 1 });
    const { text } = await toReference(object);
    expect(text).not.toMatch(/(?<!\\)\\u0000/);
    expect(JSON.parse(text)).toEqual({
      a: "ARGO_POSTGRES_NULL_REPLACEMENTxARGO_POSTGRES_NULL_REPLACEMENT",
      b: "\\u0000",
      ARGO_POSTGRES_NULL_REPLACEMENT: 1,
    });
    expect(JSON.parse(await fromReference(text, null))).toEqual(JSON.parse(object));
  });

  test("writes half of a pair as the replacement character, whole pairs as they are", async () => {
    const { text } = await toReference(String.raw`{"a":"\ud83d\ude00 \ud83d \ude00 \udc00\ud800"}`);
    expect(JSON.parse(text)).toEqual({ a: "😀 \ufffd \ufffd \ufffd\ufffd" });
  });

  test("compresses many nodes into status.compressedNodes", async () => {
    const nodes = Object.fromEntries(
      Array.from(
        { length: 30_000 },
        (_, index) => [`n${index}`, { message: "\u0000 and more text" }],
      ),
    );
    const object = {
      status: { phase: "Failed", storedTemplates: { a: "\u0000" }, nodes },
      z: "\u0000",
    };
    const { text } = await toReference(JSON.stringify(object));
    const { status, ...rest } = JSON.parse(text);
    expect(rest).toEqual({ z: "ARGO_POSTGRES_NULL_REPLACEMENT" });
    const { compressedNodes, ...others } = status;
    expect(others).toEqual({
      phase: "Failed",
      storedTemplates: { a: "ARGO_POSTGRES_NULL_REPLACEMENT" },
    });
    const unpacked = gunzipSync(Buffer.from(compressedNodes, "base64")).toString();
    expect(JSON.parse(unpacked)).toEqual(nodes);
    expect(JSON.parse(await fromReference(text, compressedNodes))).toEqual(object);
  });
});

describe("fromReference()", () => {
  const nodes = { a: { id: "a" } };
  const packed = gzipSync(JSON.stringify(nodes)).toString("base64");

  test.each([
    ["beside other members", { phase: "Error", message: "x", compressedNodes: packed }],
    ["alone", { compressedNodes: packed }],
    ["in the place of empty ones", { nodes: {}, compressedNodes: packed }],
  ])("puts compressed nodes in their place: %s", async (_, status) => {
    const read = JSON.parse(await fromReference(JSON.stringify({ status }), packed));
    const { compressedNodes: _packed, ...others } = status;
    expect(read).toEqual({ status: { ...others, nodes } });
  });

  test.each(["", "?", "AAAA"])("shows what is damaged as it is: %j", async (damaged) => {
    const text = JSON.stringify({ status: { compressedNodes: damaged } });
    expect(await fromReference(text, damaged)).toBe(text);
  });
});
