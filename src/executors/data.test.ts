import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { collectReports, taskSpec } from "../../test/support/task_spec.ts";
import { createArtifactStore } from "../artifacts/artifact_store.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import { parseRepository } from "../artifacts/repository_setting.ts";
import { evaluateTransformation } from "../expr/templates/contexts.ts";
import type { DataTemplate } from "../spec/manifest.ts";
import { DataExecutor } from "./data.ts";
import { LATE } from "./deadline.ts";

const nothing = () => Promise.resolve(undefined);
const clock = new ManualClock();
let folder: string;
let executor: DataExecutor;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-data-"));
  await mkdir(join(folder, "in"));
  for (const name of ["b.py", "a.py", "c.txt"]) await writeFile(join(folder, "in", name), name);
  const artifacts = createArtifactStore({
    repository: parseRepository(folder),
    keys: "shared",
    config: { configMap: nothing, secret: nothing },
  });
  executor = new DataExecutor(
    clock,
    artifacts,
    (expression, { data }) => evaluateTransformation(expression, data ?? null, {}),
  );
});
afterAll(async () => {
  await executor.close();
  await rm(folder, { recursive: true });
});

let count = 0;
async function run(data: DataTemplate, more: object = {}) {
  const reports = collectReports();
  await executor.start(taskSpec(`d${count++}`, { data }, more), reports.report);
  return await reports.ended;
}

const source = { artifactPaths: { name: "files", s3: { key: "in" } } };

test("the result is the list of keys, transformed step by step", async () => {
  expect(await run({ source })).toEqual({
    phase: "Succeeded",
    outputs: { result: '["in/a.py","in/b.py","in/c.txt"]', exitCode: "0" },
  });
  const transformation = [
    { expression: "filter(data, {# endsWith '.py'})" },
    { expression: "map(data, {upper(#)})" },
  ];
  expect(await run({ source, transformation })).toMatchObject({
    outputs: { result: '["IN/A.PY","IN/B.PY"]' },
  });
});

test("what can't be done ends the task in phase Error, and its deadline in Failed", async () => {
  expect(await run({})).toEqual({
    phase: "Error",
    message: "data template has no source.artifactPaths",
  });
  expect(await run({ source, transformation: [{ expression: "nope(" }] }))
    .toMatchObject({ phase: "Error", message: expect.stringContaining("unexpected token EOF") });
  expect(await run({ source }, { deadline: clock.now() - 1 })).toEqual(LATE);
});

test("nothing is done for a task whose deadline has passed, and nothing reported after its end", async () => {
  const reports = collectReports();
  const task = taskSpec("late", { data: { source } }, { deadline: clock.now() - 1 });
  await executor.start(task, reports.report);
  await run({ source });
  expect(reports.facts).toEqual([{ type: "task-ended", task: task.id, outcome: LATE }]);
});

test("other templates are refused, and a cancelled task reports nothing more", async () => {
  expect(executor.refuses(taskSpec("x", { suspend: {} }))).toMatch(/data templates only/);
  const reports = collectReports();
  const task = taskSpec("cancelled", { data: { source } });
  await executor.start(task, reports.report);
  await executor.cancel(task.id);
  await run({ source });
  expect(reports.facts).toEqual([{ type: "task-started", task: task.id }]);
});

test("a list that goes on is ended with its task", async () => {
  let given = 0;
  let isOver = false;
  const artifacts = {
    list: async (_artifact: unknown, _scope: unknown, signal?: AbortSignal) => {
      while (signal?.aborted !== true) {
        given++;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      isOver = true;
      signal.throwIfAborted();
      return [];
    },
  };
  const endless = new DataExecutor(clock, artifacts as unknown as ArtifactStore, () => null);
  const task = taskSpec("endless", { data: { source } });
  endless.start(task, collectReports().report);
  await expect.poll(() => given).toBeGreaterThan(0);
  await endless.cancel(task.id);
  await expect.poll(() => isOver).toBe(true);
});
