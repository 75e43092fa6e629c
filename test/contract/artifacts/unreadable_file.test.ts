import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Budget } from "../../../src/artifacts/budget.ts";
import { placeFile } from "../../../src/artifacts/pack.ts";

// No disk fails on request.
vi.mock("../../../src/artifacts/file_stream.ts", async (original) => ({
  ...await original<typeof import("../../../src/artifacts/file_stream.ts")>(),
  readFileStream: () =>
    new Readable({
      read() {
        this.destroy(new Error("EIO: i/o error, read"));
      },
    }),
}));

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-pack-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a stored file that can't be read fails, and is not taken for one that is no archive", async () => {
  const file = join(dir, "stored");
  await writeFile(file, gzipSync("text"));
  await expect(placeFile(file, join(dir, "to"), { name: "a" }, new Budget(1_000)))
    .rejects.toThrow("EIO");
  expect(await readdir(dir)).toEqual(["stored"]);
});
