/** What this process says of itself to those who look how the deployment is. */
import { hostname } from "node:os";
import process from "node:process";
import { getHeapStatistics } from "node:v8";
import type { JsonObject } from "../base/json.ts";
import facts from "../../package.json" with { type: "json" };
import type { ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** Makes the function that describes this process. */
export function createAbout(
  { config, seat }: ServerContext,
  { clock, writesRefused }: Storage,
): () => JsonObject {
  const startedAt = new Date(clock.now()).toISOString();
  const { deno, node } = process.versions;
  return () => {
    const refused = writesRefused();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      version: facts.version,
      runtime: deno === undefined ? `Node ${node}` : `Deno ${deno}`,
      platform: `${process.platform}/${process.arch}`,
      host: hostname(),
      startedAt,
      executor: config.executor,
      // All replicas of a store have to have the same: `sluice doctor` compares them.
      labelPrefix: config.labelPrefix,
      apiGroup: config.apiGroup,
      memoryBytes: rss,
      heapBytes: heapUsed,
      heapLimitBytes: getHeapStatistics().heap_size_limit,
      ...(seat !== undefined && { process: seat.number }),
      ...(refused !== undefined && { writesRefused: refused }),
    };
  };
}
