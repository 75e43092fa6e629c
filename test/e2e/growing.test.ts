/**
 * The commands of `docs/growing.md`, in their order. Blocks marked `sh stopped` come after the servers before them were
 * stopped, as the page says.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { databaseMissing, type DatabaseServer, startDatabase } from "../support/database_server.ts";
import { freePort } from "../support/free_port.ts";
import { blocksOf, Shell } from "../support/markdown_commands.ts";
import { runBlock } from "../support/page_run.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { SLUICE } from "../support/sluice_cli.ts";
import { untilAnswered } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/growing.md");

let folder: string;
let redis: RedisServer;
let database: DatabaseServer | undefined;
let shell: Shell;
let ports: { 2746: number; 2747: number };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-growing-"));
  redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  if (databaseMissing("postgres") === undefined) database = await startDatabase("postgres");
  ports = { 2746: await freePort(), 2747: await freePort() };
  const words = SLUICE.map((word) => `"${word}"`).join(" ");
  writeFileSync(join(folder, "sluice"), `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(join(folder, "sluice"), 0o755);
  shell = new Shell({
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
      SLUICE_PORT: String(ports[2746]),
      SLUICE_SERVER: `http://127.0.0.1:${ports[2746]}`,
      // Without PostgreSQL the archive is copied to another folder.
      ARCHIVE: database?.url ?? `sqlite:${join(folder, "archive")}`,
      NO_COLOR: "1",
    },
  });
});
afterAll(async () => {
  shell?.close();
  await redis?.stop();
  await database?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** The page's addresses are those of this test. */
const here = (text: string) =>
  text.replaceAll("redis://127.0.0.1:6379", redis.url).replaceAll("2747", String(ports[2747]));

test("every block runs, and brings what the page says", async () => {
  const blocks = blocksOf(PAGE);
  expect(blocks.length).toBeGreaterThan(10);
  let isStopped = true;
  for (const block of blocks) {
    const commands = here(block.commands);
    if (block.mark === "stopped") {
      const startedAt = performance.now();
      await shell.stop();
      // Several processes of the command line once waited until their parent killed them.
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      isStopped = true;
    }
    if (!block.isBackground) {
      const printed = block.printed === undefined ? undefined : here(block.printed);
      await runBlock(shell, { ...block, commands, printed }, `${PAGE}:${block.line}`);
      continue;
    }
    // Another server beside one that runs has a port of its own.
    const isBeside = commands.includes("--port");
    if (!isStopped && !isBeside) await shell.stop();
    shell.start(commands);
    isStopped = false;
    await untilAnswered(`http://127.0.0.1:${ports[isBeside ? 2747 : 2746]}/readyz`);
  }
}, 240_000);

test("the chart knows the values of the page", () => {
  const [, yaml = ""] = /```yaml\n([^]*?)```/.exec(readFileSync(PAGE, "utf8")) ?? [];
  const shown = parse(yaml) as Record<string, unknown> & { redis: object };
  const known = parse(readFileSync(join(ROOT, "helm/sluice/values.yaml"), "utf8")) as typeof shown;
  expect(Object.keys(known)).toEqual(expect.arrayContaining(Object.keys(shown)));
  expect(Object.keys(known.redis)).toEqual(expect.arrayContaining(Object.keys(shown.redis)));
});
