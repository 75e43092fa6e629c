/** Images for the tests, made from programs of this machine: nothing is pulled. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { writeImageArchive } from "../../tools/oci_archive.ts";

/** Busybox with a link for each of its programs; the image that test tasks run in. */
export const BOX_IMAGE = "localhost/box:1";

const ENV = ["PATH=/usr/local/bin:/usr/bin:/bin"];

function inFolder<Result>(act: (root: string) => Result): Result {
  const root = mkdtempSync(join(tmpdir(), "sluice-rootfs-"));
  try {
    return act(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function busybox(): string {
  const found = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
  if (found === undefined) throw new Error("no static busybox: apt-get install busybox-static");
  return found;
}

/** Adds busybox under the names of its programs. */
function addBusybox(root: string, programs: readonly string[]): void {
  for (const folder of ["bin", "tmp", "etc"]) mkdirSync(join(root, folder), { recursive: true });
  cpSync(busybox(), join(root, "bin/busybox"), { dereference: true });
  for (const name of programs) symlinkSync("busybox", join(root, "bin", name));
}

/** Writes an image of this machine's busybox. */
export function writeBoxImage(out: string, name = BOX_IMAGE): void {
  inFolder((root) => {
    const programs = execFileSync(busybox(), ["--list"], { encoding: "utf8" }).trim().split("\n");
    addBusybox(root, programs.filter((name) => name !== "busybox"));
    writeImageArchive({
      out,
      name,
      images: [{ arch: architecture(), layers: [root] }],
      config: { Env: ENV },
    });
  });
}

/** Writes an image with this machine's redis-server, under the name that the chart asks for. */
export function writeRedisImage(out: string, name: string): void {
  inFolder((root) => {
    addBusybox(root, ["sh", "grep"]);
    for (const program of ["redis-server", "redis-cli"]) {
      const path = execFileSync("which", [program], { encoding: "utf8" }).trim();
      const libraries = execFileSync("ldd", [path], { encoding: "utf8" });
      const files = [...libraries.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? "");
      for (const file of [path, ...files]) {
        const target = join(root, file === path ? `usr/bin/${program}` : file);
        mkdirSync(dirname(target), { recursive: true });
        cpSync(file, target, { dereference: true });
      }
    }
    const images = [{ arch: architecture(), layers: [root] }];
    writeImageArchive({ out, name, images, config: { Env: ENV } });
  });
}

/** This machine's architecture, as images name it. */
export function architecture(): string {
  return execFileSync("uname", ["-m"], { encoding: "utf8" }).trim() === "aarch64"
    ? "arm64"
    : "amd64";
}
