import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Budget } from "../../../src/artifacts/budget.ts";
import { placeFile } from "../../../src/artifacts/pack.ts";

/** No disk fails on request, but Linux refuses to read the start of a process's memory. */
const FAILING = "/proc/self/mem";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-pack-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test.skipIf(process.platform !== "linux")(
  "a stored file that can't be read fails, and is not taken for one that is no archive",
  async () => {
    const file = join(dir, "stored");
    await symlink(FAILING, file);
    await expect(placeFile(file, join(dir, "to"), { name: "a" }, new Budget(1_000)))
      .rejects.toThrow("EIO");
    expect(await readdir(dir)).toEqual(["stored"]);
  },
);
