/** The commands of docs/history.md, in their order, as they are written, on a port of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { freePort } from "../support/free_port.ts";
import { blocksOf, Shell } from "../support/markdown_commands.ts";
import { placeIn, runBlock } from "../support/page_run.ts";
import { untilAnswered } from "../support/until.ts";

const PAGE = join(import.meta.dirname, "../../docs/history.md");
const missing = "Deno" in globalThis ? undefined : "it needs Deno";

let shell: Shell | undefined;
let folder: string | undefined;
afterEach(() => {
  shell?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test.skipIf(missing !== undefined)(
  `history.md${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  async () => {
    folder = mkdtempSync(join(tmpdir(), "sluice-history-page-"));
    const port = await freePort();
    const place = placeIn(folder);
    // Settings of the environment, so that the commands stay as they are.
    const env = {
      ...place.env,
      SLUICE_PORT: String(port),
      SLUICE_SERVER: `http://127.0.0.1:${port}`,
    };
    shell = new Shell({ ...place, env }, 120_000);
    const blocks = blocksOf(PAGE);
    expect(blocks.length).toBeGreaterThan(3);
    for (const { commands, ...block } of blocks) {
      const here = commands.replaceAll(":2746", `:${port}`);
      if (block.isBackground) {
        shell.start(here);
        await untilAnswered(`http://127.0.0.1:${port}/readyz`);
      } else await runBlock(shell, { ...block, commands: here }, "history.md");
    }
  },
  240_000,
);
