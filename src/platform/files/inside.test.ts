import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  appendInside,
  findInside,
  makeFolderInside,
  openInside,
  readTailInside,
  readTextInside,
  removeInside,
  writeInside,
} from "./inside.ts";
import { LinkInPath, namesOf, type Place } from "./place.ts";
import { chmodInside, moveInside, type TreeEntry, walkInside } from "./tree.ts";

let dir = "";
let root = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-inside-"));
  root = join(dir, "root");
  await mkdir(join(root, "a/b"), { recursive: true });
  await writeFile(join(root, "a/b/f"), "inside");
  await mkdir(join(dir, "outside/deep"), { recursive: true });
  await writeFile(join(dir, "outside/secret"), "secret");
  await writeFile(join(dir, "outside/deep/secret"), "secret");
  await chmod(join(dir, "outside/secret"), 0o600);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function tree(place: Place): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for await (const entry of walkInside(place)) entries.push(entry);
  return entries;
}

/** Everything outside of the root, for comparison. */
async function outside(): Promise<string[]> {
  const names = await readdir(join(dir, "outside"), { recursive: true });
  const mode = (await stat(join(dir, "outside/secret"))).mode.toString(8);
  return [...names.sort(), mode, await readFile(join(dir, "outside/secret"), "utf8")];
}

/** What a step may have put at `x`, and the path that is asked for. */
const TRAPS: [what: string, path: string, set: () => Promise<unknown>][] = [
  ["a link to a file", "x", () => symlink(join(dir, "outside/secret"), join(root, "x"))],
  ["a relative link", "x", () => symlink("../outside/secret", join(root, "x"))],
  ["a link to a folder", "x/secret", () => symlink(join(dir, "outside"), join(root, "x"))],
  [
    "a link in the middle",
    "a/x/deep/secret",
    () => symlink(join(dir, "outside"), join(root, "a/x")),
  ],
  ["a link to a new name", "x", () => symlink(join(dir, "outside/new"), join(root, "x"))],
  ["a folder link to a new name", "x/new", () => symlink(join(dir, "outside"), join(root, "x"))],
  ["a link that stays inside", "x", () => symlink("a/b/f", join(root, "x"))],
  ["a link to itself", "x", () => symlink("x", join(root, "x"))],
  [
    "a chain of links",
    "x/secret",
    async () => {
      await symlink("y", join(root, "x"));
      await symlink("a/z", join(root, "y"));
      await symlink(join(dir, "outside"), join(root, "a/z"));
    },
  ],
];

const ACTS: [name: string, act: (place: Place) => Promise<unknown>][] = [
  ["find", findInside],
  ["open", async (place) => await (await openInside(place)).close()],
  ["read", (place) => readTextInside(place, 100)],
  ["append", (place) => appendInside(place, "more")],
  ["walk", (place) => tree(place)],
  ["make a folder in", (place) => makeFolderInside({ ...place, path: `${place.path}/deep` })],
  ["write below", (place) => writeInside({ ...place, path: `${place.path}/n` }, "new")],
  ["chmod", (place) => chmodInside(place, 0o777, true)],
];

describe.each(TRAPS)("%s", (_, path, set) => {
  test.each(ACTS)("can't be used to %s what is outside", async (_name, act) => {
    await set();
    const before = await outside();
    await expect(act({ root, path })).rejects.toThrow(LinkInPath);
    expect(await outside()).toEqual(before);
  });

  test("is replaced or refused by what writes, moves and removes", async () => {
    await set();
    const before = await outside();
    await writeInside({ root, path }, "new").catch((error) =>
      expect(error).toBeInstanceOf(LinkInPath)
    );
    await writeFile(join(dir, "made"), "made");
    await moveInside(join(dir, "made"), { root, path })
      .catch((error) => expect(error).toBeInstanceOf(LinkInPath));
    await removeInside({ root, path }).catch((error) => expect(error).toBeInstanceOf(LinkInPath));
    await removeInside({ root, path: "x" });
    await removeInside({ root, path: "a" });
    expect(await outside()).toEqual(before);
  });

  test("gives nothing to a reader of the end", async () => {
    await set();
    expect(String(await readTailInside({ root, path }, 100))).toBe("");
  });
});

test.each([
  ["../outside/secret", '".."'],
  ["a/../../outside/secret", '".."'],
  ["a/b/../f", '".."'],
  ["/..", '".."'],
  ["a\0b", "NUL"],
  [`a/${"n".repeat(256)}`, "255 bytes"],
  [`a/${"ü".repeat(128)}`, "255 bytes"],
  [`${"d/".repeat(129)}f`, "levels"],
  [`${"long-name-".repeat(20)}/`.repeat(25), "4096 bytes"],
])("the path %j is refused by all", async (path, reason) => {
  const before = await outside();
  for (const [, act] of ACTS) await expect(act({ root, path })).rejects.toThrow(reason);
  await expect(writeInside({ root, path }, "x")).rejects.toThrow(reason);
  await expect(removeInside({ root, path })).rejects.toThrow(reason);
  expect(await outside()).toEqual(before);
});

test.each([["/etc/passwd", ["etc", "passwd"]], ["./a//b/.", ["a", "b"]], ["...", ["..."]], [
  "",
  [],
]])(
  "the path %j begins at the root",
  (path, names) => expect(namesOf(path)).toEqual(names),
);

test("what was meant is found, read, written, moved and removed", async () => {
  expect(await findInside({ root, path: "a/b/f" })).toMatchObject({ kind: "file", size: 6 });
  expect(await findInside({ root, path: "" })).toMatchObject({ kind: "folder" });
  expect(await findInside({ root, path: "a/none/f" })).toBeUndefined();
  expect(await findInside({ root, path: "a/b/f/g" })).toBeUndefined();
  expect(await readTextInside({ root, path: "/a/b/f" }, 6)).toBe("inside");
  await expect(readTextInside({ root, path: "a/b/f" }, 5)).rejects.toThrow("at most 5 fit");
  expect(String(await readTailInside({ root, path: "a/b/f" }, 4))).toBe("side");
  await writeInside({ root, path: "n/m/f" }, "new", { mode: 0o640, folderMode: 0o777 });
  expect((await stat(join(root, "n/m/f"))).mode & 0o777).toBe(0o640);
  expect((await stat(join(root, "n/m"))).mode & 0o777).toBe(0o777);
  await appendInside({ root, path: "n/m/f" }, "er");
  expect(await readFile(join(root, "n/m/f"), "utf8")).toBe("newer");
  await mkdir(join(dir, "made"));
  await moveInside(join(dir, "made"), { root, path: "a/b/f" });
  expect(await findInside({ root, path: "a/b/f" })).toMatchObject({ kind: "folder" });
  await removeInside({ root, path: "n" });
  await removeInside({ root, path: "n" });
  expect(await readdir(root)).toEqual(["a"]);
});

test("a tree is told with its links, without what is no file", async () => {
  spawnSync("mkfifo", [join(root, "a/pipe")]);
  await symlink("/etc", join(root, "a/link"));
  await link(join(root, "a/b/f"), join(root, "a/hard"));
  const entries = await tree({ root, path: "a" });
  expect(entries.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    "folder ",
    "folder b",
    "file b/f",
    "file hard",
    "link link",
  ]);
  await chmodInside({ root, path: "a" }, 0o700, true);
  expect((await stat(join(root, "a/b/f"))).mode & 0o777).toBe(0o700);
});

test("a pipe is refused at once, not waited for", async () => {
  spawnSync("mkfifo", [join(root, "pipe")]);
  for (const [, act] of ACTS.slice(1, 3)) {
    await expect(act({ root, path: "pipe" })).rejects.toThrow("is not a file");
  }
  await expect(appendInside({ root, path: "pipe" }, "x")).rejects.toThrow();
  expect(await findInside({ root, path: "pipe" })).toMatchObject({ kind: "other" });
});

test("removing goes through locked folders, and never through links", async () => {
  await symlink(join(dir, "outside"), join(root, "a/b/l"));
  await chmod(join(root, "a/b"), 0o000);
  await removeInside({ root, path: "a" });
  await expect(lstat(join(root, "a"))).rejects.toThrow("ENOENT");
  expect(await readdir(join(dir, "outside"))).toEqual(["deep", "secret"]);
});

test("a name that is not UTF-8 is removed with its folder, and named where it can't be read", async () => {
  // Written by another program: names are always UTF-8 here.
  const script =
    'mkdir "a/$(printf "d\\351")" && echo x > "a/$(printf "d\\351")/f" && echo x > "a/$(printf "f\\351")"';
  spawnSync("sh", ["-c", `${script} && ln -s "$1" a/l`, "sh", join(dir, "outside")], { cwd: root });
  expect(await readdir(join(root, "a"))).toHaveLength(4);
  await expect(tree({ root, path: "a" })).rejects.toThrow(
    '"d\ufffd" has a name that is not UTF-8; give it another name',
  );
  await removeInside({ root, path: "a" });
  await expect(lstat(join(root, "a"))).rejects.toThrow("ENOENT");
  expect(await readdir(join(dir, "outside"))).toEqual(["deep", "secret"]);
});

test("a tree of very many levels is removed with few descriptors", async () => {
  expect(spawnSync("mkdir", ["-p", "d/".repeat(1_500)], { cwd: join(root, "a") }).status).toBe(0);
  let most = 0;
  const looks = setInterval(() => most = Math.max(most, descriptors()), 1);
  const before = descriptors();
  await removeInside({ root, path: "a" });
  clearInterval(looks);
  await expect(lstat(join(root, "a"))).rejects.toThrow("ENOENT");
  expect(most - before).toBeLessThan(300);
});

function descriptors(): number {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
}

test.runIf(process.platform === "linux")(
  "a folder that turns into a link and back all the time leads nobody out",
  async () => {
    const flip =
      'while :; do rm -rf d; mkdir d; echo inside > d/secret; rm -rf d; ln -s "$1" d; done';
    // Nobody reads its errors: a full pipe would stop it.
    const child = spawn("sh", ["-c", flip, "sh", join(dir, "outside")], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.resume();
    const closed = once(child, "close");
    try {
      const enough = Date.now() + 5_000;
      const isEnough = (round: number) => round === 1_500 || Date.now() > enough;
      for (let round = 0, inside = 0; inside === 0 || !isEnough(round); round++) {
        try {
          const text = await readTextInside({ root, path: "d/secret" }, 100);
          expect(["", "inside\n"]).toContain(text);
          inside++;
        } catch (error) {
          if (error instanceof Error && error.name === "AssertionError") throw error;
        }
        await writeInside({ root, path: `d/w${round % 3}` }, "w").catch(() => {});
        await removeInside({ root, path: `d/w${round % 3}` }).catch(() => {});
      }
    } finally {
      child.kill("SIGKILL");
      // The program that it started last has its output too, and may still be at work.
      await closed;
    }
    expect(await readdir(join(dir, "outside"))).toEqual(["deep", "secret"]);
    expect(await readFile(join(dir, "outside/secret"), "utf8")).toBe("secret");
  },
);
