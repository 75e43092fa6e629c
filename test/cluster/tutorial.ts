/** The commands of docs/tutorials/kubernetes.md, in their order, as they are written. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { blocksOf, Shell } from "../support/markdown_commands.ts";
import { placeIn, runBlock } from "../support/page_run.ts";
import { type Cluster, run } from "./cluster.ts";
import { needProgram } from "./programs.ts";
import { must, until } from "./transcript.ts";

const PAGE = "docs/tutorials/kubernetes.md";
const READY = "http://127.0.0.1:2746/readyz";
/** How long one block may take: images are built, and pods become ready, also on a busy machine. */
const PATIENCE_MS = 300_000;
/** The page's own namespace. */
const NAMESPACE = "/api/v1/namespaces/workflows";

const isReady = () => fetch(READY).then(({ ok }) => ok ? true : undefined, () => undefined);

/** Runs the step; returns what it saw. @throws {Error} for a command that fails or prints something else */
export async function tutorial({ kubeconfig, loader, client }: Cluster): Promise<string> {
  must(await isReady() === undefined, "something else answers at port 2746");
  const exists = await client.call({ path: NAMESPACE }).then(() => true, () => false);
  must(!exists, "there is a namespace workflows, which the page would remove");
  const helm = needProgram("helm");
  const folder = mkdtempSync(join(tmpdir(), "sluice-tutorial-"));
  const programs = {
    kind: `[ "$1 $2" = "load image-archive" ] && exec ${loader.join(" ")} "$PWD/$3"`,
    // Not where PATH has it: the script would call itself.
    ...(helm.includes("/") && { helm: `exec ${helm} "$@"` }),
  };
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const shell = new Shell(placeIn(folder, { env, programs }), PATIENCE_MS);
  const from = performance.now();
  try {
    const blocks = blocksOf(PAGE);
    for (const block of blocks) {
      if (block.isBackground) {
        shell.start(block.commands);
        await until("answer at port 2746", 30, isReady);
      } else await runBlock(shell, block, `${PAGE}:${block.line}`);
    }
    const minutes = ((performance.now() - from) / 60_000).toFixed(1);
    return `${blocks.length} blocks of commands in ${minutes} minutes`;
  } finally {
    shell.close();
    rmSync(folder, { recursive: true, force: true });
    // For a page that ended early: its last commands do the same.
    const uninstall = [helm, "uninstall", "sluice", "-n", "workflows", "--ignore-not-found"];
    run(uninstall, env);
    await client.call({ method: "DELETE", path: NAMESPACE }).catch(() => {});
  }
}
