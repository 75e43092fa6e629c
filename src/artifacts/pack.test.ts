import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Budget } from "./budget.ts";
import { packTar } from "./pack.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-pack-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a file with a time before 1970 is packed so that other programs can read it", async () => {
  await mkdir(join(dir, "d"));
  await writeFile(join(dir, "d/old"), "old");
  await writeFile(join(dir, "d/z"), "after");
  spawnSync("touch", ["--date=@-1000000", join(dir, "d/old")]);
  const input = await buffer(packTar({ root: dir, path: "d" }, "d", new Budget(1_000_000)));
  const listed = spawnSync("tar", ["-tf", "-"], { input, encoding: "utf8" });
  expect(listed.stderr).toBe("");
  expect(listed.stdout).toBe("d/\nd/old\nd/z\n");
});
