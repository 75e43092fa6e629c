/**
 * The folders of an executor on one machine. Everything that must outlive the server is a file here: a task's outcome, its
 * cancellation, and per container whatever the machine needs to find it again.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { errorText } from "../../base/error_text.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import { removeInside } from "../../platform/files/inside.ts";

/** Longest name made of a manifest's; file systems take 255 bytes, and something may be put behind it. */
const MAX_FILE_NAME = 180;

/** Folder name of a task: readable, safe, and different for different ids. */
export function safeTaskName(taskId: string): string {
  const hash = createHash("sha256").update(taskId).digest("hex").slice(0, 12);
  return `${taskId.replace(/[^A-Za-z0-9._-]+/g, "_").slice(-100).replace(/^[._-]+/, "")}-${hash}`;
}

/** The folder of all tasks of one executor. */
export class Scratch {
  readonly dir: string;
  /** What {@link dir} leads to. */
  readonly #target: string;

  /** @param dir Made when first used. A path that a shell would split is used through a link in the temp folder. */
  constructor(dir: string) {
    this.#target = resolve(dir);
    this.dir = /^[\w./@%+=:-]+$/.test(this.#target) ? this.#target : join(
      tmpdir(),
      `sluice-${createHash("sha256").update(this.#target).digest("hex").slice(0, 16)}`,
    );
  }

  /** Makes the folders. @throws {Error} that says what the folder is for */
  async make(): Promise<void> {
    try {
      await this.#make();
    } catch (error) {
      throw new Error(
        `Cannot use the server's folder for steps, ${this.#target} (--work-dir, or the folder of an embedded store): ` +
          errorText(error),
        { cause: error },
      );
    }
  }

  async #make(): Promise<void> {
    await mkdir(this.#target, { recursive: true });
    if (this.#target !== this.dir) {
      await symlink(this.#target, this.dir).catch((fault: NodeJS.ErrnoException) => {
        if (fault.code !== "EEXIST") throw fault;
      });
    }
    for (const name of ["tasks", "cancelling", "claims"]) {
      await mkdir(join(this.dir, name), { recursive: true });
    }
  }

  task(taskId: string): TaskFolder {
    return new TaskFolder(this.dir, safeTaskName(taskId));
  }

  /** Folders of tasks whose cancellation was asked for and not seen through. */
  async cancelling(): Promise<TaskFolder[]> {
    const names = await readdir(join(this.dir, "cancelling"));
    return names.map((name) => new TaskFolder(this.dir, name));
  }

  /** Written to when a container ends, so that one watch serves all tasks. */
  get bell(): string {
    return join(this.dir, "bell");
  }

  /** Where a volume claim of a namespace lives. */
  claim(namespace: string, name: string): string {
    return join(this.dir, "claims", fileName(namespace), fileName(name));
  }

  #ownerOfClaim(namespace: string, name: string): string {
    return join(this.dir, "claims", fileName(namespace), ".owners", fileName(name));
  }

  /** Notes that a workflow made a claim. */
  async ownClaim(namespace: string, name: string, workflowUid: string): Promise<void> {
    const file = this.#ownerOfClaim(namespace, name);
    await mkdir(dirname(file), { recursive: true });
    await writeWhole(file, workflowUid);
  }

  /** Removes a claim and what is in it, if this workflow made it. */
  async removeClaim(namespace: string, name: string, workflowUid: string): Promise<void> {
    const file = this.#ownerOfClaim(namespace, name);
    const owner = await readFile(file, "utf8").catch(() => undefined);
    if (owner !== workflowUid) return;
    // Other steps may still have it mounted and write there.
    await removeInside({ root: dirname(this.claim(namespace, name)), path: fileName(name) });
    await rm(file, { force: true });
  }
}

/** The folder of one task. */
export class TaskFolder {
  readonly dir: string;
  readonly name: string;
  readonly #cancelMark: string;

  constructor(base: string, name: string) {
    this.name = name;
    this.dir = join(base, "tasks", name);
    this.#cancelMark = join(base, "cancelling", name);
  }

  /** Stands for the root of the file system: declared paths are moved below it. */
  get root(): string {
    return join(this.dir, "root");
  }

  /** Current folder of containers that name none. */
  get work(): string {
    return join(this.dir, "work");
  }

  volume(name: string): string {
    return join(this.dir, "volumes", fileName(name));
  }

  /** Tells that an input artifact is there, or is missing. */
  input(artifact: string): string {
    return join(this.dir, "inputs", fileName(artifact));
  }

  /** Where an input artifact is fetched to: no step writes there before it is. */
  fetched(artifact: string): string {
    return join(this.dir, "fetched", fileName(artifact));
  }

  output(artifact: string): string {
    return join(this.dir, "outputs", fileName(artifact));
  }

  /** Folder of one run of a container; later runs inside a container set have a number. */
  container(name: string, run = 0): string {
    return join(this.dir, "containers", fileName(name) + (run === 0 ? "" : `.${run}`));
  }

  /** Folders of all runs of a container that were started, oldest first. */
  async runs(name: string): Promise<string[]> {
    const prefix = fileName(name);
    return (await this.containers())
      .filter((entry) =>
        entry === prefix ||
        (entry.startsWith(`${prefix}.`) && /^\d+$/.test(entry.slice(prefix.length + 1)))
      )
      .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
      .map((entry) => join(this.dir, "containers", entry));
  }

  /** Names of the container folders. */
  async containers(): Promise<string[]> {
    return await readdir(join(this.dir, "containers")).catch(() => []);
  }

  async exists(): Promise<boolean> {
    return await readdir(this.dir).then(() => true, () => false);
  }

  /** The kept outcome; one that a power cut left incomplete is none. */
  async outcome(): Promise<TaskOutcome | undefined> {
    try {
      return JSON.parse(await readFile(join(this.dir, "outcome.json"), "utf8")) as TaskOutcome;
    } catch {
      return undefined;
    }
  }

  async saveOutcome(outcome: TaskOutcome): Promise<void> {
    await writeWhole(join(this.dir, "outcome.json"), JSON.stringify(outcome));
  }

  async isCancelled(): Promise<boolean> {
    return await readFile(join(this.dir, "cancelled")).then(() => true, () => false);
  }

  /** Marks the task as cancelled for good, and as being ended until `cancelled()`. */
  async beginCancel(killAt: number): Promise<void> {
    await writeFile(this.#cancelMark, String(killAt));
    await writeFile(join(this.dir, "cancelled"), "");
  }

  /** Epoch ms at which a task being cancelled is to be ended hard. */
  async killAt(): Promise<number> {
    return Number(await readFile(this.#cancelMark, "utf8").catch(() => "0"));
  }

  async endCancel(): Promise<void> {
    await rm(this.#cancelMark, { force: true });
  }

  async remove(): Promise<void> {
    await removeInside({ root: dirname(this.dir), path: this.name });
  }
}

/** Writes a file at once: others see all of it or nothing, also when two servers write it. */
export async function writeWhole(path: string, content: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, content);
  await rename(fresh, path);
}

/** True when there is a file or folder. */
export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

/** A name from a manifest as the name of one file. */
function fileName(name: string): string {
  const text = encodeURIComponent(name.toWellFormed())
    .replace(/^\.+/, (dots) => "%2E".repeat(dots.length)) || "_";
  if (text.length <= MAX_FILE_NAME) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `${text.slice(0, MAX_FILE_NAME - 17)}-${hash}`;
}
