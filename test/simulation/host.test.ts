/**
 * SLUICE_SEEDS: number of seeds (default 300); SLUICE_SEED: run this one only. A failing seed is printed and replays.
 */
import process from "node:process";
import { expect, test } from "vitest";
import { simulate } from "./host_world.ts";

const SEEDS = Number(process.env["SLUICE_SEEDS"] ?? 300);
const ONLY = process.env["SLUICE_SEED"];

test("whatever crashes, pauses or is cut off, every command is applied exactly once", async () => {
  const seeds = ONLY === undefined
    ? Array.from({ length: SEEDS }, (_, seed) => seed)
    : [Number(ONLY)];
  for (const seed of seeds) expect(await simulate(seed), `seed ${seed}`).toEqual([]);
}, 600_000);

test("a store that does not fence is caught", async () => {
  for (let seed = 0; seed < 300; seed++) {
    const wrong = await simulate(seed, (store) => ({
      ...store,
      shards: {
        ...store.shards,
        async commit(commit) {
          for (let epoch = commit.epoch;; epoch++) {
            try {
              return await store.shards.commit({ ...commit, epoch });
            } catch (cause) {
              if (!(cause instanceof Error && cause.name === "StaleEpoch")) throw cause;
            }
          }
        },
      },
    }));
    if (wrong.length > 0) return;
  }
  throw new Error("The checks did not notice");
}, 600_000);
