import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Scratch } from "./scratch.ts";

let dir: string;
let scratch: Scratch;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-scratch-"));
  scratch = new Scratch(dir);
});
afterEach(() => rm(dir, { recursive: true }));

async function fill(name: string): Promise<string> {
  const claim = scratch.claim("n", name);
  await mkdir(claim, { recursive: true });
  await writeFile(join(claim, "file"), "x");
  return claim;
}

test("a claim is removed for the workflow that made it, and for nobody else", async () => {
  const claim = await fill("wf-data");
  await scratch.ownClaim("n", "wf-data", "uid-1");
  await scratch.removeClaim("n", "wf-data", "uid-2");
  expect(await readdir(claim)).toEqual(["file"]);
  await scratch.removeClaim("n", "wf-data", "uid-1");
  await expect(readdir(claim)).rejects.toThrow("ENOENT");
  await scratch.removeClaim("n", "wf-data", "uid-1");
});

test("a claim that no workflow made stays", async () => {
  const claim = await fill("shared");
  await scratch.removeClaim("n", "shared", "uid-1");
  expect(await readdir(claim)).toEqual(["file"]);
});

test("a folder that can't be made is named, with what it is for", async () => {
  const file = join(dir, "file");
  await writeFile(file, "x");
  await expect(new Scratch(join(file, "tasks")).make()).rejects.toThrow(
    /^Cannot use the server's folder for steps, .*\/file\/tasks \(--work-dir, .*\): ENOTDIR/,
  );
});
