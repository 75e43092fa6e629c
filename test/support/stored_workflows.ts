/** Stores filled with many workflows through the store's own commits, without running them. */
import { partTexts } from "../../src/base/part_text.ts";
import { shardOf } from "../../src/actors/actor_ids.ts";
import type { ActorChange, Store } from "../../src/store/port.ts";

const SHARDS = 64;
/** Workflows of a commit. */
const COMMIT = 200;
const LABELS = "workflows.argoproj.io/";
const START = Date.UTC(2026, 0, 1);
/** So many have the same time of creation. */
const PER_SECOND = 20;
const TEAMS = 20;

/** Writes new workflows. @param changeOf the workflow with this number */
export async function storeWorkflows(
  store: Store,
  count: number,
  changeOf: (i: number) => ActorChange,
): Promise<void> {
  const shards = await store.membership.shardCount(SHARDS);
  const byShard = new Map<number, number[]>();
  for (let i = 0; i < count; i++) {
    const shard = shardOf(changeOf(i).id, shards);
    const all = byShard.get(shard) ?? [];
    byShard.set(shard, all);
    all.push(i);
  }
  for (const [shard, all] of byShard) {
    const lease = await store.membership.acquire(shard, "filler", 60_000);
    if (lease === undefined) throw new Error(`Shard ${shard} is held by another replica`);
    while (all.length > 0) {
      await store.shards.commit({
        ...lease,
        actors: all.splice(0, COMMIT).map((i) => changeOf(i)),
        ...{ outboxPut: {}, outboxDrop: [], timersSet: {}, timersClear: [], answers: [] },
      });
    }
    await store.membership.release(lease);
  }
}

/** Namespace of the workflows that `finishedJob` makes. */
export const JOBS = "bench";
export const jobName = (i: number): string => `async-job-${i}`;
export const jobCreatedAt = (i: number): number => START + 1_000 * Math.floor(i / PER_SECOND);
/** One workflow in twenty has each. */
export const jobTeam = (i: number): string => `t${i % TEAMS}`;

export interface JobOptions {
  name?: string;
  namespace?: string;
  phase?: "Succeeded" | "Failed" | "Error";
  /** Epoch ms, whole seconds. */
  createdAt?: number;
  /** How long it ran, ms. */
  tookMs?: number;
}

/** A finished workflow of three steps, as the engine stores it. */
export function finishedJob(i: number, options: JobOptions = {}): ActorChange {
  const { name = jobName(i), namespace = JOBS, phase = "Succeeded" } = options;
  const uid = `0b5d3c1e-7d0f-4f5b-9a53-${String(i).padStart(12, "0")}`;
  const startedAt = options.createdAt ?? jobCreatedAt(i);
  const finishedAt = startedAt + (options.tookMs ?? 60_000);
  const labels = {
    [`${LABELS}phase`]: phase,
    [`${LABELS}completed`]: "true",
    team: jobTeam(i),
  };
  const node = (id: string, type: string, order: number) =>
    JSON.stringify({
      schema: 1,
      ...{ id, name: id, displayName: id, type, phase, role: "member", order },
      ...{ templateName: "wait", templateScope: `local/${name}`, startedAt, finishedAt },
      inputs: { parameters: [{ name: "uuid", value: `job-of-${name}` }] },
    });
  const creationTimestamp = new Date(startedAt).toISOString().replace(".000", "");
  const header = {
    schema: 1,
    metadata: { name, namespace, uid, labels, generation: 1, creationTimestamp },
    phase,
    progress: phase === "Succeeded" ? "3/3" : "1/3",
    conditions: [{ type: "PodRunning", status: "False" }, { type: "Completed", status: "True" }],
    ...{ startedAt, finishedAt, sequence: 4, isPrepared: true, machine: phase.toLowerCase() },
  };
  const templates = ["trigger", "wait", "finish"].map((template) => ({
    name: template,
    inputs: { parameters: [{ name: "uuid" }] },
    container: { image: "alpine:3.20", command: ["sh", "-c"], args: [`echo ${template}`] },
  }));
  return {
    id: `wf/${namespace}/${name}`,
    put: partTexts({
      h: JSON.stringify(header),
      s: JSON.stringify({ schema: 1, spec: { entrypoint: "wait", templates, arguments: {} } }),
      [`n:${name}`]: node(name, "Pod", 1),
      [`n:${name}-1`]: node(`${name}-1`, "Suspend", 2),
      [`n:${name}-2`]: node(`${name}-2`, "Pod", 3),
    }),
    drop: [],
    index: {
      ...{ namespace, name, uid, labels, phase },
      ...{ createdAt: startedAt, startedAt, finishedAt },
    },
  };
}
