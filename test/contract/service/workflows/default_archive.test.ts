/** The archive that the embedded store has beside it by default, on a real server; and stores from before there was one. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

let folder: string;
let server: ServerProcess;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-default-archive-"));
});
afterEach(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A server on the same folder; the one before has ended. */
async function start(...flags: string[]): Promise<void> {
  server = await startServer([
    `--store=sqlite:${folder}/store`,
    `--work-dir=${folder}/work`,
    "--executor=process",
    "--archive-deleted",
    ...flags,
  ]);
}

const AT_ONCE = ["--keep-finished=0s", "--keep-failed=0s"];

// deno-lint-ignore no-explicit-any -- answers of any shape
async function call(method: string, path: string, body?: unknown): Promise<any> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
  return { status: response.status, ...(await response.json()) };
}

async function finished(name: string, command: string): Promise<string> {
  const made = await call("POST", "/workflows/default", {
    workflow: {
      metadata: { name },
      spec: {
        entrypoint: "main",
        templates: [{ name: "main", container: { image: "x", command: [command] } }],
      },
    },
  });
  const { uid } = made.metadata;
  await until(async () => (await call("GET", `/archived-workflows/${uid}`)).status.finishedAt);
  return uid;
}

async function uidsOf(path: string): Promise<string[]> {
  const { items } = await call("GET", path);
  return (items ?? []).map((one: { metadata: { uid: string } }) => one.metadata.uid).sort();
}

async function counted(): Promise<number> {
  const { phases } = await call("GET", "/workflow-counts/default?bars=1");
  return (Object.values(phases) as number[][]).flat().reduce((sum, count) => sum + count, 0);
}

async function moved(): Promise<number> {
  const page = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^sluice_archive_writes_total\{outcome="moved"\} (\d+)/m.exec(page)?.[1] ?? 0);
}

test(
  "what the store kept before is shown once at every moment, while it moves and afterwards",
  async () => {
    await start("--archive-store=store");
    const good = await finished("good", "true");
    const bad = await finished("bad", "false");
    const gone = await finished("gone", "false");
    expect(await call("DELETE", "/workflows/default/gone")).toEqual({ status: 200 });
    const all = [good, bad, gone].sort();
    await until(async () => (await uidsOf("/archived-workflows")).length === 3);
    await server.stop();
    expect(existsSync(join(folder, "store", "archive.db"))).toBe(false);

    await start(...AT_ONCE);
    await until(async () => {
      for (const path of ["/archived-workflows", "/workflows/default?listOptions.limit=500"]) {
        expect(await uidsOf(path)).toEqual(all);
      }
      return await moved() === 3;
    });
    expect(existsSync(join(folder, "store", "archive.db"))).toBe(true);
    for (const path of ["/archived-workflows", "/workflows/default"]) {
      expect(await uidsOf(path)).toEqual(all);
    }
    for (const uid of all) {
      expect((await call("GET", `/archived-workflows/${uid}`)).metadata.uid).toBe(uid);
    }
    expect(await counted()).toBe(3);

    expect((await call("PUT", "/workflows/default/bad/retry", {})).metadata.uid).toBe(bad);
    expect((await call("PUT", `/archived-workflows/${gone}/retry`, {})).metadata.uid).toBe(gone);
    expect(await call("DELETE", `/archived-workflows/${good}`)).toEqual({ status: 200 });
    await until(async () => await moved() === 5);
    expect(await uidsOf("/workflows/default")).toEqual([bad, gone].sort());
    await server.stop();

    // Without the archive they cannot be shown, and the log says so.
    await start("--archive-store=store");
    expect(await uidsOf("/workflows/default")).toEqual([]);
    expect(server.log.join("\n")).toContain(
      "finished workflows of the archive in the store's folder are not shown",
    );
    await server.stop();
    await start(...AT_ONCE);
    expect(await uidsOf("/workflows/default")).toEqual([bad, gone].sort());
  },
  240_000,
);

test("a retried workflow counts once, also after its server was killed", async () => {
  await start(...AT_ONCE);
  await finished("good", "true");
  const made = await call("POST", "/workflows/default", {
    workflow: {
      metadata: { name: "waits" },
      spec: {
        entrypoint: "main",
        templates: [
          {
            name: "main",
            steps: [[{ name: "no", template: "no" }], [{ name: "wait", template: "wait" }]],
          },
          {
            name: "no",
            script: { image: "x", command: ["sh"], source: "exit {{workflow.parameters.status}}" },
          },
          { name: "wait", suspend: {} },
        ],
        arguments: { parameters: [{ name: "status", value: "1" }] },
      },
    },
  });
  await until(async () => await moved() === 2);
  await call("PUT", "/workflows/default/waits/retry", { parameters: ["status=0"] });
  await until(async () => {
    const { status } = await call("GET", "/workflows/default/waits");
    return JSON.stringify(status.nodes).includes('"wait"');
  });
  expect(await counted()).toBe(2);
  await server.kill();
  await start(...AT_ONCE);
  expect(await counted()).toBe(2);
  expect(await uidsOf("/workflows/default")).toContain(made.metadata.uid);
  expect(await call("DELETE", `/workflows/default/waits?force=true`)).toEqual({ status: 200 });
  await until(async () => await moved() === 0 && await counted() === 1);
}, 240_000);

test("with --archive=false finished workflows stay in the store", async () => {
  await start(...AT_ONCE, "--archive=false");
  const made = await call("POST", "/workflows/default", {
    workflow: {
      metadata: { name: "stays" },
      spec: {
        entrypoint: "main",
        templates: [{ name: "main", container: { image: "x", command: ["true"] } }],
      },
    },
  });
  await until(async () => (await call("GET", "/workflows/default/stays")).status.finishedAt);
  expect(await uidsOf("/workflows/default")).toEqual([made.metadata.uid]);
  expect(existsSync(join(folder, "store", "archive.db"))).toBe(false);
});
