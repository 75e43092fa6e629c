/**
 * The commands of the README and of the tutorials, in their order, as they are written. Pages that begin in a checkout run in
 * a copy of it, the others in an empty folder. Packages come from a registry on this machine, into an empty cache: `sluice` is
 * built here. `npx -y deno@…` is this Deno, so that it is not loaded.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Block, blocksOf, Shell } from "../support/markdown_commands.ts";
import { type NpmRegistry, startNpmRegistry } from "../support/npm_registry.ts";
import { packOnce, registryMissing } from "../support/packed.ts";
import { placeIn, runBlock } from "../support/page_run.ts";
import { untilAnswered } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
/** What the pages use. */
const PORTS = [2746, 8099];
const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs/tutorials")).sort()
    .map((name) => `docs/tutorials/${name}`),
]
  // Its commands need a cluster: `deno task e2e:cluster` runs them.
  .filter((file) => file !== "docs/tutorials/kubernetes.md");

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer().once("error", () => done(false))
      .listen(port, "127.0.0.1", () => probe.close(() => done(true)));
  });
}

async function portsAreFree(): Promise<boolean> {
  return !(await Promise.all(PORTS.map(isFree))).includes(false);
}

const FREE = { timeout: 60_000, message: `ports ${PORTS.join(" and ")}: stop what listens there` };
const busy = !await portsAreFree();
const isDeno = "Deno" in globalThis;

const isAboutTests = ({ commands }: Block) => commands.endsWith("task test");

let shell: Shell | undefined;
const folders: string[] = [];
afterEach(() => {
  shell?.close();
  for (const folder of folders.splice(0)) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

const missing = !isDeno
  ? "it needs Deno"
  : busy
  ? "the ports 2746 and 8099 are not free"
  : registryMissing();

describe.skipIf(missing !== undefined)(
  missing === undefined ? "as written" : `as written (skipped: ${missing})`,
  () => {
    let registry: NpmRegistry;
    beforeAll(async () => {
      registry = await startNpmRegistry();
      registry.publish(packOnce().file);
    }, 300_000);
    afterAll(() => registry?.stop());

    test.each(PAGES)("%s", async (file) => {
      // The programs of the page before have been killed, and may take a moment to be gone.
      await expect.poll(portsAreFree, FREE).toBe(true);
      const blocks = blocksOf(join(ROOT, file)).filter((one) => !isAboutTests(one));
      const folder = mkdtempSync(join(tmpdir(), "sluice-pages-"));
      folders.push(folder);
      const bash = shell = new Shell(
        placeIn(folder, { env: registry.env, isEmpty: !blocks[0]?.commands.includes("deno@") }),
      );
      for (const block of blocks) {
        if (block.isBackground) {
          bash.start(block.commands);
          const address = block.commands.includes("job_server") ? "8099/jobs" : "2746/readyz";
          await untilAnswered(`http://127.0.0.1:${address}`);
          continue;
        }
        await runBlock(bash, block, `${file}:${block.line}`);
      }
    });
  },
);
