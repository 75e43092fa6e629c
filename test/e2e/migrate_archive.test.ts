/** An archive of ten thousand workflows is brought along: whatever is killed in between, all of them arrive once. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import { NUL_TEXT } from "../../src/spec/archived_text.ts";
import { createArchive, fillArchive, finishedWorkflow } from "../support/argo_archive.ts";
import {
  databaseMissing,
  type DatabaseName,
  type DatabaseServer,
  startDatabase,
} from "../support/database_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Outcome, runSluice } from "../support/sluice_cli.ts";

const STARTED_AT = Date.now() - 86_400_000;
const RESIDENT_MIB = 200;
/** A busy machine takes minutes for ten thousand commits. */
const LONG_MS = 1_200_000;

const SIZES = {
  postgres: { count: 10_000, killedAt: 500, teamC: 100 },
  mariadb: { count: 300, killedAt: 50, teamC: 3 },
} as const;

/** The large package is installed for its test; the other database is used where it is. */
const missing = {
  postgres: databaseMissing("postgres"),
  mariadb: databaseMissing("mariadb", false),
};

describe.each(["postgres", "mariadb"] as const)("an archive in %s", (name: DatabaseName) => {
  const reason = missing[name];
  const { count, killedAt, teamC } = SIZES[name];
  const title = (text: string) => reason === undefined ? text : `${text} (${reason})`;
  let folder: string;
  let database: DatabaseServer;
  let server: ServerProcess;
  let client: Client;

  beforeAll(async () => {
    if (reason !== undefined) return;
    folder = await mkdtemp(join(tmpdir(), "sluice-archived-"));
    database = await startDatabase(name);
    await createArchive(database, name);
    await fillArchive(database, name, count, STARTED_AT);
    server = await startServer([
      // What has ended long ago would move into the archive meanwhile, which is a change.
      "--archive-store=store",
      `--store=sqlite:${join(folder, "store")}`,
      `--work-dir=${join(folder, "work")}`,
      "--executor=none",
      "--archive-deleted",
      "--durability=everysec",
    ]);
    client = createClient({ server: server.url });
  }, LONG_MS);
  afterAll(async () => {
    await server?.stop();
    await database?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  function migrate(args: string[], onStart?: (child: ChildProcess) => void): Promise<Outcome> {
    return runSluice(
      ["migrate", "argo", "--archive", database.url, "--archive-only", ...args],
      { env: { SLUICE_SERVER: server.url }, ...(onStart && { onStart }) },
    );
  }

  /** `found works … created unchanged differs replaced`, from the last line of the summary. */
  function counts({ out, err, status }: Outcome): number[] {
    const row = /^archived Workflow +([\d ]+)$/m.exec(out)?.[1];
    if (row === undefined) throw new Error(`no summary (status ${status}): ${out}${err}`);
    return row.trim().split(/ +/).map(Number);
  }

  async function archived(): Promise<number> {
    let total = 0;
    for (let next: string | undefined, isFirst = true; isFirst || (next ?? "") !== "";) {
      isFirst = false;
      const page = await client.call("ArchivedWorkflowService_ListArchivedWorkflows", {
        query: { "listOptions.limit": 1_000, "listOptions.continue": next },
      });
      total += page.items?.length ?? 0;
      next = page.metadata.continue;
    }
    return total;
  }

  test.skipIf(reason !== undefined)(title("a dry run counts, for one namespace too"), async () => {
    expect(counts(await migrate(["-n", "team-c"])))
      .toEqual([teamC, teamC, 0, 0, 0, teamC, 0, 0, 0]);
    expect(await archived()).toBe(0);
    const none = await migrate(["-n", "nobody"]);
    expect(none.status).toBe(0);
    const other = await migrate(["--archive-cluster-name", "other"]);
    expect(other.out).toContain('some are of "default": --archive-cluster-name names it');
    expect(other.status).toBe(1);
  }, LONG_MS);

  test.skipIf(reason !== undefined)(
    title("killed in between, it goes on, and all arrive once"),
    async () => {
      const { status } = await migrate(["--apply"], (child) => void killLater(child));
      expect(status).toBeNull();
      const before = await archivedAtRest();
      expect(before).toBeGreaterThanOrEqual(killedAt);
      expect(before).toBeLessThan(count);

      const peak = { mib: 0 };
      const resumed = await migrate(["--apply"], (child) => follow(child, peak));
      expect(counts(resumed)).toEqual([count, count, 0, 0, 0, count - before, before, 0, 0]);
      expect(resumed.status).toBe(0);
      expect(await archived()).toBe(count);
      if (process.platform === "linux") {
        expect(peak.mib).toBeGreaterThan(10);
        expect(peak.mib).toBeLessThan(RESIDENT_MIB);
      }
    },
    LONG_MS,
  );

  test.skipIf(reason !== undefined)(title("a second run changes nothing"), async () => {
    const version = await listVersion();
    expect(counts(await migrate(["--apply"]))).toEqual([count, count, 0, 0, 0, 0, count, 0, 0]);
    expect(await listVersion()).toBe(version);
  }, LONG_MS);

  /** Kills a process when enough has arrived. One look after another: they take the server's time too. */
  async function killLater(child: ChildProcess): Promise<void> {
    while (child.exitCode === null) {
      const seen = await archived().catch(() => 0);
      if (seen >= killedAt) {
        process.kill(child.pid ?? 0, "SIGKILL");
        return;
      }
      await new Promise((done) => setTimeout(done, 10));
    }
  }

  /** How many have arrived once the server has done what the killed process has sent. */
  async function archivedAtRest(): Promise<number> {
    for (let before = -1;;) {
      const now = await archived();
      if (now === before) return now;
      before = now;
      await new Promise((done) => setTimeout(done, 500));
    }
  }

  async function listVersion(): Promise<string | undefined> {
    const { metadata } = await client.call("ArchivedWorkflowService_ListArchivedWorkflows", {
      query: { "listOptions.limit": 1 },
    });
    return metadata.resourceVersion;
  }

  test.skipIf(reason !== undefined)(title("uid, times, labels and nodes are kept"), async () => {
    for (const index of [0, 8, 42]) {
      const { metadata, status, spec } = finishedWorkflow(index, STARTED_AT);
      const kept = await client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
        params: { uid: metadata.uid },
      });
      const { name, namespace, uid, creationTimestamp } = metadata;
      expect(kept.metadata).toMatchObject({ name, namespace, uid, creationTimestamp });
      expect(kept.metadata.labels).toMatchObject({ app: `app-${index % 7}` });
      expect(kept.spec).toMatchObject(spec as object);
      const { phase, startedAt, finishedAt } = status;
      expect(kept.status).toMatchObject({ phase, startedAt, finishedAt });
      expect(Object.keys(kept.status?.nodes ?? {}).sort()).toEqual(
        Object.keys(status.nodes).sort(),
      );
    }
  });

  test.skipIf(reason !== undefined)(
    title("rows that are odd are told one by one, and nodes come from wherever they are"),
    async () => {
      const rows = oddRows();
      for (const { uid, workflow } of rows) await insertRow(uid, workflow);
      const version = "fnv:1";
      const given = name === "postgres" ? "?::text::json" : "?";
      await database.database.query(
        `insert into argo_workflows (clustername, uid, version, namespace, nodes)
         values ('default', ?, ?, 'odd', ${given})`,
        ["odd-offloaded", version, JSON.stringify(finishedWorkflow(1, STARTED_AT).status.nodes)],
      );
      const { out, status } = await migrate(["-n", "odd", "--apply"]);
      expect(status).toBe(1);
      expect(out).toContain("✖ archived Workflow odd-scalar: its column workflow holds no object");
      expect(out).toContain("✖ archived Workflow odd-homeless: metadata.namespace: Required value");
      expect(out).toContain(": its nodes are no longer in the database");
      expect(out).toMatch(/odd-large: .*: raise --max-body-bytes of the server for the import/);
      for (const uid of ["odd-compressed", "odd-offloaded"]) {
        const kept = await client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
          params: { uid },
        });
        expect(Object.keys(kept.status?.nodes ?? {})).toHaveLength(9);
      }
      const { metadata } = await client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
        params: { uid: "odd-text" },
      });
      // PostgreSQL has no NUL in a text, so the reference writes words of its own for it.
      expect(metadata.annotations).toEqual({ note: "ünï 𝄞 \u0000 ? \\" });
      const far = await migrate(["-n", "odd", "--archive-nodes-table", "elsewhere"]);
      expect(far.out).toMatch(/nodes cannot be read: .*elsewhere.*\(--archive-nodes-table names/);
      await database.database.query(
        "delete from argo_archived_workflows where uid like 'odd-%'",
        [],
      );
    },
    LONG_MS,
  );

  async function insertRow(uid: string, workflow: Json): Promise<void> {
    const given = name === "postgres" ? "?::text::jsonb" : "?";
    const text = JSON.stringify(workflow);
    await database.database.query(
      `insert into argo_archived_workflows (clustername, uid, instanceid, name, phase, namespace, workflow)
       values ('default', ?, '', ?, 'Succeeded', 'odd', ${given})`,
      [uid, uid, name === "postgres" ? text.replaceAll("\\u0000", NUL_TEXT) : text],
    );
  }

  test.skipIf(reason !== undefined)(
    title("a database that does not answer, or has no archive, is named without its password"),
    async () => {
      const place = database.url.replace("@", ":***@");
      const told = async (url: string) => {
        const args = ["migrate", "argo", "--archive-only", "--archive", url];
        const { err } = await runSluice(args, { env: { SLUICE_SERVER: server.url } });
        return err;
      };
      const secret = (url: string) => url.replace(/\/\/(\w+)@/, "//$1:top-%2Fsecret@");
      const away = secret(database.url.replace(/:\d+\//, ":1/"));
      expect(await told(away)).toContain(`${place.replace(/:\d+\//, ":1/")}: connect ECONNREFUSED`);
      expect(await told(away)).not.toContain("secret");
      const wrong = await told(away.replace("%2F", "/"));
      expect(wrong).toContain("write / as %2F");
      expect(wrong).not.toContain("secret");
      const empty = database.url.replace(/[a-z]+$/, name === "postgres" ? "template1" : "mysql");
      expect(await told(empty)).toMatch(
        /The archive cannot be read: .*argo_archived_workflows.*--archive takes the database/,
      );
    },
    LONG_MS,
  );

  test.skipIf(reason !== undefined)(
    title("one that has changed there is told, and replaced only by --overwrite"),
    async () => {
      const { uid } = finishedWorkflow(5, STARTED_AT).metadata;
      const retried = finishedWorkflow(5, STARTED_AT + 3_600_000);
      const text = JSON.stringify({ ...retried, metadata: { ...retried.metadata, uid } });
      const given = name === "postgres" ? "?::text::jsonb" : "?";
      await database.database.query(
        `update argo_archived_workflows set workflow = ${given} where uid = ?`,
        [text, uid],
      );
      const team = ["-n", retried.metadata.namespace, "--apply"];
      const differs = await migrate(team);
      expect(differs.status).toBe(1);
      expect(counts(differs).slice(-4)).toEqual([0, teamC - 1, 1, 0]);
      expect(differs.out).toContain(`≠ archived Workflow team-c/etl-5: the archive has it`);
      expect(counts(await migrate([...team, "--overwrite"])).slice(-4))
        .toEqual([0, teamC - 1, 0, 1]);
      const kept = await client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
        params: { uid },
      });
      expect(kept.status?.finishedAt).toBe(retried.status["finishedAt"]);
    },
    LONG_MS,
  );
});

/** Rows as an archive of years may have them. */
function oddRows(): { uid: string; workflow: Json }[] {
  const workflow = (uid: string, status: JsonObject, metadata: JsonObject = {}) => {
    const whole = finishedWorkflow(1, STARTED_AT);
    const { nodes, ...rest } = whole.status;
    return {
      uid,
      workflow: {
        ...whole,
        metadata: { ...whole.metadata, name: uid, namespace: "odd", uid, ...metadata },
        status: { ...rest, ...(Object.keys(status).length === 0 ? { nodes } : status) },
      },
    };
  };
  const { nodes } = finishedWorkflow(1, STARTED_AT).status;
  return [
    { uid: "odd-scalar", workflow: 5 },
    workflow("odd-homeless", {}, { namespace: "" }),
    workflow("odd-compressed", {
      compressedNodes: gzipSync(JSON.stringify(nodes)).toString("base64"),
    }),
    workflow("odd-offloaded", { offloadNodeStatusVersion: "fnv:1" }),
    workflow("odd-gone", { offloadNodeStatusVersion: "fnv:2" }),
    workflow("odd-large", {}, { annotations: { note: "x".repeat(5 * 2 ** 20) } }),
    workflow("odd-text", {}, { annotations: { note: "ünï 𝄞 \u0000 ? \\" } }),
  ];
}

/** Notes the most memory that a process has had, MiB, as Linux counts it. */
function follow(child: ChildProcess, peak: { mib: number }): void {
  const look = () => {
    try {
      const text = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peak.mib = Math.max(peak.mib, Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended, or there is no such file system.
    }
  };
  const timer = setInterval(look, 100);
  child.once("exit", () => clearInterval(timer));
}
