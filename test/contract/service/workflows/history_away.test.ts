/** A real server while its archive in PostgreSQL is away, and when it comes back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  databaseMissing,
  type DatabaseServer,
  startDatabase,
} from "../../../support/database_server.ts";
import { runSluice } from "../../../support/sluice_cli.ts";
import { startRedisServer } from "../../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

const missing = databaseMissing("postgres");
const PASSWORD = "hunter2-of-the-archive";
const COUNT = 5;

describe.skipIf(missing !== undefined)(`postgres${missing ? ` (${missing})` : ""}`, () => {
  let database: DatabaseServer;
  let redis: Awaited<ReturnType<typeof startRedisServer>>;
  let server: ServerProcess;

  beforeAll(async () => {
    [database, redis] = await Promise.all([startDatabase("postgres"), startRedisServer()]);
    await database.crash();
    const url = database.url.replace("argo@", `argo:${PASSWORD}@`);
    server = await startServer([
      `--store=${redis.url}`,
      `--archive-store=${url}`,
      "--keep-finished=0s",
      "--executor=none",
    ]);
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await redis?.stop();
    await database?.stop();
  });

  // deno-lint-ignore no-explicit-any -- answers of any shape
  async function get(path: string): Promise<any> {
    const response = await fetch(server.url + path);
    return { status: response.status, body: await response.json() };
  }

  async function metric(name: string): Promise<number> {
    const page = await (await fetch(`${server.url}/metrics`)).text();
    return Number(page.split("\n").find((line) => line.startsWith(`${name} `))?.split(" ").at(-1));
  }

  test(
    "workflows end and stay, nothing stops, the probe and metrics tell; then the backlog moves",
    async () => {
      for (let index = 0; index < COUNT; index++) {
        const made = await fetch(`${server.url}/api/v1/workflows/default`, {
          method: "POST",
          body: JSON.stringify({
            workflow: {
              metadata: { name: `w${index}` },
              spec: { entrypoint: "m", templates: [{ name: "m", suspend: { duration: "0s" } }] },
            },
          }),
        });
        expect(made.status).toBe(200);
        await made.body?.cancel();
      }
      await until(async () => await metric("sluice_archive_backlog") === COUNT);
      expect(await metric('sluice_archive_writes_total{outcome="failed"}')).toBeGreaterThan(0);
      expect(await metric("sluice_archive_oldest_seconds")).toBeGreaterThan(0);
      const ready = await get("/readyz");
      expect(ready).toMatchObject({
        status: 200,
        body: { status: "ok", archive: expect.stringMatching(/^away: /) },
      });
      const listed = await get("/api/v1/workflows/default");
      expect(listed.body.items).toHaveLength(COUNT);
      expect((await get("/api/v1/workflows/default/w0")).body.status.phase).toBe("Succeeded");
      for (const path of ["workflows/default", "archived-workflows", "workflow-counts/"]) {
        const { headers } = await fetch(`${server.url}/api/v1/${path}`);
        expect(headers.get("warning"), path).toMatch(/^299 - "the archive is unreachable: [^"]+"$/);
      }
      const shown = await runSluice(["--server", server.url, "list"]);
      expect(shown.err).toContain("Warning: the archive is unreachable");
      const counts = await get("/api/v1/workflow-counts/?bars=1");
      expect(counts.body.phases.Succeeded).toEqual([COUNT]);
      // It may be in the archive.
      expect((await get("/api/v1/workflows/default/other")).status).toBe(503);
      await database.restart();
      await until(async () =>
        await metric('sluice_archive_writes_total{outcome="moved"}') === COUNT &&
        await metric("sluice_archive_backlog") === 0
      );
      const { headers } = await fetch(`${server.url}/api/v1/workflows/default`);
      expect(headers.get("warning")).toBeNull();
      expect((await get("/readyz")).body.archive).toBeUndefined();
      expect((await get("/api/v1/workflows/default")).body.items).toHaveLength(COUNT);
      expect((await get("/api/v1/workflows/default/w0")).body.status.phase).toBe("Succeeded");
      expect((await get("/api/v1/workflows/default/other")).status).toBe(404);
      expect(server.log.join("\n")).toContain("postgres://argo:***@");
      expect(server.log.join("\n")).not.toContain(PASSWORD);
    },
    120_000,
  );
});
