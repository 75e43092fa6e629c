/** The commands of `docs/coming-from-argo.md` marked `sh`, in their order, against an API server, a database and a server. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { collectionPath } from "../../src/kubernetes/cluster_object.ts";
import { createArchive, fillArchive } from "../support/argo_archive.ts";
import { installation } from "../support/argo_installation.ts";
import { type ClusterKinds, defineKinds } from "../support/cluster_kinds.ts";
import { databaseMissing, type DatabaseServer, startDatabase } from "../support/database_server.ts";
import { blocksOf, Shell } from "../support/markdown_commands.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { SLUICE } from "../support/sluice_cli.ts";

const PAGE = join(import.meta.dirname, "../../docs/coming-from-argo.md");
const STARTED_AT = Date.now() - 86_400_000;
const ARCHIVED = 20;

const missing = databaseMissing("postgres");
let folder: string;
let kinds: ClusterKinds;
let server: ServerProcess;
let database: DatabaseServer | undefined;
let shell: Shell;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-coming-"));
  const group = "argoproj.io";
  const namespace = "team-a";
  kinds = await defineKinds(group, namespace, true);
  const apiVersion = `${group}/v1alpha1`;
  // Those that are refused end the command with status 1, which the page says too.
  const refused = ["missing", "cyclic", "etl-7"];
  for (const object of installation({ namespace, apiVersion, startedAt: STARTED_AT })) {
    if (refused.includes(object.metadata.name)) continue;
    const path = object.kind === "ConfigMap"
      ? `/api/v1/namespaces/${namespace}/configmaps`
      : collectionPath(group, object.kind as "Workflow", namespace);
    await kinds.client.call({ method: "POST", path, body: object });
  }
  server = await startServer([
    `--store=sqlite:${join(folder, "store")}`,
    `--work-dir=${join(folder, "work")}`,
    "--executor=none",
  ]);
  if (missing === undefined) {
    database = await startDatabase("postgres");
    await createArchive(database, "postgres");
    await fillArchive(database, "postgres", ARCHIVED, STARTED_AT - 3_600_000);
  }
  const words = SLUICE.map((word) => `"${word}"`).join(" ");
  await writeFile(join(folder, "sluice"), `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(join(folder, "sluice"), 0o755);
  shell = new Shell({
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
      KUBECONFIG: kinds.config,
      SLUICE_SERVER: server.url,
      ...(database && { ARCHIVE: database.url }),
    },
  });
});
afterAll(async () => {
  shell?.close();
  await server?.stop();
  await database?.stop();
  await kinds?.remove();
  await rm(folder, { recursive: true, force: true });
});

test(`every block runs, and brings what the page says${missing ? ` (archive: ${missing})` : ""}`, async () => {
  const blocks = blocksOf(PAGE).filter(({ commands }) =>
    database !== undefined || !commands.includes("$ARCHIVE")
  );
  expect(blocks.length).toBeGreaterThanOrEqual(2);
  let last = "";
  for (const { commands } of blocks) last = await shell.run(commands);
  if (database !== undefined) expect(last).toMatch(/archived Workflow +20 +20 +0 +0 +0 +20 /);
  const client = createClient({ server: server.url });
  const namespace = "team-a";
  const crons = await client.call("CronWorkflowService_ListCronWorkflows", {
    params: { namespace },
  });
  expect(crons.items).toHaveLength(10);
  expect(crons.items?.every(({ spec }) => spec.suspend === true)).toBe(true);
});
