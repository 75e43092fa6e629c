/** The folder of the embedded store: one process at a time, whatever happened to the one before. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import { openSqliteStore } from "../../src/store/sqlite_store.ts";
import { acquired, changeOf, commitOf, entryOf, failureOf } from "./store_setting.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-store-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openSqliteStore({ folder, lockTimeoutMs: 100 });

async function problemOf(promise: Promise<unknown>): Promise<Problem> {
  const failure = await failureOf(promise);
  expect(failure).toBeInstanceOf(Problem);
  return failure as Problem;
}

/** Another process that opens the folder, commits one thing after the other and prints what was answered. */
function startHolder() {
  const script = fileURLToPath(new URL("../support/sqlite_holder.ts", import.meta.url));
  const flags = process.versions["deno"] === undefined ? [] : ["run", "-A"];
  return spawn(process.execPath, [...flags, script, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("a second store on the same folder is refused in one line", async () => {
  const store = await open();
  const problem = await problemOf(open());
  expect(problem.code).toBe(ProblemCode.FailedPrecondition);
  expect(problem.message).toBe(
    `The store in ${folder} is in use by another process: stop that one, or use another folder`,
  );
  await store.close();
  await (await open()).close();
});

test("a process that is killed leaves nothing locked and loses nothing it acknowledged", async () => {
  const holder = startHolder();
  let acknowledged = 0;
  await new Promise<void>((resolve) =>
    holder.stdout.on("data", (chunk) => {
      acknowledged = Number(String(chunk).trim().split("\n").at(-1));
      if (acknowledged >= 50) resolve();
    })
  );
  expect((await problemOf(open())).message).toContain("in use by another process");
  holder.kill("SIGKILL");
  await once(holder, "exit");
  const store = await open();
  const actor = await store.shards.loadActor(1, "wf/a/one");
  expect(Number(actor?.parts["h"])).toBeGreaterThanOrEqual(acknowledged);
  // Its lease is void at once, with its epoch.
  const lease = await store.membership.acquire(1, "other", 1_000);
  expect(lease).toEqual({ shard: 1, epoch: 2 });
  await store.close();
});

test("a folder that cannot be made or read is named", async () => {
  writeFileSync(join(folder, "file"), "");
  const inFile = await problemOf(openSqliteStore({ folder: join(folder, "file", "deep") }));
  expect(inFile.message).toContain(join(folder, "file", "deep"));
  mkdirSync(join(folder, "bad"));
  writeFileSync(join(folder, "bad", "sluice.db"), "this is not a database, however long it may be");
  const notOurs = await problemOf(openSqliteStore({ folder: join(folder, "bad") }));
  expect(notOurs.code).toBe(ProblemCode.Unavailable);
});

test("a store of a newer version is refused", async () => {
  await (await open()).close();
  const database = new DatabaseSync(join(folder, "sluice.db"));
  database.exec("INSERT INTO migration VALUES (1000, 'later')");
  database.close();
  const problem = await problemOf(open());
  expect(problem.code).toBe(ProblemCode.FailedPrecondition);
  expect(problem.message).toContain("newer version");
});

test("in one batch a refused commit and one that fails leave the others alone", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  const put = (id: string, h: unknown) =>
    store.shards.commit(commitOf(1, epoch, {
      actors: [changeOf(id, { put: { h: h as string } })],
      outboxPut: { [id]: "effect" },
    }));
  const outcomes = await Promise.allSettled([
    put("wf/a/one", "1"),
    store.shards.commit(commitOf(1, epoch + 1)),
    // Not text: fails in the middle of its writes.
    put("wf/a/two", { not: "text" }),
    put("wf/a/three", "3"),
  ]);
  expect(outcomes.map(({ status }) => status))
    .toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  expect((await store.shards.loadShard(1)).outbox)
    .toEqual({ "wf/a/one": "effect", "wf/a/three": "effect" });
  expect(await store.shards.loadActor(1, "wf/a/two")).toBeUndefined();
  const version = Number(await store.query.version());
  const { versions } = await put("wf/a/one", "2") as { versions: Record<string, string> };
  expect(Number(versions["wf/a/one"])).toBe(version + 1);
  await store.close();
});

test("a page of a union leaves no statement open: the log is emptied into the database", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  const text = "x".repeat(100_000);
  const put = (i: number) => {
    const id = `wf/a/w${i % 10}`;
    const index = entryOf(id, { phase: i % 2 === 0 ? "Running" : "Failed", createdAt: i % 10 });
    return store.shards.commit(commitOf(1, epoch, {
      actors: [changeOf(id, { put: { h: `${text}${i}` }, index })],
    }));
  };
  for (let i = 0; i < 10; i++) await put(i);
  await store.query.list({ kind: "wf", limit: 1, phases: ["Running", "Failed"] });
  for (let i = 0; i < 300; i++) await put(i);
  // 30 MB were written; the log is emptied every 4 MB.
  expect(statSync(join(folder, "sluice.db-wal")).size).toBeLessThan(12 << 20);
  await store.close();
});
