/**
 * A store of many workflows moves from SQLite to Redis: it is filled by a server, copied by the command line, which is killed
 * in the middle and run again, and a server on Redis ends all that were suspended.
 */
import { createInterface } from "node:readline";
import { spawn } from "node:child_process";
import process from "node:process";
import { SLUICE } from "./sluice_cli.ts";
import { startServer } from "./server_process.ts";
import { until } from "./until.ts";

const FLAGS = ["--executor=none"];

const SPEC = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [[{
        name: "wait",
        template: "wait",
        when: "{{workflow.parameters.kind}} == suspended",
      }]],
    },
    { name: "wait", suspend: {} },
  ],
};

/** Does something for each number, so many at the same time. */
async function forEachOf(
  count: number,
  atOnce: number,
  work: (number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, async () => {
    while (next < count) await work(next++);
  }));
}

async function call(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", prefer: "return=minimal" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${answer.slice(0, 200)}`);
  }
  return JSON.parse(answer) as unknown;
}

/** Number of workflows of a phase. */
async function countOf(url: string, phase: string): Promise<number> {
  const labels = encodeURIComponent(`workflows.argoproj.io/phase=${phase}`);
  let count = 0;
  for (let token = "";;) {
    const query =
      `listOptions.limit=500&fields=metadata,items.metadata.name&listOptions.continue=${token}` +
      `&listOptions.labelSelector=${labels}`;
    const page = await call(url, "GET", `/api/v1/workflows/copy?${query}`) as {
      items: unknown[] | null;
      metadata: { continue?: string };
    };
    count += page.items?.length ?? 0;
    token = encodeURIComponent(page.metadata.continue ?? "");
    if (token === "") return count;
  }
}

/** Fills a store through a server of its own. */
export async function fillBy(store: string, count: number, suspended: number): Promise<void> {
  const server = await startServer([`--store=${store}`, "--durability=everysec", ...FLAGS]);
  try {
    await forEachOf(count, 24, async (number) => {
      const kind = number < suspended ? "suspended" : "done";
      const workflow = {
        metadata: { name: `w-${number}`, namespace: "copy" },
        spec: { ...SPEC, arguments: { parameters: [{ name: "kind", value: kind }] } },
      };
      await call(server.url, "POST", "/api/v1/workflows/copy", { workflow });
    });
    await until(async () => await countOf(server.url, "Succeeded") === count - suspended);
  } finally {
    await server.stop();
  }
}

/** Runs `sluice store copy`. @param killWhen resolves when it is to be killed @returns what it printed */
export async function runCopy(
  from: string,
  to: string,
  killWhen?: () => Promise<unknown>,
): Promise<{ status: number | null; said: string }> {
  const [program, ...first] = SLUICE;
  const child = spawn(program, [...first, "store", "copy", from, to, "--shards", "16"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => (said += `${line}\n`));
  }
  const { pid } = child;
  const ended = new Promise<number | null>((done) => child.once("close", done));
  if (killWhen !== undefined && pid !== undefined) {
    await killWhen();
    process.kill(pid, "SIGKILL");
  }
  const status = await ended;
  return { status, said };
}

/** Resumes all that are suspended, through a server on the store, and waits until they have ended. */
export async function resumeAll(store: string, count: number, suspended: number): Promise<void> {
  const server = await startServer([`--store=${store}`, ...FLAGS]);
  try {
    const running = await countOf(server.url, "Running");
    if (running !== suspended) throw new Error(`${running} of ${suspended} are running`);
    await forEachOf(suspended, 16, async (number) => {
      await call(server.url, "PUT", `/api/v1/workflows/copy/w-${number}/resume`, {});
    });
    await until(async () => await countOf(server.url, "Succeeded") === count);
  } finally {
    await server.stop();
  }
}
