/** Where the time of a process goes, by the profiler of V8, asked over its inspector. */
import { openInspector } from "./inspector.ts";

interface CallFrame {
  functionName: string;
  url: string;
}

interface ProfileNode {
  id: number;
  callFrame: CallFrame;
  children?: number[];
}

export interface Profile {
  nodes: ProfileNode[];
  /** Ids of nodes. */
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

/** Time between two samples, microseconds. */
const INTERVAL_US = 250;

/** Parts of a server, by what the path of a file contains; the first that fits counts. */
const PARTS: readonly [part: string, paths: readonly string[]][] = [
  ["HTTP in and out", ["/src/http/", "/src/platform/serve", "ext:deno_http", "/hono/", "/@hono/"]],
  ["the HTTP step", ["/src/executors/", "/src/platform/http_", "/undici/"]],
  ["encoding and views", ["/src/engine/codec", "/src/engine/view", "/src/base/json_text"]],
  ["engine", ["/src/engine/", "/src/expr/"]],
  ["checks, names, rights", ["/src/spec/", "/src/auth/", "/src/service/"]],
  ["actors, batches, outbox, timers", ["/src/actors/", "/src/platform/"]],
  ["store and its client", ["/src/store/", "/node_modules/redis/", "/@redis/"]],
  ["streams and sockets of the runtime", ["node:net", "stream", "ext:deno_net", "ext:"]],
];

/** Records while something runs. */
export async function recordProfile(port: number, run: () => Promise<unknown>): Promise<Profile> {
  const inspector = await openInspector(port);
  await inspector.ask("Profiler.enable");
  await inspector.ask("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  await inspector.ask("Profiler.start");
  await run();
  const { profile } = await inspector.ask("Profiler.stop") as { profile: Profile };
  inspector.close();
  return profile;
}

/** Microseconds of each part for each of so many jobs, the largest first. What has no file counts for its caller. */
export function partsOfProfile(
  { nodes, samples, timeDeltas }: Profile,
  jobs: number,
): { part: string; us: number }[] {
  const partOf = new Map<number, string>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const visit = (id: number, caller: string) => {
    const node = byId.get(id);
    if (node === undefined) return;
    const part = ownPart(node.callFrame) ?? caller;
    partOf.set(id, part);
    for (const child of node.children ?? []) visit(child, part);
  };
  visit(nodes[0]?.id ?? 0, "the runtime itself");
  const sums = new Map<string, number>();
  samples.forEach((id, at) => {
    const part = partOf.get(id) ?? "the runtime itself";
    sums.set(part, (sums.get(part) ?? 0) + (timeDeltas[at] ?? 0));
  });
  sums.delete("idle");
  return [...sums].map(([part, us]) => ({ part, us: us / jobs })).sort((a, b) => b.us - a.us);
}

function ownPart({ functionName, url }: CallFrame): string | undefined {
  if (functionName === "(garbage collector)") return "garbage collection";
  if (functionName === "(idle)") return "idle";
  if (url === "") return undefined;
  return PARTS.find(([, paths]) => paths.some((path) => url.includes(path)))?.[0];
}
