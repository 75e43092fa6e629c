import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { entriesIn } from "../platform/files/folder_entries.ts";
import { FolderObjects } from "./folder_objects.ts";

/** What reading the folder `b` fails with. */
let fault: string | undefined;

let root: string;
beforeEach(async () => {
  fault = undefined;
  root = await mkdtemp(join(tmpdir(), "sluice-objects-"));
  for (const name of ["a", "b"]) {
    await mkdir(join(root, "d", name), { recursive: true });
    await writeFile(join(root, "d", name, "file"), name);
  }
});
afterEach(() => rm(root, { recursive: true, force: true }));

const list = () =>
  Array.fromAsync(
    new FolderObjects(root, async function* (path) {
      if (fault !== undefined && path.endsWith("/b")) {
        throw Object.assign(new Error(fault), { code: fault });
      }
      yield* entriesIn(path);
    }).list("d/"),
  );

test("lists all files below a folder, and fails where one of its folders can't be read", async () => {
  expect(await list()).toEqual(["d/a/file", "d/b/file"]);
  fault = "EMFILE";
  await expect(list()).rejects.toThrow("EMFILE");
  fault = "ENOENT";
  expect(await list()).toEqual(["d/a/file"]);
});
