import { spawnSync } from "node:child_process";
import { link, mkdir, mkdtemp, open, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readTar } from "./tar_reader.ts";

const MIB = 1024 * 1024;
let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-tar-"));
  await mkdir(join(dir, "d"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function tarOf(...options: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync("tar", ["-C", dir, ...options, "-cf", "-", "d"], {
    maxBuffer: 64 * MIB,
  });
  if (status !== 0) throw new Error(String(stderr));
  return stdout;
}

/** The bytes in pieces of a size that fits nothing. */
async function* pieces(bytes: Buffer, length = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
  await Promise.resolve();
}

async function entriesOf(bytes: Buffer) {
  const found = [];
  for await (const { body, ...entry } of readTar(pieces(bytes))) {
    const content = entry.type === "file" ? await buffer(Readable.from(body)) : Buffer.alloc(0);
    found.push({ ...entry, content });
  }
  return found;
}

const FORMATS = [["gnu"], ["oldgnu"], ["pax"], ["ustar"], ["v7"]];

test.each(FORMATS)("%s: names, links, modes and contents", async (format) => {
  await mkdir(join(dir, "d", "n".repeat(60)), { recursive: true });
  await writeFile(join(dir, "d", "n".repeat(60), "f"), "a".repeat(5_000), { mode: 0o640 });
  await link(join(dir, "d", "n".repeat(60), "f"), join(dir, "d/same"));
  await symlink("same", join(dir, "d/to"));
  const found = await entriesOf(tarOf(`--format=${format}`, "--sort=name"));
  expect(found.map(({ type, name, target }) => [type, name, target])).toEqual([
    ["folder", "d/", ""],
    ["folder", `d/${"n".repeat(60)}/`, ""],
    ["file", `d/${"n".repeat(60)}/f`, ""],
    ["hard link", "d/same", `d/${"n".repeat(60)}/f`],
    ["link", "d/to", "same"],
  ]);
  expect(found[2]).toMatchObject({ mode: 0o640, size: 5_000, holes: 0 });
  expect(String(found[2]?.content)).toBe("a".repeat(5_000));
});

test.each([["gnu"], ["pax"]])("%s: a long name, and a time before 1970", async (format) => {
  const name = `${"é".repeat(100)}-${"x".repeat(50)}`;
  await writeFile(join(dir, "d", name), "old");
  spawnSync("touch", ["--date=@-1000000", join(dir, "d", name)]);
  const [, file] = await entriesOf(tarOf(`--format=${format}`));
  expect(file).toMatchObject({ name: `d/${name}`, mtime: new Date(-1e9) });
});

describe.each([
  ["the format of GNU", ["--format=gnu"]],
  ["pax 0.0", ["--format=pax", "--sparse-version=0.0"]],
  ["pax 0.1", ["--format=pax", "--sparse-version=0.1"]],
  ["pax 1.0", ["--format=pax", "--sparse-version=1.0"]],
])("sparse files in %s", (_, options) => {
  test.each([[0], [1], [30]])("with %d parts are whole", async (parts) => {
    const size = 4 * MIB + 7;
    const whole = Buffer.alloc(size);
    for (let at = 0; at < parts; at++) whole.write(`part ${at}`, at * 128 * 1024 + 5_000);
    const file = await open(join(dir, "d/sparse"), "w");
    await file.truncate(size);
    for (let at = 0; at < parts; at++) {
      await file.write(Buffer.from(`part ${at}`), 0, null, at * 128 * 1024 + 5_000);
    }
    await file.close();
    await writeFile(join(dir, "d/z"), "after");
    const bytes = tarOf("--sparse", "--sort=name", ...options);
    expect(bytes.length).toBeLessThan(MIB);
    const [, sparse, after] = await entriesOf(bytes);
    expect(sparse?.name).toBe("d/sparse");
    expect(sparse?.size).toBe(size);
    expect(sparse?.content.equals(whole)).toBe(true);
    expect(sparse?.holes).toBeGreaterThan(MIB);
    expect(String(after?.content)).toBe("after");
  });
});

test("an archive that is cut off, or damaged, is an error", async () => {
  await writeFile(join(dir, "d/f"), "a".repeat(2_000));
  const whole = tarOf("--format=gnu");
  for (const length of [700, 1_100, 2_000, 3_000]) {
    await expect(entriesOf(whole.subarray(0, length))).rejects.toThrow("ends in the middle");
  }
  const damaged = Buffer.from(whole);
  damaged.write("x", 512 + 3);
  await expect(entriesOf(damaged)).rejects.toThrow("a checksum is wrong");
});

test("an archive without an end of its own, and one that goes on behind it, are whole", async () => {
  await writeFile(join(dir, "d/f"), "a");
  const whole = tarOf("--format=gnu");
  expect(await entriesOf(whole.subarray(0, 512 * 3))).toHaveLength(2);
  expect(await entriesOf(Buffer.concat([whole, Buffer.alloc(100, 7)]))).toHaveLength(2);
});

test("an entry that nobody reads is passed", async () => {
  for (const name of ["a", "b"]) await writeFile(join(dir, "d", name), name.repeat(3_000));
  const names: string[] = [];
  for await (const { name } of readTar(pieces(tarOf()))) names.push(name);
  expect(names.sort()).toEqual(["d/", "d/a", "d/b"]);
  expect(await readdir(join(dir, "d"))).toHaveLength(2);
});
