import { expect, test, vi } from "vitest";
import { LogDestination } from "./log_destination.ts";

/** A reader that takes at most `room` bytes until it is given more. */
function slowReader(room: number) {
  const reader = { room, text: "" };
  const write = (bytes: Uint8Array) => {
    const taken = bytes.subarray(0, reader.room);
    reader.room -= taken.length;
    reader.text += new TextDecoder().decode(taken);
    return taken.length;
  };
  return { reader, write };
}

test("write() passes lines on at once while the reader keeps up", () => {
  const { reader, write } = slowReader(100);
  const destination = new LogDestination(write);
  destination.write("one\n");
  destination.write("two\n");
  expect(reader.text).toBe("one\ntwo\n");
});

test("a reader that was behind gets every kept line whole, then the count of the dropped ones", () => {
  const { reader, write } = slowReader(6);
  const destination = new LogDestination(write, 10);
  for (const line of ["one\n", "two\n", "three\n", "four\n", "five\n"]) destination.write(line);
  expect(reader.text).toBe("one\ntw");
  reader.room = 1000;
  destination.drain();
  expect(reader.text).toMatch(/^one\ntwo\nthree\n\{.*"2 log lines were dropped .*"\}\n$/);
  destination.write("six\n");
  expect(reader.text).toMatch(/\}\nsix\n$/);
});

test("flush() waits for the reader, but not for ever", async () => {
  vi.useFakeTimers();
  try {
    const { reader, write } = slowReader(0);
    const destination = new LogDestination(write);
    destination.write("one\n");
    const flushed = vi.fn();
    destination.flush(flushed);
    await vi.advanceTimersByTimeAsync(200);
    expect(flushed).not.toHaveBeenCalled();
    reader.room = 100;
    await vi.advanceTimersByTimeAsync(100);
    expect(flushed).toHaveBeenCalledOnce();
    expect(reader.text).toBe("one\n");

    reader.room = 0;
    destination.write("two\n");
    const gaveUp = vi.fn();
    destination.flush(gaveUp);
    await vi.advanceTimersByTimeAsync(2000);
    expect(gaveUp).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
