import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import type { ContainerCli } from "./container_cli.ts";
import { ContainerOutput } from "./container_output.ts";
import type { TaskFolder } from "./scratch.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "output-"));
});
afterEach(() => rm(dir, { recursive: true }));

const TIME = "2026-01-02T03:04:0";

/** A program whose `logs` run this script. */
function outputOf(script: string): ContainerOutput {
  const cli: Pick<ContainerCli, "run" | "spawn"> = {
    run: () => Promise.resolve({ code: 0, stdout: Buffer.from("exact"), stderr: "" }),
    spawn: () => spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "pipe"] }),
  };
  return new ContainerOutput(cli as ContainerCli, systemClock);
}

const folder = () => ({ name: "t", runs: () => Promise.resolve([dir]) }) as unknown as TaskFolder;

function linesOf(output: ContainerOutput, tailLines?: number) {
  const query = { container: "main", follow: false, signal: new AbortController().signal };
  const wanted = tailLines === undefined ? query : { ...query, tailLines };
  return output.logs(folder(), wanted, () => Promise.resolve(true));
}

/** All that comes. */
async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

test("keeps the output of an ended container: exactly, and with times over both streams", async () => {
  const output = outputOf(
    `echo ${TIME}1Z one; echo ${TIME}3Z three; echo ${TIME}2Z two >&2; echo no time >&2; echo ${TIME}4Z four >&2`,
  );
  await output.keep(dir, "c");
  expect(await readFile(join(dir, "stdout"), "utf8")).toBe("exact");
  expect((await readdir(dir)).sort()).toEqual(["log", "stdout"]);
  const texts = (await all(linesOf(output))).map(({ text }) => text);
  expect(texts).toEqual(["one", "two", "three", "four"]);
  const last = (await all(linesOf(output, 2))).map(({ text }) => text);
  expect(last).toEqual(["three", "four"]);
});

test("keeps nothing of a container whose log cannot be had", async () => {
  const output = outputOf(`echo ${TIME}1Z one; exit 1`);
  await output.keep(dir, "c");
  expect(await readdir(dir)).toEqual(["stdout"]);
});

test("a reader that is slow makes the program wait, and gets every line", async () => {
  await writeFile(join(dir, "started"), "");
  const done = join(dir, "done");
  const text = "x".repeat(100);
  const count = 50_000;
  const output = outputOf(
    `awk 'BEGIN { for (i = 0; i < ${count}; i++) print "${TIME}1Z " i " ${text}" }'; touch ${done}`,
  );
  let lines = 0;
  for await (const line of linesOf(output)) {
    if (lines === 0) {
      await systemClock.sleep(500);
      // Five megabytes do not fit into what may wait.
      expect(await readdir(dir)).not.toContain("done");
    }
    expect(line.text.startsWith(`${lines} `)).toBe(true);
    lines++;
  }
  expect(lines).toBe(count);
});

test("a reader who has gone before the program is asked does not keep it running", async () => {
  await writeFile(join(dir, "started"), "");
  const query = { container: "main", follow: true, signal: AbortSignal.abort() };
  const lines = outputOf("exec sleep 60").logs(folder(), query, () => Promise.resolve(false));
  expect(await all(lines)).toEqual([]);
});

test("a very long line comes in pieces, is kept whole, and is told once", async () => {
  await writeFile(join(dir, "started"), "");
  const letters = 20_000_000;
  const output = outputOf(
    `echo ${TIME}1Z a; printf '${TIME}2Z '; head -c ${letters} /dev/zero | tr '\\0' x; echo; echo ${TIME}3Z b`,
  );
  const lengths = async () => (await all(linesOf(output))).map(({ text }) => text.length);
  const streamed = await lengths();
  expect(Math.max(...streamed)).toBeLessThanOrEqual(1024 * 1024);
  expect(streamed.reduce((sum, length) => sum + length)).toBe(letters + 2);
  await output.keep(dir, "c");
  expect(await lengths()).toEqual(streamed);
  const times = (await all(linesOf(output))).map(({ at }) => at);
  expect(new Set(times).size).toBe(3);
});

test("a line with carriage returns is one line, while it runs and afterwards", async () => {
  await writeFile(join(dir, "started"), "");
  const output = outputOf(`printf '${TIME}1Z 10%%\\r20%%\\n'`);
  expect((await all(linesOf(output))).map(({ text }) => text)).toEqual(["10%\r20%"]);
  await output.keep(dir, "c");
  expect((await all(linesOf(output))).map(({ text }) => text)).toEqual(["10%\r20%"]);
});
