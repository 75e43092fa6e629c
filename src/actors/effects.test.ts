import { expect, test } from "vitest";
import { ManualClock, settle } from "../../test/support/manual_clock.ts";
import { seededIds } from "../../test/support/seeded_ids.ts";
import { unavailable } from "../base/problem.ts";
import { createLogger } from "../platform/log.ts";
import { type EffectDeps, Effects } from "./effects.ts";
import type { KeptEffect, OutboxRow } from "./shard/outbox.ts";

const ACTOR = "wf/ns/a";

/** Effects of one shard, and what was delivered and done so far. */
function effectsOf(deliver: EffectDeps["deliver"]) {
  const clock = new ManualClock();
  const done: string[] = [];
  const effects = new Effects({
    ...{ replica: "r", replicas: () => ["r"], clock, ids: seededIds(), labelPrefix: "x" },
    ...{ log: createLogger("silent"), deliver, askAbout() {}, seek() {}, cancelElsewhere() {} },
    leaseTtlMs: 3_000,
    ...{ tasks: {} as never, store: {} as never },
  });
  const shard = {
    ...{ shard: 0, isHeld: true, rows: { has: (id: string) => !done.includes(id) } },
    ...{ rowDone: (id: string) => void done.push(id), claim() {}, rewrite() {} },
  };
  return { clock, done, perform: (rows: OutboxRow[]) => effects.perform(shard, rows) };
}

function row(seq: number, effect: KeptEffect): OutboxRow {
  return { id: String(seq), actor: ACTOR, seq, effect };
}

test("what concerns one holder of locks is done in order, also when the first has to be tried again", async () => {
  const delivered: string[] = [];
  let isAway = true;
  const { clock, done, perform } = effectsOf((_id, _actor, body) => {
    if (isAway) return Promise.reject(unavailable("away"));
    const { type, holder } = body as { type: string; holder: string };
    delivered.push(`${type} ${holder}`);
    return Promise.resolve();
  });
  const demand = { keys: [], priority: 0, createdAt: 0 };
  perform([row(1, { type: "acquire-locks", id: "a", holder: "ns/a", ...demand })]);
  await settle();
  isAway = false;
  perform([
    row(2, { type: "release-locks", id: "b", holder: "ns/a" }),
    row(3, { type: "release-locks", id: "c", holder: "ns/b" }),
  ]);
  await settle();
  // The other holder does not wait.
  expect(delivered).toEqual(["release ns/b"]);
  await clock.advance(1_000);
  expect(delivered).toEqual(["release ns/b", "acquire ns/a", "release ns/a"]);
  expect(done).toEqual(["3", "1", "2"]);
});

test("what is not to be done before a time waits for it", async () => {
  const { clock, done, perform } = effectsOf(() => Promise.resolve());
  const release = { type: "release-locks", id: "a", holder: "ns/a" } as const;
  perform([{ ...row(1, release), notBefore: clock.now() + 60_000 }]);
  await clock.advance(59_000);
  expect(done).toEqual([]);
  await clock.advance(2_000);
  expect(done).toEqual(["1"]);
});
