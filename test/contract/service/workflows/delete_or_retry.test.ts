/** A workflow that only the archive has is deleted and retried at the same moment: the outcome has one order. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

const COUNT = 20;

let folder: string;
let server: ServerProcess;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-delete-or-retry-"));
});
afterEach(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

// deno-lint-ignore no-explicit-any -- answers of any shape
async function call(method: string, path: string, body?: unknown): Promise<any> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
  return { ...(await response.json()), code: response.status };
}

async function moved(): Promise<number> {
  const page = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^sluice_archive_writes_total\{outcome="moved"\} (\d+)/m.exec(page)?.[1] ?? 0);
}

/** Fails, and waits when it is retried. */
const SPEC = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "seconds", value: "x" }] },
  templates: [{ name: "main", suspend: { duration: "{{workflow.parameters.seconds}}" } }],
};

/** Names and uids of workflows that only the archive has. */
async function archived(): Promise<{ name: string; uid: string }[]> {
  const made = await Promise.all(Array.from({ length: COUNT }, async (_, at) => {
    const name = `wf-${at}`;
    const workflow = { metadata: { name }, spec: SPEC };
    const { metadata } = await call("POST", "/workflows/default", { workflow });
    return { name, uid: metadata.uid as string };
  }));
  await until(async () => await moved() === COUNT);
  return made;
}

describe.each([
  ["for good", [], "archived-workflows"],
  ["by name", [], "workflows/default"],
  ["by name, to be kept", ["--archive-deleted"], "workflows/default"],
])("deleted %s", (_how, flags, route) => {
  test(
    "a retry that was refused has brought nothing back, one that was not came before the deletion",
    async () => {
      server = await startServer([
        `--store=sqlite:${folder}/store`,
        `--work-dir=${folder}/work`,
        "--executor=none",
        "--keep-finished=0s",
        "--keep-failed=0s",
        ...flags,
      ]);
      const all = await archived();
      const outcomes = { deleted: 0, retried: 0, both: 0 };
      for (const { name, uid } of all) {
        const place = route === "archived-workflows" ? uid : name;
        const [deletion, retry] = await Promise.all([
          call("DELETE", `/${route}/${place}`),
          call("PUT", `/workflows/default/${name}/retry`, { parameters: ["seconds=1h"] }),
        ]);
        const what = JSON.stringify([name, deletion, retry.code, retry.message]);
        // Either may be too late.
        expect([200, 404, 409], what).toContain(deletion.code);
        expect([200, 404, 409], what).toContain(retry.code);
        const [isDeleted, isRetried] = [deletion.code === 200, retry.code === 200];
        expect(isDeleted || isRetried, what).toBe(true);
        if (isDeleted) outcomes.deleted++;
        if (isRetried) outcomes.retried++;
        if (isDeleted && isRetried) outcomes.both++;
        const found = await call("GET", `/workflows/default/${name}`);
        const isThere = found.code === 200 && found.status.phase === "Running";
        expect(isThere, what).toBe(!isDeleted);
      }
      expect(outcomes.deleted).toBeGreaterThan(0);
    },
    240_000,
  );
});
