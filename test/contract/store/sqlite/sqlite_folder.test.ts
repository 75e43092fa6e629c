/** The folder of the embedded store: one process at a time, whatever happened to the previous one. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../../../src/base/problem.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/schema.ts";
import { openSource, openTarget } from "../../../../src/store/open_dump.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { type ActorChange, VersionTooOld } from "../../../../src/store/port.ts";
import { smallDisk } from "../../../support/small_disk.ts";
import { acquired, changeOf, commitOf, entryOf, failureOf } from "../store_setting.ts";

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

/** Another process that opens the folder, makes one commit after another and prints the answers. */
function startHolder() {
  const script = fileURLToPath(new URL("../../../support/sqlite_holder.ts", import.meta.url));
  const flags = process.versions["deno"] === undefined ? [] : ["run", "-A"];
  return spawn(process.execPath, [...flags, script, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("a file that is no store is refused with what to do about it", async () => {
  writeFileSync(join(folder, "sluice.db"), "no database ".repeat(1_000));
  const { message } = await problemOf(open());
  expect(message).toBe(
    `Cannot open the store in ${folder}: sluice.db is damaged (file is not a database); ` +
      "put a backup in its place, or use another folder",
  );
});

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
  // Its lease and its epoch are void at once.
  const lease = await store.membership.acquire(1, "other", 1_000);
  expect(lease).toEqual({ shard: 1, epoch: 2 });
  await store.close();
});

test("the folder stays with its process after its log was emptied, on each runtime", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  // The log is emptied after 4 MiB.
  for (let at = 0; at < 12; at++) {
    const put = partTexts({ h: `${at} ${"x".repeat(1_000_000)}` });
    const actors = [changeOf("wf/a/one", { put, index: entryOf("wf/a/one") })];
    await store.shards.commit(commitOf(1, epoch, { actors }));
  }
  const emptied = statSync(join(folder, "sluice.db")).size;
  expect(emptied).toBeGreaterThan(1_000_000);
  // Only another process sees whether the operating system still has the lock.
  const holder = startHolder();
  const first = await Promise.race([
    once(holder, "exit").then(([status]) => ({ status: status as number })),
    once(holder.stdout, "data").then(() => "it has the folder" as const),
  ]);
  holder.kill("SIGKILL");
  expect(first).toEqual({ status: 1 });
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

/** Leaves the folder as a killed process does: with one workflow, most of which is in the log. */
async function leaveLog(): Promise<void> {
  const store = await open();
  const epoch = await acquired(store, 1);
  const actors = [changeOf("wf/a/one", { put: partTexts({ h: "1" }), index: entryOf("wf/a/one") })];
  await store.shards.commit(commitOf(1, epoch, { actors }));
  for (const file of ["sluice.db", "sluice.db-wal"]) {
    copyFileSync(join(folder, file), join(folder, `${file}.left`));
  }
  await store.close();
  for (const file of ["sluice.db", "sluice.db-wal"]) {
    renameSync(join(folder, `${file}.left`), join(folder, file));
  }
}

test.each(["missing", "empty"])(
  "a log whose store is %s is kept: with the store back beside it, nothing is lost",
  async (what) => {
    await leaveLog();
    const [file, aside] = [join(folder, "sluice.db"), join(folder, "aside")];
    renameSync(file, aside);
    if (what === "empty") writeFileSync(file, "");
    const problem = await problemOf(open());
    expect(problem.code).toBe(ProblemCode.FailedPrecondition);
    expect(problem.message).toBe(
      `The store in ${folder} lacks its file sluice.db, but sluice.db-wal is there, and may hold what was written last: ` +
        "put sluice.db back beside it, or move sluice.db-wal away to begin anew",
    );
    renameSync(aside, file);
    const store = await open();
    expect((await store.shards.loadActor(1, "wf/a/one"))?.parts).toEqual({ h: "1" });
    await store.close();
  },
);

test("a copy is not put beside the log of another store, which would be written into it", async () => {
  await leaveLog();
  rmSync(join(folder, "sluice.db"));
  const target = await openTarget(`sqlite:${folder}`);
  const plan = {
    from: "elsewhere",
    actors: 0,
    state: "1",
    shards: 2,
    version: "1",
    shardOf: () => 0,
    restart: false,
  };
  const refused = target.begin(plan);
  await expect(refused).rejects.toThrow("move sluice.db and sluice.db-wal away");
  await target.close();
});

test("a folder that may not be written is told as such", async (context) => {
  const disk = smallDisk(2);
  if (disk === undefined) return context.skip("no tmpfs can be mounted here");
  const refusal = async (place: string) =>
    (await problemOf(openSqliteStore({ folder: place }))).message;
  try {
    const [used, unused] = [join(disk.folder, "used"), join(disk.folder, "unused")];
    await (await openSqliteStore({ folder: used })).close();
    mkdirSync(unused);
    execFileSync("mount", ["-o", "remount,ro", disk.folder]);
    for (const place of [used, unused]) {
      expect(await refusal(place)).toMatch(
        /^Cannot open the store in \S+: EROFS: read-only file system, open .*; the user of the server must be able to write this folder and its files$/,
      );
    }
  } finally {
    disk.remove();
  }
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
      actors: [changeOf(id, { put: partTexts({ h: h as string }) })],
      outboxPut: { [id]: "effect" },
    }));
  const outcomes = await Promise.allSettled([
    put("wf/a/one", "1"),
    store.shards.commit(commitOf(1, epoch + 1)),
    // Not text, so the commit fails in the middle of its writes.
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
      actors: [changeOf(id, { put: partTexts({ h: `${text}${i}` }), index })],
    }));
  };
  for (let i = 0; i < 10; i++) await put(i);
  await store.query.list({ kind: "wf", limit: 1, phases: ["Running", "Failed"] });
  for (let i = 0; i < 300; i++) await put(i);
  // 30 MB were written; the log is emptied every 4 MB.
  expect(statSync(join(folder, "sluice.db-wal")).size).toBeLessThan(12 << 20);
  await store.close();
});

test("a damaged page ends a copy and a list with an error: what they lack would look as if it had never been", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  const nodes = Array.from({ length: 100 }, (_, i) => ({ key: `n:${i}`, text: "x".repeat(500) }));
  for (let i = 0; i < 100; i++) {
    const id = `wf/a/w${i}`;
    const index = entryOf(id, { createdAt: i, labels: { long: "l".repeat(500) } });
    const actors = [changeOf(id, { create: true, put: nodes, index })];
    await store.shards.commit(commitOf(1, epoch, { actors }));
  }
  await store.close();
  const file = openSync(join(folder, "sluice.db"), "r+");
  const page = 4_096;
  // Of each table the rows in the middle, and none of those that are read when it is opened.
  for (let at = 60; at < statSync(join(folder, "sluice.db")).size / page; at += 7) {
    writeSync(file, Buffer.alloc(page, 0xff), 0, page, at * page);
  }
  closeSync(file);
  const source = await openSource(`sqlite:${folder}`);
  const { message } = await problemOf((async () => {
    for await (const _ of source.read());
  })());
  expect(message).toBe("The store cannot be used: database disk image is malformed");
  await source.close();
  const damaged = await open();
  const list = await problemOf(damaged.query.list({ kind: "wf", limit: 0 }));
  expect(list.code).toBe(ProblemCode.Unavailable);
  await damaged.close();
});

test("the spec that workflows have in common is stored once, until the last of them is gone", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  const spec = "s".repeat(2_000);
  const change = (name: string, more: Partial<ActorChange>) =>
    store.shards.commit(commitOf(1, epoch, { actors: [changeOf(`wf/a/${name}`, more)] }));
  const specOf = async (name: string) =>
    (await store.shards.loadActor(1, `wf/a/${name}`))?.parts["s"];
  for (const name of ["one", "two", "three"]) {
    await change(name, { put: partTexts({ h: name, s: spec }) });
  }
  await change("one", { put: partTexts({ s: spec }) });
  await change("two", { put: partTexts({ s: "other" }) });
  expect(await Promise.all(["one", "two", "three"].map(specOf))).toEqual([spec, "other", spec]);
  await change("one", { remove: true });
  await change("two", { drop: ["s"] });
  expect(await Promise.all(["one", "two", "three"].map(specOf)))
    .toEqual([undefined, undefined, spec]);
  await store.close();
  expect(sharedTexts()).toEqual([{ text: spec, uses: 1 }]);
  const again = await open();
  const lease = await again.membership.acquire(1, "r1", 60_000);
  const actors = [changeOf("wf/a/three", { remove: true, remains: "left" })];
  await again.shards.commit(commitOf(1, lease?.epoch ?? 0, { actors }));
  expect((await again.shards.readRemains(1, "left", "", 10)).parts["s"]).toBe(spec);
  await again.shards.dropRemains(1, "left");
  await again.close();
  expect(sharedTexts()).toEqual([]);
});

function sharedTexts() {
  const database = new DatabaseSync(join(folder, "sluice.db"));
  const rows = database.prepare("SELECT text, uses FROM shared").all();
  database.close();
  return rows.map(({ text, uses }) => ({ text, uses }));
}

test("the feed is bounded by its size too, and keeps the last change whatever its size", async () => {
  const store = await openSqliteStore({ folder, feedSize: 50_000 });
  const epoch = await acquired(store, 1);
  const put = (i: number, h: string) =>
    store.shards.commit(
      commitOf(1, epoch, { actors: [changeOf(`wf/a/w${i}`, { put: partTexts({ h }) })] }),
    );
  const first = await store.query.version();
  for (let i = 0; i < 300; i++) await put(i, "x".repeat(1_000));
  expect(await failureOf(store.query.changes(first))).toBeInstanceOf(VersionTooOld);
  const last = await store.query.version();
  expect((await store.query.changes(String(Number(last) - 40))).length).toBe(40);
  for (let i = 0; i < 64; i++) await put(i, "y".repeat(60_000));
  const version = Number(await store.query.version());
  expect((await store.query.changes(String(version - 1)))[0]?.put["h"]).toHaveLength(60_000);
  await store.close();
});

test("a store of an earlier version is upgraded: its workflows stay, its feed begins anew", async () => {
  const old = new DatabaseSync(join(folder, "sluice.db"));
  old.exec("CREATE TABLE migration (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)");
  MIGRATIONS.slice(0, 4).forEach((sql, index) => {
    old.exec(sql);
    old.prepare("INSERT INTO migration VALUES (?, 'then')").run(index + 1);
  });
  const entry = JSON.stringify(entryOf("wf/a/one"));
  old.prepare("INSERT INTO actor VALUES (1, 'wf/a/one', 7, 'u', ?)").run(entry);
  old.exec(`INSERT INTO part VALUES (1, 'h', 'header'), (1, 's', 'spec');
    INSERT INTO term VALUES ('*', 1000, 'wf/a/one');
    INSERT INTO counter VALUES ('version', 7);
    INSERT INTO feed VALUES (7, 'ADDED', 'wf/a/one', '{"put":{"h":"header","s":"spec"},"drop":[]}')`);
  old.close();
  const store = await open();
  const { items } = await store.query.list({ kind: "wf", limit: 0 });
  expect(items.map(({ id, parts }) => [id, parts])).toEqual([
    ["wf/a/one", { h: "header", s: "spec" }],
  ]);
  expect(await failureOf(store.query.changes("6"))).toBeInstanceOf(VersionTooOld);
  expect(await store.query.changes("7")).toEqual([]);
  await store.close();
});

test("in a store of an earlier version, those that are waiting are found", async () => {
  const old = new DatabaseSync(join(folder, "sluice.db"));
  old.exec("CREATE TABLE migration (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)");
  MIGRATIONS.slice(0, 5).forEach((sql, index) => {
    old.exec(sql);
    old.prepare("INSERT INTO migration VALUES (?, 'then')").run(index + 1);
  });
  const put = (row: number, nodes: object[], entry = "") => {
    const id = `wf/a/w${row}`;
    old.prepare("INSERT INTO actor VALUES (?, ?, 7, ?, ?)")
      .run(row, id, id, entry || JSON.stringify(entryOf(id)));
    for (const [at, node] of nodes.entries()) {
      old.prepare("INSERT INTO part VALUES (?, ?, ?, NULL)")
        .run(row, `n:${at}`, JSON.stringify(node));
    }
  };
  const step = (phase: string, startedAt: number) => ({ type: "Suspend", phase, startedAt });
  put(1, [step("Running", 30), step("Running", 20), step("Succeeded", 10)]);
  put(2, [step("Succeeded", 10), { type: "Pod", phase: "Running", startedAt: 5 }]);
  put(3, [step("Running", 10)]);
  // Damaged records do not keep the store from being opened.
  put(4, [step("Running", 10)], "{");
  old.exec("INSERT INTO part VALUES (2, 'n:9', '\"Suspend\" {', NULL)");
  old.close();
  const store = await open();
  const { items } = await store.query.list({ kind: "wf", limit: 0, waiting: true });
  expect(items.map(({ id, index }) => [id, index.waitsSince])).toEqual([
    ["wf/a/w3", 10],
    ["wf/a/w1", 20],
  ]);
  await store.close();
});

test("a file whose schema can't be read says which one it is", async () => {
  const database = new DatabaseSync(join(folder, "sluice.db"));
  database.exec("CREATE TABLE migration (other TEXT)");
  database.close();
  const problem = await problemOf(open());
  expect(problem.code).toBe(ProblemCode.Unavailable);
  expect(problem.message).toBe(
    `Cannot open the store in ${folder}: no such column: version`,
  );
});

test("a write that fails is told why, although it can't be rolled back either", async () => {
  const exec = DatabaseSync.prototype.exec;
  const store = await open();
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === "COMMIT") throw new Error("database or disk is full");
    if (sql === "ROLLBACK") throw new Error("cannot rollback");
    return exec.call(this, sql);
  };
  try {
    const problem = await problemOf(store.membership.acquire(1, "a", 60_000));
    expect(problem.message).toContain("database or disk is full");
  } finally {
    DatabaseSync.prototype.exec = exec;
  }
  await store.close();
});

test("a watch that is behind reads few large changes at a time, and all of them", async () => {
  const store = await open();
  await store.membership.shardCount(8);
  const epoch = await acquired(store, 1);
  const before = await store.query.version();
  const text = "x".repeat(30_000);
  for (let at = 0; at < 20; at++) {
    const id = `wf/ns/w${at}`;
    const put = partTexts({ h: text });
    const actors = [changeOf(id, { create: true, put, index: entryOf(id) })];
    await store.shards.commit(commitOf(1, epoch, { actors }));
  }
  let seen = 0;
  for (let from = before;;) {
    const changes = await store.query.changes(from);
    const last = changes.at(-1);
    if (last === undefined) break;
    expect(changes.length).toBeLessThan(7);
    seen += changes.length;
    from = last.version;
  }
  expect(seen).toBe(20);
  await store.close();
});
