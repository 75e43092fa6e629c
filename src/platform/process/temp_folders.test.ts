import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { expect, test } from "vitest";
import { makeTempFolder, removeDeadFolders } from "./temp_folders.ts";

test("folders of processes that have ended go, those of others stay", async () => {
  const own = await makeTempFolder("trial");
  const ended = spawn("true");
  await once(ended, "exit");
  // The name of a folder of another process, which may have had the number of this one.
  const folderOf = async (pid: number | undefined, mark?: string) => {
    const [, machine = "", start = ""] = /-trial-(\w*)-\d+-(\w+)-\w+$/.exec(own) ?? [];
    const other = start.replace(/./, (first) => first === "0" ? "1" : "0");
    const folder = own.replace(
      `-trial-${machine}-${process.pid}-${start}-`,
      `-trial-${mark ?? machine}-${pid}-${other}-`,
    );
    await mkdir(folder);
    await writeFile(`${folder}/content`, "x");
    return folder;
  };
  const dead = await folderOf(ended.pid);
  const before = await folderOf(process.pid);
  const stay = [own, await folderOf(process.ppid), await folderOf(ended.pid, "elsewhere")];
  const seen: string[] = [];
  try {
    await removeDeadFolders({
      trial: (folder) => {
        if (existsSync(folder)) seen.push(folder);
        return Promise.resolve();
      },
    });
    expect(new Set(seen)).toEqual(new Set([dead, before]));
    expect([dead, before].filter((folder) => existsSync(folder))).toEqual([]);
    expect(stay.filter((folder) => existsSync(folder))).toEqual(stay);
  } finally {
    for (const folder of stay) await rm(folder, { recursive: true });
  }
});
