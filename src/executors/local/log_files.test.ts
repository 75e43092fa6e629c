import fc from "fast-check";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { turnsWhile } from "../../../test/support/turns_while.ts";
import { systemClock } from "../../platform/clock.ts";
import type { LogQuery } from "../port.ts";
import { readLogs } from "./log_files.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-log-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** What a run has written: its streams, and their sizes at some times. */
async function write(stdout: string, stderr: string, samples: readonly number[][]): Promise<void> {
  await writeFile(join(dir, "stdout"), stdout);
  await writeFile(join(dir, "stderr"), stderr);
  await writeFile(join(dir, "times"), samples.map((sample) => `${sample.join(" ")}\n`).join(""));
}

function read(more: Partial<LogQuery> = {}) {
  const query = { container: "main", follow: false, signal: new AbortController().signal, ...more };
  return readLogs(() => Promise.resolve([dir]), () => Promise.resolve(true), query, systemClock);
}

/** Lines and what does not end in a line, of one to three bytes for each character. */
const someText = fc.array(fc.constantFrom("\n", "a", "ü", "\n\n", "long".repeat(20_000)), {
  maxLength: 12,
}).map((parts) => parts.join(""));

test("the last lines, and those since a time, are those at the end of all", async () => {
  await fc.assert(
    fc.asyncProperty(
      someText,
      someText,
      fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 }),
      async (stdout, stderr, places) => {
        const [out, err] = [Buffer.byteLength(stdout), Buffer.byteLength(stderr)];
        const sorted = (at: 0 | 1, size: number) =>
          places.map((place) => place[at] % (size + 1)).sort((a, b) => a - b);
        const [outs, errs] = [sorted(0, out), sorted(1, err)];
        const samples = places.map((_, at) => [(at + 1) * 10, outs[at] ?? 0, errs[at] ?? 0]);
        await write(stdout, stderr, [...samples, [90, out, err]]);
        const all = await Array.fromAsync(read());
        for (const tailLines of [0, 1, 2, 5, 100]) {
          const last = tailLines === 0 ? [] : all.slice(-tailLines);
          expect(await Array.fromAsync(read({ tailLines }))).toEqual(last);
        }
        for (const sinceMs of [0, 10, 15, 20, 35, 90, 91]) {
          const since = all.filter(({ at }) => at >= sinceMs);
          expect(await Array.fromAsync(read({ sinceMs }))).toEqual(since);
          expect(await Array.fromAsync(read({ sinceMs, tailLines: 2 }))).toEqual(since.slice(-2));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a tail that is followed has all lines that come later", async () => {
  await write("1\n2\n3\n4", "", [[10, 7, 0]]);
  const stop = new AbortController();
  const lines: string[] = [];
  for await (
    const { text } of readLogs(
      () => Promise.resolve([dir]),
      () => Promise.resolve(false),
      { container: "main", follow: true, tailLines: 2, signal: stop.signal },
      systemClock,
    )
  ) {
    if (lines.push(text) === 2) await writeFile(join(dir, "stdout"), "1\n2\n3\n4\n5\n6\n7\n");
    if (lines.length === 6) stop.abort();
  }
  expect(lines).toEqual(["2", "3", "4", "5", "6", "7"]);
});

test("who reads thousands of lines of which none is wanted leaves others their turns", async () => {
  // The clock went back, so their times alone don't tell what can be passed over.
  await write("\n".repeat(2_000), "", [[50, 1, 0], [10, 2_000, 0]]);
  expect(await turnsWhile(Array.fromAsync(read({ sinceMs: 20 })))).toBeGreaterThan(50);
});

test("nothing is read for whoever is gone", async () => {
  await write("\n".repeat(100_000), "", [[10, 100_000, 0]]);
  const stop = new AbortController();
  stop.abort();
  expect((await Array.fromAsync(read({ signal: stop.signal }))).length).toBe(0);
  expect(await Array.fromAsync(read({ tailLines: 5, signal: stop.signal }))).toEqual([]);
});

test.skipIf(process.platform !== "linux")(
  "who reads many logs at once keeps few files open, and reads all lines",
  async () => {
    const count = 150;
    const long = "long\n".repeat(14_000);
    const begun = [];
    const openBefore = (await readdir("/proc/self/fd")).length;
    for (let at = 0; at < count; at++) {
      const run = join(dir, String(at));
      await mkdir(run);
      await writeFile(join(run, "stdout"), at % 2 === 0 ? long : "1\n2\n3\n");
      await writeFile(join(run, "stderr"), "e\n");
      const query = { container: "main", follow: false, signal: new AbortController().signal };
      const lines = readLogs(
        () => Promise.resolve([run]),
        () => Promise.resolve(true),
        query,
        systemClock,
      );
      expect((await lines.next()).done).toBe(false);
      begun.push(lines);
    }
    const open = (await readdir("/proc/self/fd")).length - openBefore;
    expect(open).toBeLessThan(100);
    let rest = 0;
    for (const lines of begun) for await (const _ of lines) rest++;
    expect(rest).toBe(count / 2 * (14_001 + 4) - count);
    expect((await readdir("/proc/self/fd")).length - openBefore).toBeLessThan(50);
  },
);
