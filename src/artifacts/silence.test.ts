import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { limitSilence } from "./silence.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function limited() {
  const clock = new ManualClock();
  const source = new PassThrough();
  const late = () => new Error("too late");
  const broken = ({ message }: Error) => new Error(`broken off: ${message}`);
  return { clock, source, bytes: limitSilence(source, { ms: 1_000, late, broken, clock }) };
}

test("all bytes come, however slowly, as long as some come", async () => {
  const { clock, source, bytes } = limited();
  const read = text(bytes);
  for (const piece of ["a", "b", "c"]) {
    await turn();
    await clock.advance(900);
    source.write(piece);
  }
  source.end();
  expect(await read).toBe("abc");
});

test("a source that falls silent is ended, and its reader is told", async () => {
  const { clock, source, bytes } = limited();
  const told = expect(text(bytes)).rejects.toThrow("too late");
  source.write("a");
  await turn();
  await clock.advance(1_000);
  await told;
  expect(source.destroyed).toBe(true);
});

test("a reader that takes its time is not the source's fault", async () => {
  const { clock, source, bytes } = limited();
  await clock.advance(10_000);
  const size = 1024 * 1024;
  const pieces = bytes[Symbol.asyncIterator]();
  source.write(Buffer.alloc(size));
  const first = await pieces.next() as { value: Buffer };
  source.end(Buffer.alloc(size));
  await turn();
  await clock.advance(10_000);
  let seen = first.value.length;
  for await (const piece of bytes) seen += (piece as Buffer).length;
  expect(seen).toBe(2 * size);
});

test("a fault of the source reaches the reader, and an end of the reader reaches the source", async () => {
  const failing = limited();
  failing.source.destroy(new Error("broken"));
  await turn();
  await expect(text(failing.bytes)).rejects.toThrow("broken");
  const left = limited();
  left.bytes.destroy();
  await turn();
  expect(left.source.destroyed).toBe(true);
});
