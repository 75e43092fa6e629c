/** A small disk of its own, to find out what happens when one is full. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  folder: string;
  /** Leaves no room. */
  fill(): void;
  /** Gives back the room that `fill` took. */
  free(): void;
  remove(): void;
}

/** Mounts a disk of so many MiB; undefined if none can be mounted. */
export function smallDisk(size: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), "sluice-disk-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", folder]);
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const filler = join(folder, "filler");
  return {
    folder,
    fill() {
      for (let size = 2 ** 20; size >= 512; size /= 2) {
        for (let isFull = false; !isFull;) {
          try {
            writeFileSync(filler, new Uint8Array(size), { flag: "a" });
          } catch {
            isFull = true;
          }
        }
      }
    },
    free: () => rmSync(filler),
    remove() {
      execFileSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
