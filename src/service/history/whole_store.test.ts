import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryArchive } from "../../../test/support/memory_archive.ts";
import { archivedActorId, shardOf, workflowActorId } from "../../actors/actor_ids.ts";
import { unavailable } from "../../base/problem.ts";
import { takeChanges } from "../../engine/codec.ts";
import { createWorkflow } from "../../engine/create.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { archivingStatusLabel, PERSISTED, STANDARD_NAMING } from "../../spec/naming.ts";
import { matchesEntry } from "../../store/list_query.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ActorChange, ActorId, ListPage, ListQuery, Store } from "../../store/port.ts";
import { archivedSteps } from "./archived_form.ts";
import { withArchive } from "./whole_store.ts";
import { runToEnd } from "../../base/steps.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const ENV = {
  now: NOON,
  randomSuffix: () => "x",
  findManifest: () => undefined,
  ...STANDARD_NAMING,
};
const OPTIONS = { naming: STANDARD_NAMING, indexParameters: new Set<string>() };

/** What a workflow of these tests is like. */
interface Made {
  uid: string;
  name: string;
  second: number;
  phase: "Succeeded" | "Failed";
  team: string;
  /** It is only in the archive, which may still be the store. */
  isDeleted?: boolean;
}

function idOf({ name, uid, isDeleted }: Made): ActorId {
  return isDeleted === true ? archivedActorId("n", name, uid) : workflowActorId("n", name);
}

function objectOf({ uid, name, second, phase, team, isDeleted }: Made): Workflow {
  const at = new Date(NOON + second * 1_000).toISOString().replace(".000", "");
  return {
    metadata: {
      name,
      namespace: "n",
      uid,
      creationTimestamp: at,
      labels: {
        team,
        ...(isDeleted && { [archivingStatusLabel(STANDARD_NAMING)]: PERSISTED }),
      },
    },
    spec: { entrypoint: "m", arguments: {}, templates: [{ name: "m", suspend: {} }] },
    status: { phase, startedAt: at, finishedAt: at },
  };
}

/** A store and an archive between which workflows move. */
class Moving {
  readonly live: Store = openMemoryStore({ now: () => NOON });
  readonly archive = new MemoryArchive();
  readonly whole: Store = withArchive(this.live, this.archive, { naming: STANDARD_NAMING });
  #epoch = 0;

  async open(): Promise<void> {
    await this.live.membership.shardCount(1);
    this.#epoch = (await this.live.membership.acquire(0, "r", 60_000))?.epoch ?? 0;
  }

  async make(made: Made): Promise<void> {
    const { put, index } = takeChanges(createWorkflow(objectOf(made), ENV));
    if (index === undefined) throw new Error("a new workflow has no entry");
    await this.#commit({ id: idOf(made), put, drop: [], index });
  }

  /** Writes it to the archive. */
  async write(made: Made): Promise<void> {
    const id = idOf(made);
    const stored = await this.live.shards.loadActor(shardOf(id, 1), id);
    const row = stored && runToEnd(archivedSteps(stored, OPTIONS)).row;
    if (row !== undefined) await this.archive.put([row]);
  }

  leave(made: Made): Promise<void> {
    return this.#commit({ id: idOf(made), put: [], drop: [], remove: true, silent: true });
  }

  async #commit(change: ActorChange): Promise<void> {
    await this.live.shards.commit({
      shard: 0,
      epoch: this.#epoch,
      actors: [change],
      outboxPut: {},
      outboxDrop: [],
      timersSet: {},
      timersClear: [],
      answers: [],
    });
  }
}

const anyMade = fc.uniqueArray(
  fc.record({
    uid: fc.integer({ min: 0, max: 40 }).map((uid) => `u${uid}`),
    name: fc.constantFrom("a", "a-b", "a0", "b", "c", "c-1", "d", "e"),
    second: fc.integer({ min: 0, max: 2 }),
    phase: fc.constantFrom("Succeeded" as const, "Failed" as const),
    team: fc.constantFrom("x", "y"),
  }),
  { selector: ({ uid }) => uid, maxLength: 14 },
);
const anyFilter: fc.Arbitrary<Partial<ListQuery>> = fc.constantFrom<Partial<ListQuery>>(
  {},
  { namespace: "n" },
  { phases: ["Failed"] },
  { labels: parseLabelSelector("team=x") },
  { name: { value: "a", match: "prefix" } },
  { name: { value: "a", match: "exact" }, namespace: "n" },
  { createdAfter: NOON + 1_000 },
  { maxScan: 2 },
);

test("pages over store and archive show each workflow once, in one order, while they move", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyMade,
      anyFilter,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.tuple(fc.constantFrom("write", "move", "restore"), fc.nat()), { maxLength: 12 }),
      fc.array(fc.nat(2), { maxLength: 14 }),
      async (all, filter, limit, moves, places) => {
        const moving = new Moving();
        await moving.open();
        const isLive = new Set<string>();
        // The last one of a name may be in the store; former ones are in the archive.
        const owner = new Map(all.map((made) => [made.name, made]));
        for (const [index, made] of all.entries()) {
          await moving.make(made);
          const place = owner.get(made.name) === made ? places[index] ?? 0 : 2;
          if (place > 0) await moving.write(made);
          if (place > 1) await moving.leave(made);
          else isLive.add(made.uid);
        }
        const seen: string[] = [];
        const positions: [number, string][] = [];
        let token: string | undefined;
        do {
          const page = await moving.whole.query.list({
            kind: "wf",
            ...filter,
            limit,
            ...(token !== undefined && { continue: token }),
          });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          for (const { index } of page.items) {
            seen.push(index.uid);
            positions.push([index.createdAt, index.name]);
          }
          token = page.continue;
          const [what, which] = moves.shift() ?? [];
          const made = all[(which ?? 0) % Math.max(1, all.length)];
          if (made === undefined || what === undefined) continue;
          if (what !== "restore" && isLive.has(made.uid)) {
            await moving.write(made);
            if (what === "move") {
              await moving.leave(made);
              isLive.delete(made.uid);
            }
          } else if (
            what === "restore" && ![...isLive].some((uid) => nameOf(all, uid) === made.name)
          ) {
            await moving.make(made);
            isLive.add(made.uid);
          }
        } while (token !== undefined);
        const { limit: _limit, maxScan: _scan, ...query } = { limit, maxScan: 0, ...filter };
        const expected = all.filter((made) => {
          const { index } = takeChanges(createWorkflow(objectOf(made), ENV));
          return index !== undefined && matchesEntry(index, { kind: "wf", limit, ...query });
        });
        expect([...seen].sort()).toEqual(expected.map(({ uid }) => uid).sort());
        const sorted = [...positions].sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? 1 : -1));
        expect(positions.map(String)).toEqual(sorted.map(String));
      },
    ),
    { numRuns: 300 },
  );
});

function nameOf(all: readonly Made[], uid: string): string | undefined {
  return all.find((made) => made.uid === uid)?.name;
}

const ONE: Made = { uid: "u1", name: "one", second: 0, phase: "Failed", team: "x" };
const TWO: Made = { uid: "u2", name: "two", second: 1, phase: "Failed", team: "x" };

test("a deleted workflow that moves between two pages is shown once, and the token after each item goes on there", async () => {
  const moving = new Moving();
  await moving.open();
  const all = [3, 2, 1].map((second) => ({ ...ONE, uid: `u${second}`, second, isDeleted: true }));
  for (const made of all) await moving.make(made);
  const page = (token: string | undefined) =>
    moving.whole.query.list({
      kind: "wf",
      limit: 2,
      ...(token !== undefined && { continue: token }),
    });
  const uids = ({ items }: ListPage) => items.map(({ index }) => index.uid);
  const first = await page(undefined);
  expect(uids(first)).toEqual(["u3", "u2"]);
  for (const made of all) {
    await moving.write(made);
    await moving.leave(made);
  }
  expect(uids(await page(first.continue))).toEqual(["u1"]);
  const again = await page(undefined);
  expect(uids(again)).toEqual(["u3", "u2"]);
  expect(uids(await page(again.items[0]?.continue))).toEqual(["u2", "u1"]);
});

test("a workflow that is in the store again is shown as it is there, or not at all", async () => {
  const moving = new Moving();
  await moving.open();
  await moving.make(ONE);
  await moving.write(ONE);
  await moving.leave(ONE);
  await moving.make({ ...ONE, phase: "Succeeded" });
  const phases = async (...wanted: string[]) =>
    (await moving.whole.query.list({ kind: "wf", phases: wanted, limit: 5 })).items
      .map(({ index }) => index.phase);
  expect(await phases("Failed")).toEqual([]);
  expect(await phases("Failed", "Succeeded")).toEqual(["Succeeded"]);
});

test("while the archive is away, a list shows what is in the store and says so; a lookup fails", async () => {
  const moving = new Moving();
  await moving.open();
  await moving.make(ONE);
  await moving.make(TWO);
  await moving.write(ONE);
  await moving.leave(ONE);
  const away = () => Promise.reject(unavailable("the archive is away"));
  const archive = { ...moving.archive.port, list: away, get: away, findByName: away };
  let told = 0;
  const whole = withArchive(moving.live, archive, {
    naming: STANDARD_NAMING,
    onArchiveAway: () => told++,
  });
  const page = await whole.query.list({ kind: "wf", limit: 5 });
  expect(page.items.map(({ index }) => index.name)).toEqual(["two"]);
  expect(page.isWithoutArchive).toBe(true);
  expect(told).toBe(1);
  // What can only be in the store needs no archive.
  const running = await whole.query.list({ kind: "wf", phases: ["Running"], limit: 5 });
  expect(running.isWithoutArchive).toBeUndefined();
  await expect(whole.query.findByUid("u1")).rejects.toThrow("away");
  await expect(whole.shards.loadActor(0, workflowActorId("n", "one"))).rejects.toThrow("away");
  expect((await whole.shards.loadActor(0, workflowActorId("n", "two")))?.id).toBe("wf/n/two");
});
