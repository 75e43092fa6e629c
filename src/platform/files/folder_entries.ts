/** What is in a folder, a little at a time: on Deno, to read 100,000 names at once blocks the event loop for a second. */
import { opendir } from "node:fs/promises";
import { inSharedTurns } from "../turns.ts";

/** Entries that Node reads together. */
const READ_TOGETHER = 1_000;

export interface FolderEntry {
  name: string;
  isFile: boolean;
  isDirectory: boolean;
}

interface DenoRuntime {
  readDir(path: string): AsyncIterable<FolderEntry>;
}

/** Entries in the order of the file system. Reading fails with an error that has the system's `code`. */
export function entriesIn(path: string): AsyncGenerator<FolderEntry> {
  return inSharedTurns(read(path), "folders");
}

function read(path: string): AsyncIterable<FolderEntry> {
  const deno = (globalThis as { Deno?: DenoRuntime }).Deno;
  return deno === undefined ? readOnNode(path) : deno.readDir(path);
}

async function* readOnNode(path: string): AsyncGenerator<FolderEntry> {
  for await (const entry of await opendir(path, { bufferSize: READ_TOGETHER })) {
    yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
  }
}

/** The names in a folder, in no order. */
export async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of entriesIn(path)) names.push(name);
  return names;
}
