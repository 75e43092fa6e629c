/** A store that a released version wrote is opened, listed and worked on by this program. `docs/upgrading.md` promises it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startServer } from "../../../src/server.ts";
import { startRedisServer } from "../../support/redis_server.ts";
import {
  Filled,
  layOutRedis,
  layOutSqlite,
  releasedVersions,
  STORED,
  STORED_CRON,
  STORED_TEMPLATE,
  waitingSteps,
} from "../../support/released_store.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

/** Lays out the store of a version; returns its address. */
const LAY_OUT: Record<string, (version: string) => string | Promise<string>> = {
  sqlite(version) {
    const folder = mkdtempSync(join(tmpdir(), "sluice-released-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    layOutSqlite(version, folder);
    return `sqlite:${folder}`;
  },
  async redis(version) {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    await layOutRedis(version, redis.url);
    return redis.url;
  },
};

async function opened(store: string): Promise<{ filled: Filled; close: () => Promise<void> }> {
  const options = { port: 0, store, executor: "none", logLevel: "error" } as const;
  const server = await startServer(options);
  cleanUp.push(() => server.close());
  return { filled: new Filled(server.url), close: () => server.close() };
}

const CASES = releasedVersions().flatMap((version) =>
  Object.keys(LAY_OUT).map((kind) => ({ version, kind }))
);

test.each(CASES)("the $kind store of $version", async ({ version, kind }) => {
  const store = await LAY_OUT[kind]?.(version) ?? "";
  const first = await opened(store);
  const { waiting, failed, done } = STORED;
  expect(await first.filled.phases()).toEqual({
    [waiting]: "Running",
    [failed]: "Failed",
    [done]: "Succeeded",
  });
  expect(await first.filled.manifests()).toEqual([STORED_TEMPLATE, STORED_CRON]);

  await first.filled.resume(waiting);
  const resumed = await first.filled.until(waiting, ({ status }) => status?.phase === "Succeeded");
  const given = Object.values(resumed.status?.nodes ?? {}).flatMap(({ inputs }) =>
    inputs?.parameters ?? []
  );
  expect(given).toContainEqual(expect.objectContaining({ name: "who", value: waiting }));

  await first.filled.retry(failed);
  await first.filled.until(failed, (workflow) => waitingSteps(workflow).includes("wait"));
  await first.close();

  // What this program wrote into that store is read again.
  const second = await opened(store);
  await second.filled.resume(failed);
  await second.filled.until(failed, ({ status }) => status?.phase === "Succeeded");
  expect(Object.values(await second.filled.phases())).toEqual(Array(3).fill("Succeeded"));
});
