import { expect, test } from "vitest";
import { ManualClock, settle } from "../../../test/support/manual_clock.ts";
import { StatusWriter, type WriteOutcome } from "./status_writer.ts";

function setUp(write: (key: string) => Promise<WriteOutcome>, rate = 10) {
  const clock = new ManualClock();
  const begun = clock.now();
  const written: { key: string; at: number }[] = [];
  const troubles: string[] = [];
  const stop = new AbortController();
  const writer = new StatusWriter({
    clock,
    rate,
    write(key) {
      written.push({ key, at: clock.now() - begun });
      return write(key);
    },
    onTrouble: (key) => void troubles.push(key),
  });
  const running = writer.run(stop.signal);
  return {
    clock,
    writer,
    written,
    troubles,
    async stop() {
      stop.abort();
      await running;
    },
  };
}

const done = (): Promise<WriteOutcome> => Promise.resolve({ type: "done" });

test("no more writes a second than the rate, each object once", async () => {
  const { clock, writer, written, stop } = setUp(done);
  for (let index = 0; index < 30; index++) writer.want(`k${index}`);
  for (let index = 0; index < 30; index++) writer.want(`k${index}`);
  await clock.advance(950);
  expect(written.length).toBe(10);
  await clock.advance(5_000);
  expect(written.length).toBe(30);
  expect(new Set(written.map(({ key }) => key)).size).toBe(30);
  await stop();
});

test("an object waits for its interval, unless it is urgent", async () => {
  const { clock, writer, written, stop } = setUp(done, 1_000);
  writer.want("a");
  await clock.advance(100);
  writer.want("a");
  await clock.advance(800);
  expect(written.map(({ at }) => at)).toEqual([0]);
  await clock.advance(200);
  expect(written.map(({ at }) => at)).toEqual([0, 1_000]);
  await clock.advance(100);
  writer.want("a");
  writer.want("a", true);
  await settle();
  expect(written.length).toBe(3);
  await clock.advance(5_000);
  expect(written.length).toBe(3);
  await stop();
});

test("one that changes while it is written is written again", async () => {
  const first = Promise.withResolvers<WriteOutcome>();
  let calls = 0;
  const { clock, writer, written, stop } = setUp(() => calls++ === 0 ? first.promise : done());
  writer.want("a");
  await settle();
  writer.want("a", true);
  await clock.advance(500);
  expect(written.length).toBe(1);
  first.resolve({ type: "done" });
  await clock.advance(2_000);
  expect(written.length).toBe(2);
  await stop();
});

test("a write that fails is tried again, later each time; a pause holds up all writes", async () => {
  let isBroken = true;
  const { clock, writer, written, troubles, stop } = setUp((key) => {
    if (key === "bad" && isBroken) return Promise.reject(new Error("no"));
    if (key === "slow" && isBroken) return Promise.resolve({ type: "later", pauseMs: 5_000 });
    return done();
  }, 1_000);
  writer.want("bad");
  await clock.advance(8_000);
  const times = written.map(({ at }) => at);
  expect(troubles.length).toBe(times.length);
  expect(times).toEqual([0, 250, 750, 1_750, 3_750, 7_750]);
  writer.forget("bad");
  writer.want("slow");
  await settle();
  writer.want("other");
  await clock.advance(4_900);
  expect(written.slice(times.length).map(({ key }) => key)).toEqual(["slow"]);
  isBroken = false;
  await clock.advance(2_000);
  expect(written.slice(times.length).map(({ key }) => key).sort()).toEqual([
    "other",
    "slow",
    "slow",
  ]);
  expect(writer.size).toBe(0);
  await stop();
});

test("an object that takes long to write is written less often", async () => {
  const { clock, writer, written, stop } = setUp(async () => {
    await clock.sleep(500);
    return { type: "done" };
  });
  writer.want("a");
  await clock.advance(500);
  writer.want("a");
  await clock.advance(9_900);
  expect(written.length).toBe(1);
  await clock.advance(200);
  expect(written.length).toBe(2);
  await clock.advance(500);
  await stop();
});

test("one that went while it was written leaves nothing behind", async () => {
  const writes = [Promise.withResolvers<WriteOutcome>(), Promise.withResolvers<WriteOutcome>()];
  let calls = 0;
  const { clock, writer, written, stop } = setUp(() => writes[calls++]?.promise ?? done(), 1_000);
  writer.want("a");
  writer.want("b");
  await clock.advance(10);
  writer.forget("a");
  writer.forget("b");
  writes[0]?.reject(new Error("gone"));
  writes[1]?.resolve({ type: "done" });
  await clock.advance(60_000);
  expect(written.length).toBe(2);
  expect(writer.size).toBe(0);
  await stop();
});

test("a new one of the same name does not wait for the rest of the old one", async () => {
  const first = Promise.withResolvers<WriteOutcome>();
  let calls = 0;
  const { clock, writer, written, stop } = setUp(() => calls++ === 0 ? first.promise : done());
  writer.want("a");
  await clock.advance(10);
  writer.forget("a");
  first.resolve({ type: "done" });
  await clock.advance(200);
  writer.want("a");
  await clock.advance(200);
  expect(written.length).toBe(2);
  await stop();
});
