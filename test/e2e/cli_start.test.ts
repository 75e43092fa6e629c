/** What `sluice list` loads before it is done: what a command takes to start follows from that, whatever the machine is doing. */
import { execFile } from "node:child_process";
import { join, relative } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/server.ts";
import { nodeFolder } from "../support/packed.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Files at most; 32 on 28 November 2026. */
const MAX_FILES = 32;
/** Their characters at most; 289,764 on 28 November 2026, of them 127,000 of the parser of command lines. */
const MAX_CHARACTERS = 290_000;
/** Where the files may lie. */
const ALLOWED =
  /^(src\/(cli|client|base|expr\/selectors)\/|src\/spec\/naming\.ts$|.*\/commander\/)/;
/** Prints at the end what was loaded: each module's address and its characters. */
const WITNESS = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({
  load(url, context, next) {
    const answer = next(url, context);
    if (url.startsWith("file:")) loaded.push([new URL(url).pathname, answer.source?.length ?? 0]);
    return answer;
  },
});
process.on("exit", () => process.stderr.write(JSON.stringify(loaded)));
`;

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ port: 0, store: "memory:", executor: "none" });
});
afterAll(() => server.close());

test("only the modules of its own command, and few of them", async () => {
  const { stdout, stderr } = await promisify(execFile)(
    join(nodeFolder(), "node"),
    [
      "--import",
      `data:text/javascript,${encodeURIComponent(WITNESS)}`,
      join(ROOT, "src/cli/main.ts"),
      "list",
    ],
    { env: { ...process.env, SLUICE_SERVER: server.url } },
  );
  expect(stdout).toContain("No workflows found");
  const loaded = JSON.parse(stderr) as [path: string, characters: number][];
  const paths = loaded.map(([path]) => relative(ROOT, path));
  expect(paths).toContain("src/cli/workflow_commands.ts");
  expect(paths.filter((path) => !ALLOWED.test(path))).toEqual([]);
  expect(paths.length).toBeLessThanOrEqual(MAX_FILES);
  const characters = loaded.reduce((sum, [, own]) => sum + own, 0);
  expect(characters).toBeLessThanOrEqual(MAX_CHARACTERS);
});
