/** Opens the stores of a copy by their addresses. */
import { invalid } from "../base/problem.ts";
import { completedLabel, STANDARD_NAMING } from "../spec/naming.ts";
import type { StoreSource, StoreTarget } from "./dump.ts";
import { openRedisSource, openRedisTarget } from "./redis/dump/dump.ts";
import { openSqliteSource, openSqliteTarget } from "./sqlite/dump/dump.ts";

const SQLITE = "sqlite:";

/**
 * @param address `sqlite:FOLDER` or `redis://…`
 * @throws {Problem} InvalidArgument for another address; Unavailable or FailedPrecondition when it can't be opened
 */
export async function openSource(address: string): Promise<StoreSource> {
  if (isFolder(address)) return await openSqliteSource(address.slice(SQLITE.length));
  return await openRedisSource(address);
}

/**
 * @param address `sqlite:FOLDER` or `redis://…`
 * @param labelPrefix prefix of the label that says whether a workflow has ended
 * @throws {Problem} as `openSource`
 */
export async function openTarget(
  address: string,
  labelPrefix = STANDARD_NAMING.labelPrefix,
): Promise<StoreTarget> {
  const label = completedLabel({ ...STANDARD_NAMING, labelPrefix });
  if (isFolder(address)) return openSqliteTarget(address.slice(SQLITE.length), label);
  return await openRedisTarget(address, label);
}

function isFolder(address: string): boolean {
  if (address.startsWith(SQLITE) && address.length > SQLITE.length) return true;
  if (/^rediss?(\+[a-z]+)?:\/\//.test(address)) return false;
  throw invalid(`"${address}" is not the address of a store: expected sqlite:FOLDER or redis://…`);
}
