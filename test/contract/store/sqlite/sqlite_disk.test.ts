/** The embedded store on a disk that is slow, that fails, and that loses its power. */
import {
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { partTexts } from "../../../../src/base/part_text.ts";
import { Problem, ProblemCode } from "../../../../src/base/problem.ts";
import { openSqliteArchive } from "../../../../src/archive/sqlite/archive.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import type { Store } from "../../../../src/store/port.ts";
import { acquired, changeOf, commitOf, entryOf, failureOf, never } from "../store_setting.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Waits of a disk, each of which ends when the test says so. */
class HeldDisk {
  readonly waits: { end: () => void; fail: (error: Error) => void }[] = [];
  isHeld = false;

  readonly sync = async (): Promise<void> => {
    if (this.isHeld) {
      await new Promise<void>((end, fail) => this.waits.push({ end, fail }));
    }
  };

  /** Resolves when the store waits for the disk. */
  async begun(): Promise<void> {
    while (this.waits.length === 0) await turn();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Some turns of the event loop, fewer than `most`. */
async function turns(most: number): Promise<void> {
  for (let left = Math.floor(Math.random() * most); left > 0; left--) await turn();
}

async function openOn(disk: HeldDisk): Promise<[Store, number]> {
  const store = await openSqliteStore({ folder, sync: disk.sync });
  const epoch = await acquired(store, 1);
  disk.isHeld = true;
  return [store, epoch];
}

function put(store: Store, epoch: number, id: string, text: string) {
  const change = changeOf(id, { put: partTexts({ h: text }), index: entryOf(id) });
  return store.shards.commit(commitOf(1, epoch, { actors: [change] }));
}

/** Whether a promise is still open after some turns of the event loop. */
async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  let isOpen = true;
  promise.then(() => isOpen = false, () => isOpen = false);
  for (let i = 0; i < 20; i++) await turn();
  return isOpen;
}

test("nobody is answered and nothing is shown before the disk has it, and the event loop goes on", async () => {
  const disk = new HeldDisk();
  const [store, epoch] = await openOn(disk);
  const before = await store.query.version();
  const watch = store.query.watch(before, never)[Symbol.asyncIterator]();
  const seen = watch.next();
  const first = put(store, epoch, "wf/a/one", "1");
  await disk.begun();
  const reads = [
    store.shards.loadActor(1, "wf/a/one"),
    store.query.list({ kind: "wf", limit: 0 }),
    store.query.changes(before),
    store.query.version(),
  ];
  // Comes too late for the transaction that the disk has now.
  const second = put(store, epoch, "wf/a/two", "2");
  for (const open of [first, second, seen, ...reads]) expect(await isOpen(open)).toBe(true);

  disk.waits.shift()?.end();
  const [actor, list, changes, version] = await Promise.all(reads) as [
    Awaited<ReturnType<Store["shards"]["loadActor"]>>,
    Awaited<ReturnType<Store["query"]["list"]>>,
    unknown[],
    string,
  ];
  expect(actor?.parts["h"]).toBe("1");
  expect(list.items.map(({ id }) => id)).toEqual(["wf/a/one"]);
  expect(changes).toHaveLength(1);
  expect(list.version).toBe(version);
  expect((await first).versions["wf/a/one"]).toBe(version);
  expect((await seen).value).toHaveLength(1);
  await disk.begun();
  expect(await isOpen(second)).toBe(true);
  disk.waits.shift()?.end();
  await second;
  await store.close();
});

test("a store that is closed while the disk is busy has written what was asked for", async () => {
  const disk = new HeldDisk();
  const [store, epoch] = await openOn(disk);
  const first = put(store, epoch, "wf/a/one", "1");
  await disk.begun();
  const second = put(store, epoch, "wf/a/two", "2");
  await store.close();
  await second;
  disk.waits.shift()?.end();
  await first;
  const again = await openSqliteStore({ folder, lockTimeoutMs: 100 });
  expect((await again.query.list({ kind: "wf", limit: 0 })).items).toHaveLength(2);
  await again.close();
});

test("a disk that fails is told, and nothing is read or written after it", async () => {
  const disk = new HeldDisk();
  const [store, epoch] = await openOn(disk);
  const told = (failing: Promise<unknown>) =>
    failureOf(failing).then((problem) => {
      expect(problem).toBeInstanceOf(Problem);
      expect(problem).toMatchObject({ code: ProblemCode.Unavailable, mayBeDone: true });
      expect((problem as Problem).message).toBe(
        "The store cannot be used: its disk has failed (EIO: i/o error, fdatasync); " +
          "restart the server when it works again",
      );
    });
  const first = told(put(store, epoch, "wf/a/one", "1"));
  await disk.begun();
  const second = told(put(store, epoch, "wf/a/two", "2"));
  const read = told(store.query.list({ kind: "wf", limit: 0 }));
  disk.waits.shift()?.fail(new Error("EIO: i/o error, fdatasync"));
  await Promise.all([first, second, read]);
  await told(put(store, epoch, "wf/a/three", "3"));
  await told(store.ping());
  await store.close();
});

test("the archive answers when the disk has it", async () => {
  const disk = new HeldDisk();
  const archive = openSqliteArchive({ folder, indexedParameters: [], sync: disk.sync });
  disk.isHeld = true;
  const noted = archive.noteBack(["uid"]);
  await disk.begun();
  expect(await isOpen(noted)).toBe(true);
  disk.waits.shift()?.end();
  await noted;
  disk.isHeld = false;
  await archive.close();
});

const BLOCK = 4_096;

/** One of the two files, as the disk has it for sure. */
interface Durable {
  path: string;
  file: number;
  bytes: Buffer;
}

function bytesOf(file: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(file).size);
  readSync(file, bytes, 0, bytes.length, 0);
  return bytes;
}

/**
 * What a disk may have of a file after a power cut: of each block what it had for sure, or what was written since.
 * @param share of the blocks that were written since, which have reached the disk
 */
function afterCut({ bytes, file }: Durable, share: number): Buffer {
  const now = bytesOf(file);
  const isLonger = share > 0 && now.length > bytes.length;
  const cut = Buffer.alloc(isLonger ? now.length : bytes.length);
  bytes.copy(cut);
  for (let at = 0; at < cut.length; at += BLOCK) {
    if (Math.random() < share) now.copy(cut, at, at, at + BLOCK);
  }
  return cut;
}

test("after a power cut at any moment, all that was answered or shown is there", {
  timeout: 120_000,
}, async () => {
  const path = join(folder, "sluice.db");
  const files: Durable[] = [];
  let checkpoints = 0;
  let isEmptying = false;
  const sync = async (file: number) => {
    const found = files.find((one) => statSync(one.path).ino === fstatSync(file).ino);
    const bytes = bytesOf(file);
    isEmptying = found?.path === path;
    await turns(12);
    if (found === undefined) return;
    found.bytes = bytes;
    if (isEmptying) checkpoints++;
    isEmptying = false;
  };
  const store = await openSqliteStore({ folder, sync });
  const epoch = await acquired(store, 1);
  for (const one of [path, `${path}-wal`]) {
    const file = openSync(one, "r");
    files.push({ path: one, file, bytes: bytesOf(file) });
  }

  const answered = new Map<string, number>();
  let shown = 0;
  let isOver = false;
  const write = async (id: string) => {
    for (let i = 1; !isOver; i++) {
      const filler = "x".repeat(Math.random() < 0.1 ? 200_000 : 2_000);
      await put(store, epoch, id, `${i} ${filler}`);
      answered.set(id, i);
    }
  };
  const look = async () => {
    while (!isOver) {
      shown = Number((await store.query.list({ kind: "wf", limit: 0 })).version);
      await turn();
    }
  };
  const busy = [...["one", "two", "three"].map((name) => write(`wf/a/${name}`)), look()];
  for (let cut = 0; cut < 30; cut++) {
    // Half of them while the log is emptied, when there is most to lose.
    if (cut % 2 === 0) { while (!isEmptying) await turn(); }
    await turns(cut % 2 === 0 ? 8 : 60);
    const copy = join(folder, `cut${cut}`);
    mkdirSync(copy);
    const share = [0, 0.5, 1][Math.floor(cut / 2) % 3] ?? 0;
    for (const one of files) {
      const bytes = afterCut(one, share);
      // SQLite itself waits for the disk after it has begun its log anew, before it writes more.
      if (one.path !== path) bytesOf(one.file).copy(bytes, 0, 0, BLOCK);
      writeFileSync(join(copy, one.path === path ? "sluice.db" : "sluice.db-wal"), bytes);
    }
    const [expected, version] = [new Map(answered), shown];
    const database = new DatabaseSync(join(copy, "sluice.db"));
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    database.close();
    const after = await openSqliteStore({ folder: copy });
    for (const [id, count] of expected) {
      const found = Number((await after.shards.loadActor(1, id))?.parts["h"]?.split(" ")[0]);
      expect(found).toBeGreaterThanOrEqual(count);
    }
    expect(Number(await after.query.version())).toBeGreaterThanOrEqual(version);
    await after.close();
    rmSync(copy, { recursive: true });
  }
  isOver = true;
  await Promise.all(busy);
  await store.close();
  for (const { file } of files) closeSync(file);
  // Otherwise none of the cuts came while the log was emptied.
  expect(checkpoints).toBeGreaterThan(5);
});
