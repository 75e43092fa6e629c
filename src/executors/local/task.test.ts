import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { taskSpec } from "../../../test/support/task_spec.ts";
import { systemClock } from "../../platform/clock.ts";
import type { LocalRuntime, RunningContainer } from "./runtime.ts";
import { Scratch } from "./scratch.ts";
import { LocalTask } from "./task.ts";

const wait = () => new Promise((done) => setTimeout(done, 0));

test("containers of a set are started a few at a time, and all of them run", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-task-"));
  let [starting, most, launched] = [0, 0, 0];
  const running: RunningContainer = {
    ended: Promise.resolve({ code: 0, startedAt: 0, finishedAt: 0 }),
    stop: () => Promise.resolve(),
    locate: () => Promise.resolve(undefined),
    stdout: () => Promise.resolve(new Uint8Array()),
  };
  const runtime: LocalRuntime = {
    name: "stub",
    host: { hostName: "here", podIp: "127.0.0.1" },
    progressPath: (dir) => dir,
    async launch() {
      most = Math.max(most, ++starting);
      await wait();
      starting--;
      launched++;
      return running;
    },
    stop: () => Promise.resolve(),
    async *logs() {},
    release: () => Promise.resolve(),
    close() {},
  };
  const containers = Array.from({ length: 100 }, (_, at) => ({ name: `c${at}`, image: "i" }));
  const spec = taskSpec("set", { containerSet: { containers } });
  const deps = {
    runtime,
    scratch: new Scratch(dir),
    artifacts: undefined,
    config: {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve(undefined),
    },
    clock: systemClock,
    maxArtifactBytes: 1,
  };
  try {
    const outcome = await new LocalTask(spec, deps, () => {}).run();
    expect(outcome?.phase).toBe("Succeeded");
    expect(launched).toBe(100);
    expect(most).toBeLessThanOrEqual(8);
  } finally {
    await rm(dir, { recursive: true });
  }
});
