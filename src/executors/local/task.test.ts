import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { taskSpec } from "../../../test/support/task_spec.ts";
import type { ArtifactStore } from "../../artifacts/port.ts";
import { systemClock } from "../../platform/clock.ts";
import type { Template } from "../../spec/manifest.ts";
import type { LocalRuntime, RunningContainer } from "./runtime.ts";
import { Scratch } from "./scratch.ts";
import { LocalTask } from "./task.ts";

const wait = () => new Promise((done) => setTimeout(done, 0));

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-task-"));
});
afterEach(() => rm(dir, { recursive: true }));

function container(ended: RunningContainer["ended"], stop = () => {}): RunningContainer {
  return {
    ended,
    stop: () => Promise.resolve(stop()),
    locate: () => Promise.resolve(undefined),
    stdout: () => Promise.resolve(new Uint8Array()),
  };
}

const SUCCESS = Promise.resolve({ code: 0, startedAt: 0, finishedAt: 0 });

function localTask(
  template: Template,
  runtime: Pick<LocalRuntime, "launch"> & Partial<LocalRuntime>,
  { archiveLogs = false, artifacts = archiveLogs ? {} as ArtifactStore : undefined }: {
    archiveLogs?: boolean;
    artifacts?: ArtifactStore | undefined;
  } = {},
): LocalTask {
  const deps = {
    runtime: {
      name: "stub",
      host: { hostName: "here", podIp: "127.0.0.1" },
      progressPath: (dir: string) => dir,
      stop: () => Promise.resolve(),
      async *logs() {},
      release: () => Promise.resolve(),
      close() {},
      ...runtime,
    },
    scratch: new Scratch(dir),
    artifacts,
    config: {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve(undefined),
    },
    clock: systemClock,
    maxArtifactBytes: 1,
  };
  return new LocalTask({ ...taskSpec("task", template), archiveLogs }, deps, () => {});
}

test("containers of a set are started a few at a time, and all of them run", async () => {
  let [starting, most, launched] = [0, 0, 0];
  const launch = async () => {
    most = Math.max(most, ++starting);
    await wait();
    starting--;
    launched++;
    return container(SUCCESS);
  };
  const containers = Array.from({ length: 100 }, (_, at) => ({ name: `c${at}`, image: "i" }));
  const outcome = await localTask({ containerSet: { containers } }, { launch }).run();
  expect(outcome?.phase).toBe("Succeeded");
  expect(launched).toBe(100);
  expect(most).toBeLessThanOrEqual(8);
});

test("the message of a set names the container because of which the others were ended", async () => {
  const ends: Record<string, number> = { main: 143, b: 3, c: 137 };
  const containers = Object.keys(ends).map((name) => ({ name, image: "i" }));
  const task = localTask({ containerSet: { containers } }, {
    launch: ({ container: { name } }) => {
      const code = ends[name] ?? 0;
      return Promise.resolve(container(Promise.resolve({ code, startedAt: 0, finishedAt: 0 })));
    },
  });
  expect(await task.run()).toMatchObject({
    phase: "Failed",
    message: "b: Error (exit code 3)",
    containers: { main: { exitCode: "143" }, c: { exitCode: "137" } },
  });
});

test("a main container that comes up after a sidecar could not be started is ended", async () => {
  const up = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<string>();
  const task = localTask({ container: { image: "i" }, sidecars: [{ name: "beside" }] }, {
    async launch({ container: { name } }) {
      if (name === "beside") throw new Error("no such image");
      await up.promise;
      return container(new Promise(() => {}), () => stopped.resolve(name));
    },
  });
  expect(await task.run()).toEqual({ phase: "Error", message: "no such image" });
  up.resolve();
  expect(await stopped.promise).toBe("main");
});

test("a container that comes up after its task was cancelled is ended, and one of a server that stops goes on", async () => {
  for (const isCancelled of [false, true]) {
    const [starting, up] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ended = Promise.withResolvers<{ fault: string }>();
    let stopped = 0;
    const task = localTask({ container: { image: "i" } }, {
      async launch() {
        starting.resolve();
        await up.promise;
        return container(ended.promise);
      },
      stop: () => Promise.resolve(void stopped++),
    });
    await mkdir(task.folder.dir, { recursive: true });
    await mkdir(join(dir, "cancelling"), { recursive: true });
    const running = task.run();
    await starting.promise;
    task.abandon();
    if (isCancelled) await task.folder.beginCancel(0);
    up.resolve();
    ended.resolve({ fault: "over" });
    expect(await running).toBeUndefined();
    expect(stopped).toBe(isCancelled ? 1 : 0);
  }
});

test("a step whose log can't be read succeeds without it", async () => {
  const task = localTask({ container: { image: "i" } }, {
    launch: () => Promise.resolve(container(SUCCESS)),
    // deno-lint-ignore require-yield
    async *logs() {
      throw new Error("too many open files");
    },
  }, { archiveLogs: true });
  expect(await task.run()).toMatchObject({ phase: "Succeeded" });
});

test("a transfer of an input ends when its task is given up", async () => {
  const begun = Promise.withResolvers<AbortSignal | undefined>();
  const fetch: ArtifactStore["fetch"] = (_artifact, _path, _scope, signal) => {
    begun.resolve(signal);
    return new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(new Error("ended")))
    );
  };
  const artifacts = { fetch } as ArtifactStore;
  const template = {
    container: { image: "i" },
    inputs: { artifacts: [{ name: "a", path: "/a", raw: { data: "x" } }] },
  };
  const launch = () => Promise.resolve(container(SUCCESS));
  const task = localTask(template, { launch }, { artifacts });
  const running = task.run();
  expect((await begun.promise)?.aborted).toBe(false);
  task.abandon();
  expect(await running).toBeUndefined();
});
