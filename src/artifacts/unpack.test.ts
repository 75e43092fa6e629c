import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { configure, Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } from "@zip.js/zip.js";
import { Budget } from "./budget.ts";
import { unpackZip } from "./unpack.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-unpack-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Remembers the largest piece. */
class Watched extends Budget {
  largest = 0;

  override take(bytes: number): void {
    this.largest = Math.max(this.largest, bytes);
    super.take(bytes);
  }
}

test("a zip that unpacks to a thousand times its size is unpacked a little at a time", async () => {
  configure({ useWebWorkers: false });
  const writer = new ZipWriter(new Uint8ArrayWriter());
  await writer.add("zeros", new Uint8ArrayReader(new Uint8Array(70 * 2 ** 20)));
  await writeFile(join(dir, "bomb.zip"), await writer.close());
  const budget = new Watched(2 ** 30);
  await expect(unpackZip(join(dir, "bomb.zip"), dir, budget)).rejects.toThrow("200 times");
  // As many bytes are unpacked into one piece as packed ones are read, and all that these hold is in memory together.
  expect(budget.largest).toBeLessThanOrEqual(2 ** 16);
});
