import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { InflateStream } from "./inflate_stream.ts";

const PACKED = deflateRawSync(Buffer.alloc(4 * 2 ** 20, "some text "));

async function write(stream: InflateStream, bytes: Uint8Array): Promise<void> {
  const writer = stream.writable.getWriter();
  await writer.write(bytes);
  await writer.close();
}

test("gives what was packed, a little at a time", async () => {
  const stream = new InflateStream("deflate-raw");
  const writing = write(stream, PACKED);
  let [length, longest] = [0, 0];
  for await (const piece of stream.readable) {
    length += piece.length;
    longest = Math.max(longest, piece.length);
  }
  await writing;
  expect(length).toBe(4 * 2 ** 20);
  expect(longest).toBeLessThanOrEqual(2 ** 16);
});

test("a reader that leaves does no harm, and the writer does not wait for ever", async () => {
  const stream = new InflateStream("deflate-raw");
  const writing = write(stream, PACKED);
  for await (const _ of stream.readable) break;
  // Deno takes the rest as written, Node says that it was not.
  await writing.catch((error) => expect(String(error)).toContain("the reader has left"));
});

test.each([
  ["damaged", Buffer.from("this is not packed")],
  ["cut off", PACKED.subarray(0, 1_000)],
])("the reader is told of bytes that are %s", async (_what, bytes) => {
  const stream = new InflateStream("deflate-raw");
  write(stream, bytes).catch(() => {});
  await expect((async () => {
    for await (const _ of stream.readable);
  })()).rejects.toThrow();
});

test("no other format", () => {
  expect(() => new InflateStream("gzip")).toThrow(TypeError);
});
