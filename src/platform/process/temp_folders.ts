/** Folders in the system's temporary folder, which do not outlive their server for long, however it ends. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isRunning, machineMark } from "./own_machine.ts";

const MARK_LENGTH = 8;
const NAME = /^sluice-([a-z]+)-([a-z0-9]*)-(\d+)-([a-f0-9]+)-\w+$/;
/** Tells this process from an earlier one of the same number: in a container it often is. */
const START = randomBytes(4).toString("hex");

/** As `machineMark`. Where that is not told, the name of the host: a container that starts again in its pod keeps it. */
function ownMark(): string {
  const mark = machineMark();
  if (mark !== "") return mark;
  return createHash("sha256").update(hostname()).digest("hex").slice(0, MARK_LENGTH);
}

/** Makes a folder of this process. @param kind what it is for: small letters */
export async function makeTempFolder(kind: string): Promise<string> {
  return await mkdtemp(
    join(tmpdir(), `sluice-${kind}-${ownMark()}-${process.pid}-${START}-`),
  );
}

/**
 * Removes the folders that processes of this machine or container have left and that do not run any more. Where processes do not
 * see each other, as in two containers that share the temporary folder, they leave each other's folders alone.
 * @param before does what must be done before a folder of its kind goes; it must not reject
 */
export async function removeDeadFolders(
  before: Readonly<Record<string, (folder: string) => Promise<void>>> = {},
): Promise<void> {
  const mark = ownMark();
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, kind = "", machine, pid, start] = NAME.exec(name) ?? [];
    if (machine !== mark || start === START) continue;
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    if (Object.hasOwn(before, kind)) await before[kind]?.(folder);
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
