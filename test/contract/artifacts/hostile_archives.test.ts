/**
 * Archives made to harm: what is unpacked stays in its folder and is bounded, and what is packed contains nothing from
 * outside.
 */
import { spawnSync } from "node:child_process";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { createGunzip, createGzip, gzipSync } from "node:zlib";
import { buffer } from "node:stream/consumers";
import {
  BlobReader,
  BlobWriter,
  configure,
  TextReader,
  TextWriter,
  ZipReader,
  ZipWriter,
} from "@zip.js/zip.js";
import { packTar, unpackTar } from "modern-tar";
import type { TarEntry } from "modern-tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import type { ConfigSource } from "../../../src/artifacts/config_source.ts";
import { walkInside } from "../../../src/platform/files/tree.ts";
import type { Artifact } from "../../../src/spec/manifest.ts";

const SCOPE = { namespace: "default" };
const MIB = 1024 * 1024;
const SECRET = "what-only-the-host-may-know";
configure({ useWebWorkers: false });

let dir = "";
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "sluice-hostile-")));
  await mkdir(join(dir, "outside"));
  await writeFile(join(dir, "outside/secret"), SECRET);
  await mkdir(join(dir, "in"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const noConfig: ConfigSource = {
  configMap: () => Promise.resolve(undefined),
  secret: () => Promise.resolve(undefined),
};

function store(maxBytes?: number) {
  return createArtifactStore({
    repository: { type: "folder", path: join(dir, "repository") },
    keys: "shared",
    config: noConfig,
    allowLocalGit: true,
    ...(maxBytes !== undefined && { maxBytes }),
  });
}

/** Stores bytes and fetches them as an artifact that is unpacked to `in/got`. */
async function fetchPacked(bytes: Uint8Array, more: object, maxBytes?: number): Promise<void> {
  const artifact = { name: "a", s3: { key: "packed" } };
  await store().write(artifact, Readable.from([bytes]), SCOPE);
  await store(maxBytes).fetch({ ...artifact, ...more }, join(dir, "in/got"), SCOPE);
}

/** Expects that, whatever the result, nothing is outside `in/got` and no link in it leads outside. */
async function expectContained(): Promise<void> {
  expect((await readdir(dir)).sort()).toEqual(["in", "outside", "repository"]);
  expect(await readdir(join(dir, "outside"))).toEqual(["secret"]);
  expect(await readFile(join(dir, "outside/secret"), "utf8")).toBe(SECRET);
  for (const name of await readdir(join(dir, "in"))) expect(name).toBe("got");
  const top = join(dir, "in/got");
  if (!await lstat(top).then(() => true, () => false)) return;
  expect((await lstat(top)).isSymbolicLink()).toBe(false);
  const entries = (await lstat(top)).isDirectory()
    ? await readdir(top, { recursive: true, withFileTypes: true })
    : [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const found = await lstat(path);
    expect(found.isFile() || found.isDirectory() || found.isSymbolicLink()).toBe(true);
    expect(found.mode & 0o7000).toBe(0);
    if (!found.isSymbolicLink()) continue;
    const end = await realpath(path).catch(() => top);
    expect(end === top || end.startsWith(`${top}/`), `${path} leads to ${end}`).toBe(true);
  }
}

/**
 * Entries of an archive: `name` with a text, `name -> target` for a link, `name => target` for a hard link, `name/`.
 */
type Entries = string[];

const HOSTILE: [what: string, entries: Entries][] = [
  ["a name with ..", ["../escaped"]],
  ["a name with .. in the middle", ["d/../../escaped"]],
  ["many ..", [`${"../".repeat(30)}tmp/escaped`]],
  ["an absolute name", ["/tmp/sluice-escaped"]],
  ["an absolute name of the folder beside", ["/in/../outside/new"]],
  ["a name of dots and slashes", ["d/.././../escaped"]],
  ["a folder named ..", ["../", "f"]],
  ["a name of 5000 bytes", [`d/${"n".repeat(5_000)}`]],
  ["200 levels", [`${"d/".repeat(200)}f`]],
  ["an absolute link", ["d/", "d/l -> /etc/passwd"]],
  ["a link to the root", ["d/", "d/l -> /"]],
  ["a link one level out", ["d/", "d/l -> .."]],
  ["a link one level out, to a name", ["d/", "d/f", "d/l -> ../outside"]],
  ["a link two levels out", ["d/", "d/l -> ../../outside/secret"]],
  ["a link that goes down and up", ["d/", "d/e/", "d/l -> e/../../../outside"]],
  ["a link through a link", ["d/", "d/e/f/g", "d/e/f/up -> ../..", "d/q -> e/f/up/../../outside"]],
  ["a link over a link", ["d/", "d/a -> b", "d/b -> ../outside"]],
  ["the only entry a link", ["l -> /etc/passwd"]],
  ["the only entry a link up", ["l -> ../outside"]],
  ["a file through a link", ["d/", "d/l -> ../../outside", "d/l/new"]],
  ["a file over a link", ["d/", "d/l -> ../../outside/secret", "d/l"]],
  ["a link over a file", ["d/", "d/f", "d/f -> ../../outside/secret"]],
  ["a link over a folder", ["d/", "d/e/", "d/e -> ../../outside"]],
  ["a folder over a link", ["d/", "d/e -> ../../outside", "d/e/", "d/e/new"]],
  ["an empty link", ["d/", "d/l -> "]],
  ["a very long link", ["d/", `d/l -> ${"x/".repeat(3_000)}`]],
  ["a hard link outside", ["d/", "d/h => ../../outside/secret"]],
  ["an absolute hard link", ["d/", "d/h => /etc/passwd"]],
  ["a hard link to a link", ["d/", "d/l -> ../../outside/secret", "d/h => d/l"]],
  ["a hard link to a folder", ["d/", "d/e/", "d/h => d/e"]],
  ["a hard link to itself", ["d/", "d/h => d/h"]],
];

const HARMLESS: [what: string, entries: Entries, files: string[]][] = [
  ["a link beside", ["d/", "d/f", "d/l -> f"], ["f", "l"]],
  ["a link up and down inside", ["d/", "d/e/g", "d/e/l -> ../f", "d/f"], ["e", "e/g", "e/l", "f"]],
  ["two entries and a link across", ["d/f", "e/l -> ../d/f"], ["d", "d/f", "e", "e/l"]],
  ["a link through a link inside", ["d/", "d/e/f", "d/a -> e", "d/b -> a/f"], [
    "a",
    "b",
    "e",
    "e/f",
  ]],
  ["dots in names", ["./d/./..f", "./d/..."], ["...", "..f"]],
  ["the same file twice", ["d/f", "d/f"], ["f"]],
];

function tar(entries: Entries): Promise<Uint8Array> {
  return packTar(entries.map((entry): TarEntry => {
    const [name = "", target] = entry.split(/ [-=]> ?/);
    if (target !== undefined) {
      const type = entry.includes("=>") ? "link" : "symlink";
      return { header: { name, type, linkname: target, size: 0 } };
    }
    if (name.endsWith("/")) return { header: { name, type: "directory", size: 0 } };
    return { header: { name, size: 4, mode: 0o4755 }, body: "text" };
  }));
}

async function zip(entries: Entries): Promise<Uint8Array> {
  const writer = new ZipWriter(new BlobWriter());
  for (const [index, entry] of entries.entries()) {
    const [name = "", target] = entry.split(/ [-=]> ?/);
    // A zip may not contain a name twice, but the same path can be written in another way.
    const fresh = entries.slice(0, index).some((one) => one.split(" ")[0] === name)
      ? `./${name}`
      : name;
    const options = { unixMode: target === undefined ? 0o104755 : 0o120777 };
    if (name.endsWith("/")) await writer.add(fresh, undefined, { directory: true });
    else await writer.add(fresh, new TextReader(target ?? "text"), options);
  }
  return new Uint8Array(await (await writer.close()).arrayBuffer());
}

describe("what is unpacked stays in its folder", () => {
  test.each(HOSTILE)("tar: %s", async (_, entries) => {
    await fetchPacked(gzipSync(await tar(entries)), {}).catch(() => {});
    await expectContained();
    await expect(stat("/tmp/escaped")).rejects.toThrow("ENOENT");
    await expect(stat("/tmp/sluice-escaped")).rejects.toThrow("ENOENT");
  });

  test.each(HOSTILE.filter(([, entries]) => !entries.some((entry) => entry.includes("=>"))))(
    "zip: %s",
    async (_, entries) => {
      await fetchPacked(await zip(entries), { archive: { zip: {} } }).catch(() => {});
      await expectContained();
      await expect(stat("/tmp/escaped")).rejects.toThrow("ENOENT");
      await expect(stat("/tmp/sluice-escaped")).rejects.toThrow("ENOENT");
    },
  );

  test.each(HARMLESS)("an honest archive is as it was: %s", async (_, entries, files) => {
    const more = [
      [gzipSync(await tar(entries)), {}],
      [await zip(entries), { archive: { zip: {} } }],
    ] as const;
    for (const [bytes, archive] of more) {
      await fetchPacked(bytes, archive);
      await expectContained();
      const found: string[] = [];
      for await (const { path } of walkInside({ root: dir, path: "in/got" })) found.push(path);
      expect(found.slice(1).sort()).toEqual(files);
      for (const file of files) expect(await stat(join(dir, "in/got", file))).toBeDefined();
    }
  });

  test("a hard link inside is one, devices and pipes are left out", async () => {
    const made = await packTar([
      { header: { name: "d/f", size: 4 }, body: "text" },
      { header: { name: "d/h", type: "link", linkname: "d/f", size: 0 } },
      { header: { name: "d/c", type: "character-device", size: 0 } },
      { header: { name: "d/b", type: "block-device", size: 0 } },
      { header: { name: "d/p", type: "fifo", size: 0 } },
    ]);
    await fetchPacked(gzipSync(made), {});
    expect((await readdir(join(dir, "in/got"))).sort()).toEqual(["f", "h"]);
    expect((await stat(join(dir, "in/got/h"))).nlink).toBe(2);
  });

  test("a hard link to a link is one, and the later of two links counts", async () => {
    const made = await packTar([
      { header: { name: "d/f", size: 4 }, body: "text" },
      { header: { name: "d/l", type: "symlink", linkname: "none", size: 0 } },
      { header: { name: "d/l", type: "symlink", linkname: "f", size: 0 } },
      { header: { name: "d/h", type: "link", linkname: "d/l", size: 0 } },
    ]);
    await fetchPacked(gzipSync(made), {});
    await expectContained();
    for (const name of ["l", "h"]) {
      expect(await readlink(join(dir, "in/got", name))).toBe("f");
    }
  });

  test("what was there before is replaced, a link itself rather than what it leads to", async () => {
    await symlink(join(dir, "outside"), join(dir, "in/got"));
    await fetchPacked(gzipSync(await tar(["d/f", "d/g"])), { mode: 0o777, recurseMode: true });
    await expectContained();
    expect((await readdir(join(dir, "in/got"))).sort()).toEqual(["f", "g"]);
  });

  test("mode and recurseMode don't go through links", async () => {
    const before = (await stat(join(dir, "outside/secret"))).mode;
    const made = await tar(["d/f", "d/l -> f"]);
    await fetchPacked(gzipSync(made), { mode: 0o4700, recurseMode: true });
    expect((await stat(join(dir, "in/got/f"))).mode & 0o7777).toBe(0o700);
    expect((await stat(join(dir, "outside/secret"))).mode).toBe(before);
  });
});

describe("what is unpacked is bounded", () => {
  const zeros = (bytes: number) =>
    Readable.from((function* () {
      const chunk = Buffer.alloc(MIB);
      for (let left = bytes; left > 0; left -= chunk.length) {
        yield chunk.subarray(0, Math.min(left, chunk.length));
      }
    })());

  async function bomb(bytes: number): Promise<Buffer> {
    const header = (await packTar([{ header: { name: "d/zeros", size: 0 } }])).slice(0, 512);
    header.set(new TextEncoder().encode(bytes.toString(8).padStart(11, "0")), 124);
    header.fill(32, 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
    const gzip = createGzip();
    Readable.from((async function* () {
      yield header;
      yield* zeros(bytes);
    })()).pipe(gzip);
    return await buffer(gzip);
  }

  test("a tar that holds more than is allowed", async () => {
    await expect(fetchPacked(await bomb(8 * MIB), {}, 4 * MIB)).rejects.toThrow(
      "Artifact is too large: it has more than 4194304 bytes; --max-artifact-bytes",
    );
    await expectContained();
  });

  test("a tar that is more than 200 times as large as it was packed", async () => {
    await expect(fetchPacked(await bomb(96 * MIB), {})).rejects.toThrow("more than 200 times");
    await expectContained();
  });

  test("a sparse file whose holes are more than 200 times what was packed", async () => {
    await mkdir(join(dir, "sparse"));
    await writeFile(join(dir, "sparse/holes"), "");
    await truncate(join(dir, "sparse/holes"), 96 * MIB);
    const args = ["-C", dir, "--sparse", "-czf", "-", "sparse"];
    const { stdout } = spawnSync("tar", args, { maxBuffer: MIB });
    await rm(join(dir, "sparse"), { recursive: true });
    await expect(fetchPacked(stdout, {})).rejects.toThrow("more than 200 times");
    await expect(fetchPacked(stdout, {}, MIB)).rejects.toThrow("more than 1048576 bytes");
    await expectContained();
  });

  test("a zip that is more than 200 times as large as it was packed", async () => {
    const writer = new ZipWriter(new BlobWriter());
    const body = Readable.toWeb(zeros(96 * MIB)) as unknown as ReadableStream<Uint8Array>;
    await writer.add("zeros", body, { level: 9 });
    const bytes = new Uint8Array(await (await writer.close()).arrayBuffer());
    const archive = { zip: {} };
    await expect(fetchPacked(bytes, { archive })).rejects.toThrow("more than 200 times");
    await expect(fetchPacked(bytes, { archive }, MIB)).rejects.toThrow("more than 1048576 bytes");
    await expectContained();
  });

  test.each([["tar.gz", {}], ["zip", { archive: { zip: {} } }]])(
    "a %s that is cut short or broken is an error, and leaves nothing",
    async (kind, more) => {
      const whole = kind === "zip" ? await zip(["d/f"]) : gzipSync(await tar(["d/f"]));
      for (const cut of [20, 60, whole.length - 10]) {
        await fetchPacked(whole.slice(0, cut), more).catch(() => {});
      }
      const broken = Uint8Array.from(whole, (byte, index) => index > 30 ? byte ^ 0x55 : byte);
      await fetchPacked(broken, more).catch(() => {});
      await expectContained();
    },
  );

  test("an answer over http that never ends", async () => {
    const server = createServer((_, response) => {
      const chunk = Buffer.alloc(64 * 1024, "x");
      const send = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once("drain", send);
      };
      send();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const artifact = { name: "h", http: { url } };
    await expect(store(MIB).fetch(artifact, join(dir, "in/got"), SCOPE)).rejects.toThrow(
      "more than 1048576 bytes",
    );
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    expect(await readdir(join(dir, "in"))).toEqual([]);
  });

  test("a folder of many objects", async () => {
    for (const name of ["a", "b", "c"]) {
      const artifact = { name: "o", s3: { key: `folder/${name}` } };
      await store().write(artifact, Readable.from([Buffer.alloc(600)]), SCOPE);
    }
    const artifact = { name: "a", s3: { key: "folder" } };
    await expect(store(1_024).fetch(artifact, join(dir, "in/got"), SCOPE)).rejects.toThrow(
      "more than 1024 bytes",
    );
    expect(await store(2_048).fetch(artifact, join(dir, "in/got"), SCOPE)).toBe(true);
  });
});

describe("what is packed holds nothing from outside", () => {
  const MODES: [string, Artifact["archive"]][] = [
    ["tar", { tar: {} }],
    ["zip", { zip: {} }],
    ["none", { none: {} }],
  ];
  const TREES: [what: string, make: (top: string) => Promise<unknown>][] = [
    ["an absolute link", (top) => symlink(join(dir, "outside/secret"), join(top, "l"))],
    ["a relative link", (top) => symlink("../../outside/secret", join(top, "l"))],
    ["a link to a folder", (top) => symlink(join(dir, "outside"), join(top, "l"))],
    ["a chain of links", async (top) => {
      await symlink("m", join(top, "l"));
      await symlink(join(dir, "outside"), join(top, "m"));
    }],
    ["a link to itself", (top) => symlink("l", join(top, "l"))],
  ];

  /** The contents of all entries of an archive. */
  async function contents(key: string, mode: string): Promise<string> {
    const found = await store().open({ name: "a", s3: { key } }, SCOPE);
    if (found === undefined) return "";
    const bytes = await buffer(found.body);
    if (mode === "none") return bytes.toString();
    if (mode === "tar") {
      const whole = await buffer(Readable.from([bytes]).pipe(createGunzip()));
      const entries = await unpackTar(new Uint8Array(whole));
      return entries.map(({ data }) => Buffer.from(data ?? []).toString()).join();
    }
    const reader = new ZipReader(new BlobReader(new Blob([new Uint8Array(bytes)])));
    const texts: string[] = [];
    for (const entry of await reader.getEntries()) {
      if (!entry.directory) texts.push(await entry.getData(new TextWriter()));
    }
    return texts.join();
  }

  describe.each(MODES)("%s", (mode, archive) => {
    test.each(TREES)("%s in a folder", async (_, make) => {
      const top = join(dir, "in/got");
      await mkdir(top);
      await writeFile(join(top, "f"), "honest");
      await make(top);
      const artifact = { name: "a", path: "/x", archive: archive ?? {}, s3: { key: "out" } };
      await store().save(artifact, top, "p", SCOPE);
      const keys = await store().list({ name: "a", s3: { key: "out" } }, SCOPE);
      const texts = await Promise.all(keys.map((key) => contents(key, mode)));
      expect(texts.join()).toContain("honest");
      expect(texts.join()).not.toContain(SECRET);
      expect(keys.some((key) => key.includes("secret"))).toBe(false);
    });

    test("a link in place of the whole", async () => {
      await symlink(join(dir, "outside/secret"), join(dir, "in/got"));
      const artifact = { name: "a", path: "/x", archive: archive ?? {}, s3: { key: "out" } };
      await expect(store().save(artifact, join(dir, "in/got"), "p", SCOPE)).rejects.toThrow("link");
      expect(await contents("out", "none")).toBe("");
    });

    test("a pipe is neither read nor waited for", async () => {
      const top = join(dir, "in/got");
      await mkdir(top);
      await writeFile(join(top, "f"), "honest");
      spawnSync("mkfifo", [join(top, "pipe"), join(dir, "in/pipe")]);
      const artifact = { name: "a", path: "/x", archive: archive ?? {}, s3: { key: "out" } };
      await store().save(artifact, top, "p", SCOPE);
      await expect(store().save(artifact, join(dir, "in/pipe"), "p", SCOPE)).rejects.toThrow(
        "file",
      );
    });

    test("a huge sparse file is refused by its size", async () => {
      await writeFile(join(dir, "in/got"), "");
      await truncate(join(dir, "in/got"), 2 ** 40);
      const artifact = { name: "a", path: "/x", archive: archive ?? {}, s3: { key: "out" } };
      await expect(store().save(artifact, join(dir, "in/got"), "p", SCOPE)).rejects.toThrow(
        "Artifact is too large",
      );
    });

    test("links that stay inside come back as links", async () => {
      const top = join(dir, "in/got");
      await mkdir(join(top, "d"), { recursive: true });
      await writeFile(join(top, "d/f"), "honest");
      await symlink("d/f", join(top, "l"));
      const artifact = { name: "a", path: "/x", archive: archive ?? {}, s3: { key: "out" } };
      const saved = await store().save(artifact, top, "p", SCOPE);
      await store().fetch(saved, join(dir, "in/back"), SCOPE);
      expect(await readFile(join(dir, "in/back/d/f"), "utf8")).toBe("honest");
      if (mode === "none") return;
      expect((await lstat(join(dir, "in/back/l"))).isSymbolicLink()).toBe(true);
      expect(await readFile(join(dir, "in/back/l"), "utf8")).toBe("honest");
    });
  });
});

describe("a repository in a folder", () => {
  test.each([
    "../outside/secret",
    "a/../../outside/secret",
    "/../outside/secret",
    "a/./b",
    "",
    "a\0b",
    `a/${"n".repeat(300)}`,
    "d/".repeat(200),
    "..",
  ])("refuses the key %j, and names no path of the server", async (key) => {
    const artifact = { name: "a", s3: { key } };
    const acts = [
      () => store().open(artifact, SCOPE),
      () => store().write(artifact, Readable.from([Buffer.from("x")]), SCOPE),
      () => store().fetch(artifact, join(dir, "in/got"), SCOPE),
    ];
    for (const act of acts) {
      const error = await Promise.resolve(act()).then(() => undefined, (cause) => cause);
      expect(error).toBeInstanceOf(Error);
      expect(error.message.replaceAll(join(dir, "repository"), "")).not.toContain(dir);
    }
    expect(await readdir(join(dir, "outside"))).toEqual(["secret"]);
  });

  test("follows no link that somebody put there", async () => {
    await mkdir(join(dir, "repository"));
    await symlink(join(dir, "outside"), join(dir, "repository/l"));
    await symlink(join(dir, "outside/secret"), join(dir, "repository/s"));
    for (const key of ["l/secret", "s"]) {
      const artifact = { name: "a", s3: { key } };
      await expect(store().open(artifact, SCOPE)).rejects.toThrow("is a link to");
      await store().remove(artifact, SCOPE).catch(() => {});
      await store().write(artifact, Readable.from([Buffer.from("x")]), SCOPE).catch(() => {});
      expect(await readFile(join(dir, "outside/secret"), "utf8")).toBe(SECRET);
    }
    expect(await store().list({ name: "a", s3: { key: "l/" } }, SCOPE).catch(() => [])).toEqual([]);
  });
});

describe("a git repository", () => {
  function git(repo: string, ...args: string[]): void {
    const own = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
    const { status, stderr } = spawnSync("git", ["-C", repo, ...own, ...args], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(stderr);
  }

  async function repository(name: string): Promise<string> {
    const repo = join(dir, "outside", name);
    await mkdir(repo);
    git(repo, "init", "-q", "-b", "main");
    await writeFile(join(repo, "f"), "first");
    git(repo, "add", "f");
    git(repo, "commit", "-qm", "1");
    return repo;
  }

  const fetchGit = (more: object, allowLocalGit = true) =>
    createArtifactStore({ config: noConfig, allowLocalGit })
      .fetch({ name: "g", git: more as never }, join(dir, "in/got"), SCOPE);

  test.each([
    ["ext protocol", (_: string, mark: string) => ({ repo: `ext::sh -c touch% ${mark}` })],
    ["fd protocol", () => ({ repo: "fd::17" })],
    [
      "option as repository",
      (_: string, mark: string) => ({ repo: `--upload-pack=touch ${mark}` }),
    ],
    ["ssh option as host", (_: string, mark: string) => ({
      repo: `ssh://-oProxyCommand=touch%20${mark}/x`,
    })],
    ["option as branch", (repo: string, mark: string) => ({
      repo: `file://${repo}`,
      branch: `--upload-pack=touch ${mark}`,
    })],
    ["option as revision", (repo: string, mark: string) => ({
      repo: `file://${repo}`,
      revision: `--upload-pack=touch ${mark}`,
    })],
    ["option as something to fetch", (repo: string, mark: string) => ({
      repo: `file://${repo}`,
      fetch: [`--upload-pack=touch ${mark}`],
    })],
  ])("runs nothing for an %s", async (_, location) => {
    const repo = await repository("repo");
    const mark = join(dir, "outside/mark");
    await expect(fetchGit(location(repo, mark))).rejects.toThrow();
    await expect(stat(mark)).rejects.toThrow("ENOENT");
  });

  test("brings no hook along that runs, and what it links to is not followed", async () => {
    const repo = await repository("repo");
    const mark = join(dir, "outside/mark");
    await mkdir(join(repo, "hooks"));
    for (const hook of ["post-checkout", "post-merge", "reference-transaction"]) {
      await writeFile(join(repo, "hooks", hook), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    }
    await symlink(join(dir, "outside"), join(repo, "l"));
    git(repo, "add", ".");
    git(repo, "commit", "-qm", "2");
    const home = process.env["HOME"];
    process.env["HOME"] = join(dir, "home");
    await mkdir(join(dir, "home"));
    await writeFile(join(dir, "home/.gitconfig"), `[core]\n\thooksPath = hooks\n`);
    try {
      expect(await fetchGit({ repo: `file://${repo}` })).toBe(true);
      await rm(join(dir, "home"), { recursive: true });
    } finally {
      process.env["HOME"] = home;
    }
    await expect(stat(mark)).rejects.toThrow("ENOENT");
    expect((await lstat(join(dir, "in/got/l"))).isSymbolicLink()).toBe(true);
    const artifact = { name: "a", path: "/x", archive: { zip: {} }, s3: { key: "out" } };
    await store().save(artifact, join(dir, "in/got"), "p", SCOPE);
    const found = await store().open({ name: "a", s3: { key: "out" } }, SCOPE);
    expect((await buffer(found?.body ?? Readable.from([]))).includes(SECRET)).toBe(false);
  });

  test("takes no repository of the server's disk unless steps are its processes", async () => {
    const repo = await repository("repo");
    for (const name of [`file://${repo}`, repo, `${repo}/.git`]) {
      await expect(fetchGit({ repo: name }, false)).rejects.toThrow("not allowed");
    }
    const outer = await repository("outer");
    git(outer, "submodule", "add", "-q", repo, "sub");
    git(outer, "commit", "-qm", "sub");
    // The names in a submodule obey the same rule.
    spawnSync("git", ["-C", outer, "update-server-info"]);
    await expect(fetchGit({ repo: `file://${outer}` }, false)).rejects.toThrow("not allowed");
  });
});
