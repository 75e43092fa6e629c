import { Buffer } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { configure, Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } from "@zip.js/zip.js";
import { turnsWhile } from "../../test/support/turns_while.ts";
import { Budget } from "./budget.ts";
import { unpackTarGz, unpackZip } from "./unpack.ts";

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

/** A block of a tar that begins an entry. */
function tarBlock(name: string, type: string, size = 0): Buffer {
  const block = Buffer.alloc(512);
  block.write(name);
  block.write(size.toString(8).padStart(11, "0"), 124);
  block.write(" ".repeat(8), 148);
  block.write(type, 156);
  const sum = block.reduce((before, byte) => before + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** Records of POSIX before an entry. */
function records(...pairs: [string, string][]): Buffer {
  const text = pairs.map(([name, value]) => {
    const length = name.length + value.length + 3;
    const digits = `${length + `${length}`.length}`.length;
    return `${length + digits} ${name}=${value}\n`;
  }).join("");
  const padded = Buffer.alloc(Math.ceil(text.length / 512) * 512);
  padded.write(text);
  return Buffer.concat([tarBlock("records", "x", text.length), padded]);
}

async function writeTarGz(...parts: Buffer[]): Promise<string> {
  const file = join(dir, "in.tgz");
  await writeFile(file, gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]), { level: 1 }));
  return file;
}

/** A zip whose directory names one folder so often. */
async function writeFoldersZip(count: number): Promise<string> {
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50);
  local.writeUInt16LE(2, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50);
  entry.writeUInt16LE(2, 28);
  const entries = Buffer.alloc(
    (entry.length + 2) * count,
    Buffer.concat([entry, Buffer.from("a/")]),
  );
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(local.length + 2, 16);
  const file = join(dir, "in.zip");
  await writeFile(file, Buffer.concat([local, Buffer.from("a/"), entries, end]));
  return file;
}

test("entries for which the disk has nothing to do leave others their turns: of a zip", async () => {
  const file = await writeFoldersZip(5_000);
  expect(await turnsWhile(unpackZip(file, dir, new Budget(2 ** 20)))).toBeGreaterThan(200);
});

test("entries for which the disk has nothing to do leave others their turns: of a tar", async () => {
  const file = await writeTarGz(Buffer.alloc(512 * 64_000, tarBlock("a/", "5")));
  expect(await turnsWhile(unpackTarGz(file, dir, new Budget(2 ** 30)))).toBeGreaterThan(100);
});

test("empty parts of a sparse file leave others their turns", async () => {
  const file = await writeTarGz(
    records(["GNU.sparse.map", Array(10_000).fill("0").join(",")], ["GNU.sparse.size", "0"]),
    tarBlock("sparse", "0"),
  );
  expect(await turnsWhile(unpackTarGz(file, dir, new Budget(2 ** 30)))).toBeGreaterThan(500);
});

test("what is left out counts as entries, too", async () => {
  const file = await writeTarGz(Buffer.alloc(512 * 200_001, tarBlock("device", "3")));
  await expect(unpackTarGz(file, dir, new Budget(2 ** 30))).rejects.toThrow("200000 entries");
});

test("unpacking ends with the signal", async () => {
  const ended = AbortSignal.abort(new Error("nobody waits for it"));
  const zip = await writeFoldersZip(10);
  await expect(unpackZip(zip, dir, new Budget(2 ** 20), ended)).rejects.toThrow("nobody waits");
  const tar = await writeTarGz(tarBlock("a/", "5"));
  await expect(unpackTarGz(tar, dir, new Budget(2 ** 20), ended)).rejects.toThrow("nobody waits");
});
