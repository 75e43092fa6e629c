/** Copies archives: finished workflows that have left their store. */
import type { Archive, ArchivePosition } from "../../archive/port.ts";
import { openPostgresArchive, type PostgresArchive } from "../../archive/postgres/archive.ts";
import { hasSqliteArchive, openSqliteArchive } from "../../archive/sqlite/archive.ts";
import { databaseUrlFault } from "../../base/database_url.ts";
import { maskUrl } from "../../base/masked_url.ts";
import { invalid, Problem, ProblemCode } from "../../base/problem.ts";
import { notedLive } from "../../archive/noted_live.ts";

const SQLITE = "sqlite:";
/** Rows, and about how many characters of them, that are copied together. */
const PAGE = 100;
const MAX_SIZE = 2 ** 22;

/** Whose rows are meant in PostgreSQL. */
export interface ArchiveOwner {
  clusterName: string;
  instanceId: string;
}

/** The folder of a store that has an archive beside it; undefined when it has none. */
export function archiveBeside(store: string): string | undefined {
  if (!store.startsWith(SQLITE)) return undefined;
  const folder = store.slice(SQLITE.length);
  return hasSqliteArchive(folder) ? folder : undefined;
}

/**
 * Copies all rows of an archive into another one, which may have others. Where both have a workflow, the later end of it
 * stays. It may be done again after an interruption.
 * @param from `sqlite:FOLDER` or `postgres://…`, as `to`
 * @param onProgress hears how many rows were copied so far
 * @returns how many rows there were
 * @throws {Problem} InvalidArgument for another address, NotFound when there is no archive in the folder
 */
export async function copyArchive(
  from: string,
  to: string,
  owner: ArchiveOwner,
  onProgress: (rows: number) => void = () => {},
): Promise<number> {
  checkAddress(to);
  if (checkAddress(from) && archiveBeside(from) === undefined) {
    throw new Problem(ProblemCode.NotFound, `there is no archive in ${from}`);
  }
  const source = open(from, owner);
  try {
    // Rows that Argo Workflows has written are found by lists once they are brought in.
    if ("fill" in source) await source.fill();
    const target = open(to, owner);
    try {
      return await copyRows(source, target, onProgress);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function copyRows(
  source: Archive,
  target: Archive,
  onProgress: (rows: number) => void,
): Promise<number> {
  const live = new Set<string>();
  for await (const page of notedLive(source)) for (const { uid } of page) live.add(uid);
  let count = 0;
  let after: ArchivePosition | undefined;
  for (;;) {
    const page = await source.list({ limit: PAGE, maxSize: MAX_SIZE, ...(after && { after }) });
    await target.put(page.items);
    // `put` notes of all of them that the store has them too.
    await target.noteLeft(page.items.flatMap(({ uid }) => live.has(uid) ? [] : uid));
    count += page.items.length;
    onProgress(count);
    if (page.next === undefined) return count;
    after = page.next;
  }
}

function open(address: string, owner: ArchiveOwner): Archive | PostgresArchive {
  if (checkAddress(address)) return openSqliteArchive({ folder: address.slice(SQLITE.length) });
  return openPostgresArchive({ url: address, ...owner, looksAfterOthers: false });
}

/** Tells whether it is a folder. @throws {Problem} InvalidArgument */
function checkAddress(address: string): boolean {
  if (address.startsWith(SQLITE) && address.length > SQLITE.length) return true;
  if (/^postgres(ql)?:\/\/./.test(address)) {
    const fault = databaseUrlFault(address);
    if (fault !== undefined) throw invalid(fault);
    return false;
  }
  throw invalid(
    `"${
      maskUrl(address)
    }" is not the address of an archive: expected sqlite:FOLDER or postgres://…`,
  );
}
