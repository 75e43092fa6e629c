/** The commands of `docs/archive-store.md`, on an archive that Argo Workflows has filled; and what retention removes. */
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresArchive } from "../../src/archive/postgres/archive.ts";
import { databaseMissing, type DatabaseServer, startDatabase } from "../support/database_server.ts";
import { blocksOf, Shell } from "../support/markdown_commands.ts";
import {
  createReferenceTables,
  referenceRow,
  writeReferenceRows,
} from "../support/reference_archive.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { runSluice, SLUICE } from "../support/sluice_cli.ts";

const PAGE = join(import.meta.dirname, "../../docs/archive-store.md");
const missing = databaseMissing("postgres");

/** The text of the page's blocks of a language. */
function texts(language: string): string[] {
  const blocks = readFileSync(PAGE, "utf8").matchAll(
    new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"),
  );
  return [...blocks].map(([, text = ""]) => text);
}

describe.skipIf(missing !== undefined)(
  `docs/archive-store.md${missing ? ` (${missing})` : ""}`,
  () => {
    let folder: string;
    let database: DatabaseServer;
    let server: ServerProcess;
    let shell: Shell;
    const rows = Array.from(
      { length: 200 },
      (_, index) => referenceRow(index, Date.now() - 86_400_000),
    )
      .filter(({ instanceId }) => instanceId === "");
    const failed = rows.filter(({ namespace, phase }) =>
      namespace === "team-a" && phase === "Failed"
    );

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "sluice-archive-store-"));
      database = await startDatabase("postgres");
      await createReferenceTables(database.database);
      await writeReferenceRows(database.database, rows);
      const [command = ""] = texts("shell");
      const flags = command.trim().replace(/^sluice server /, "").replace(
        '"$ARCHIVE"',
        database.url,
      ).split(" ");
      server = await startServer([
        ...flags,
        `--store=sqlite:${join(folder, "store")}`,
        `--work-dir=${join(folder, "work")}`,
        "--executor=none",
      ]);
      const words = SLUICE.map((word) => `"${word}"`).join(" ");
      await writeFile(join(folder, "sluice"), `#!/bin/sh\nexec ${words} "$@"\n`);
      await chmod(join(folder, "sluice"), 0o755);
      const PATH = `${folder}${delimiter}${process.env["PATH"]}`;
      shell = new Shell({ cwd: folder, env: { ...process.env, PATH, SLUICE_SERVER: server.url } });
    });
    afterAll(async () => {
      shell?.close();
      await server?.stop();
      await database?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    test("every command does what the page says", async () => {
      const [grants = "", progress = ""] = texts("sql");
      await expect.poll(
        async () =>
          (await database.database.query(progress.trim().replace(/;$/, ""), []))[0]?.["sweeps"],
        { timeout: 30_000 },
      ).not.toBe("0");
      const [list, prune] = blocksOf(PAGE);
      const shown = await shell.run(list?.commands ?? "");
      expect(failed.length).toBeGreaterThan(3);
      for (const { name } of failed) expect(shown).toContain(name);
      const pruned = await shell.run(prune?.commands ?? "");
      expect(pruned).toContain(`${failed.length} archived workflows would be removed`);
      expect(pruned).toContain(`${failed.length} archived workflows removed`);
      const [left] = await database.database.query(
        "select count(*)::text as rows from argo_archived_workflows where namespace = 'team-a' and phase = 'Failed'",
        [],
      );
      expect(left).toEqual({ rows: "0" });
      await database.database.query("create role sluice login", []);
      for (const grant of grants.split(";").map((text) => text.trim())) {
        if (grant !== "") await database.database.query(grant, []);
      }
      const archive = openPostgresArchive({
        url: database.url.replace("argo@", "sluice@"),
        looksAfterOthers: false,
      });
      await archive.fill();
      const [first] = (await archive.list({ limit: 1, withoutObjects: true })).items;
      await archive.remove([first?.uid ?? ""]);
      expect(await archive.get(first?.uid ?? "")).toBeUndefined();
      await archive.close();
    });
  },
);

describe("retention", () => {
  let folder: string;
  let server: ServerProcess;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-retention-"));
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (...more: string[]) => {
    server = await startServer([
      `--store=sqlite:${join(folder, "store")}`,
      `--archive-store=sqlite:${join(folder, "archive")}`,
      `--work-dir=${join(folder, "work")}`,
      `--artifacts=${join(folder, "artifacts")}`,
      "--executor=process",
      "--keep-finished=1s",
      "--keep-failed=1s",
      ...more,
    ]);
  };
  // deno-lint-ignore no-explicit-any -- answers of any shape
  async function call(method: string, path: string, body?: unknown): Promise<any> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}${path}`, { method, ...init });
    const text = await response.text();
    return response.headers.get("content-type")?.includes("json")
      ? { code: response.status, ...JSON.parse(text) }
      : { code: response.status, text };
  }
  async function submit(name: string, strategy?: string, script = "true"): Promise<void> {
    const artifacts = [{ name: "out", path: "/tmp/out", archive: { none: {} } }];
    const made = await call("POST", "/api/v1/workflows/default", {
      workflow: {
        metadata: { name, labels: { kept: String(strategy === undefined) } },
        spec: {
          entrypoint: "main",
          ...(strategy !== undefined && { artifactGC: { strategy } }),
          templates: [{
            name: "main",
            script: {
              image: "x",
              command: ["sh"],
              source: `echo of ${name} > {{outputs.artifacts.out.path}}; ${script}`,
            },
            outputs: { artifacts },
          }],
        },
      },
    });
    expect(made.code).toBe(200);
  }
  const names = async () =>
    (await call("GET", "/api/v1/archived-workflows")).items
      ?.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort() ?? [];
  const prune = (...args: string[]) =>
    runSluice(["archive", "prune", ...args], { env: { SLUICE_SERVER: server.url } });
  /** Asks the archive file: the lists of the server have both places. */
  const isMoved = async (name: string) =>
    (await prune("--rules", "0s", "--dry-run")).out.includes(`default/${name} `);

  test("removes what a rule says, with its artifacts, and nothing else", async () => {
    await start();
    await submit("kept");
    await submit("gone", "OnWorkflowDeletion");
    await submit("failed", undefined, "exit 1");
    for (const name of ["kept", "gone", "failed"]) {
      await expect.poll(() => isMoved(name), { timeout: 30_000, interval: 500 }).toBe(true);
    }
    /** Files with what a workflow wrote. */
    const artifacts = (name: string) =>
      readdirSync(join(folder, "artifacts"), { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
        .filter(({ parentPath, name: file }) =>
          readFileSync(join(parentPath, file), "utf8") === `of ${name}\n`
        ).length;
    for (const name of ["kept", "gone"]) expect(artifacts(name)).toBeGreaterThan(0);
    const rules = "labels=kept=true forever; 0s";
    const dry = await prune("--rules", rules, "--dry-run");
    expect(dry.out).toMatch(
      /^default\/gone [-0-9a-f]{36} Succeeded \S+Z\n1 archived workflow would be removed\n$/,
    );
    expect(await names()).toEqual(["failed", "gone", "kept"]);
    expect((await prune("--rules", rules)).out).toMatch(/\n1 archived workflow removed\n$/);
    expect(await names()).toEqual(["failed", "kept"]);
    await expect.poll(() => artifacts("gone"), { timeout: 10_000 }).toBe(0);
    expect(artifacts("kept")).toBeGreaterThan(0);
    for (
      const [bad, why] of [["1x", /retention rule "1x"/], [
        "phase=Done 1d",
        /"Done" is none of/,
      ]] as const
    ) {
      const refused = await prune("--rules", bad);
      expect(refused.status).toBe(1);
      expect(refused.err).toMatch(why);
    }
    expect((await prune()).err).toMatch(/--archive-retention/);
  });

  test("goes on by itself, by the setting", async () => {
    await server.stop();
    await start("--archive-retention=phase=Failed 1s; forever");
    await expect.poll(names, { timeout: 30_000, interval: 300 }).toEqual(["kept"]);
  });
});
