// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * The commits of core jobs on one Redis, with the adapter that the caller passes. The commits are recorded
 * (`core_commits.json`: start, wait, end) and get other names. It needs no packages, so that it can serve an adapter of another
 * checkout.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import type { ShardCommit, Store } from "../../src/store/port.ts";

const SHARDS = 64;
const RECORDED = readFileSync(new URL("core_commits.json", import.meta.url), "utf8");

type Recorded = Omit<ShardCommit, "shard" | "epoch">;
type OfJob = [job: number, commit: Recorded];

/** What a job costs Redis, microseconds. */
export interface CommitCost {
  start: number;
  end: number;
}

/** Serves `commits.ts`: each line of the input says which round to run and how, each line of the output what it cost. */
export async function serveCommits(store: Store, redisPid: number): Promise<void> {
  await store.membership.shardCount(SHARDS);
  const epochs: number[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    epochs.push((await store.membership.acquire(shard, "bench", 3_600_000))?.epoch ?? 0);
  }
  const marks = epochs.map(() => "");
  let last = 0;
  const write = (job: number, commit: Recorded) => {
    const shard = job % SHARDS;
    const text = marks[shard] ?? "";
    const mark = marks[shard] = `1.lhzis.${last++}`;
    return store.shards.commit({
      ...commit,
      shard,
      epoch: epochs[shard] ?? 0,
      outboxPut: { ...commit.outboxPut, "!": mark },
      follows: { row: "!", text },
    });
  };
  const writeAll = async (commits: OfJob[], group: number): Promise<number> => {
    const before = spentBy(redisPid);
    for (let at = 0; at < commits.length; at += group) {
      await Promise.all(commits.slice(at, at + group).map((one) => write(...one)));
    }
    return spentBy(redisPid) - before;
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const [round = 0, batch = 0, group = 0] = line.split(" ").map(Number);
    const { starts, ends } = commitsOf(round, batch, group);
    const start = await writeAll(starts, group) / batch;
    const end = await writeAll(ends, group) / batch;
    console.log(JSON.stringify({ start, end } satisfies CommitCost));
  }
  await store.close();
}

/** Jobs begin to wait soon after their start; later all of them end. */
function commitsOf(round: number, batch: number, group: number) {
  const [starts, ends]: [OfJob[], OfJob[]] = [[], []];
  for (let at = 0; at < batch; at += group) {
    const jobs = Array.from({ length: group }, (_, i): [number, Recorded[]] => {
      const uid = `cc96d649-5d4f-4723-${String(round).padStart(4, "0")}-${
        String(at + i).padStart(12, "0")
      }`;
      const text = RECORDED.replaceAll("NAME", `r${round}-${at + i}`).replaceAll("UID", uid);
      return [at + i, JSON.parse(text)];
    });
    for (const which of [0, 1, 2]) {
      for (const [job, commits] of jobs) {
        const commit = commits[which];
        if (commit !== undefined) (which < 2 ? starts : ends).push([job, commit]);
      }
    }
  }
  return { starts, ends };
}

/** Processor time of the main thread of a process, microseconds. */
function spentBy(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1_000;
}
