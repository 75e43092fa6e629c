/** A disk that is full at the end of a copy, or at the start: it says so, and goes on once there is room. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyStore } from "../../../../src/service/stores/copy.ts";
import { openSource, openTarget } from "../../../../src/store/open_dump.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { smallDisk } from "../../../support/small_disk.ts";
import { dumpOf, fillStore } from "../../../support/whole_store.ts";

test("a copy whose last part finds no room is not taken for complete", async (context) => {
  const disk = smallDisk(6);
  if (disk === undefined) return context.skip("no tmpfs can be mounted here");
  const folder = mkdtempSync(join(tmpdir(), "sluice-copy-"));
  const [from, to] = [`sqlite:${folder}`, `sqlite:${join(disk.folder, "store")}`];
  try {
    const store = await openSqliteStore({ folder });
    const blobs = [{ key: "log/x", size: 1_500_000, piece: 60_000 }];
    await fillStore(store, { workflows: [], manifests: [], events: [], blobs }, 3);
    await store.close();
    const source = await openSource(from);

    const target = await openTarget(to);
    const failing = copyStore(source, {
      name: target.name,
      begin: (plan) => target.begin(plan),
      write: (records) => target.write(records),
      discard: () => target.discard(),
      finish() {
        disk.fill();
        return target.finish();
      },
      close: () => target.close(),
    }, { now: Date.now });
    await expect(failing).rejects.toThrow(/^The store cannot be used: .*(full|I\/O)/);
    await target.close();
    await expect(openSource(to)).rejects.toThrow("There is no store");

    disk.free();
    const again = await openTarget(to);
    expect(await copyStore(source, again, { now: Date.now })).toMatchObject({ hasGoneOn: true });
    const copied = await openSource(to);
    await copied.facts();
    expect(await dumpOf(copied)).toEqual(await dumpOf(source));
    await Promise.all([copied.close(), source.close()]);
  } finally {
    disk.remove();
    rmSync(folder, { recursive: true });
  }
});

test("a store that can't be opened on a full disk is opened once there is room", async (context) => {
  const disk = smallDisk(2);
  if (disk === undefined) return context.skip("no tmpfs can be mounted here");
  const open = () => openSqliteStore({ folder: join(disk.folder, "store"), lockTimeoutMs: 100 });
  try {
    await (await open()).close();
    disk.fill();
    await expect(open()).rejects.toThrow(/(full|I\/O)/);
    disk.free();
    await (await open()).close();
  } finally {
    disk.remove();
  }
});
