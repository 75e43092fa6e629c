/** Membership, leases, mailboxes and commits: what every adapter promises. */
import { partTexts } from "../../../src/base/part_text.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ActorChange, Command } from "../../../src/store/port.ts";
import { ActorExists, StaleEpoch } from "../../../src/store/port.ts";
import {
  acquired,
  changeOf,
  commitOf,
  entryOf,
  failureOf,
  LONG_MS,
  never,
  type OpenStore,
  type StoreSetting,
} from "./store_setting.ts";

function command(id: string): Command {
  return { id, actor: "wf/a/one", body: { type: "wake", text: "ü\n\0" } };
}

export function describeShards(open: OpenStore): void {
  let setting: StoreSetting;
  beforeEach(async () => {
    setting = await open({});
  });
  afterEach(() => setting.close());
  const store = () => setting.store;

  describe("membership", () => {
    test("the first wish for a number of shards wins", async () => {
      expect(await store().membership.shardCount(8)).toBe(8);
      expect(await store().membership.shardCount(64)).toBe(8);
    });

    test("replicas live as long as their announcement, sorted", async () => {
      const first = await store().membership.heartbeat("b", 60_000);
      expect(first.replicas).toEqual(["b"]);
      expect(Math.abs(first.now - setting.now())).toBeLessThan(5_000);
      await store().membership.heartbeat("a", 60_000);
      const { replicas } = await store().membership.heartbeat("short", 40);
      expect(replicas).toEqual(["a", "b", "short"]);
      expect(await store().membership.replicas()).toEqual(["a", "b", "short"]);
      await setting.pass(60);
      expect(await store().membership.replicas()).toEqual(["a", "b"]);
      await store().membership.leave("a");
      expect(await store().membership.replicas()).toEqual(["b"]);
    });

    test("has a time of day that goes on", async () => {
      const { membership } = store();
      const before = await membership.now();
      expect(Math.abs(before - setting.now())).toBeLessThan(5_000);
      await setting.pass(60);
      // A timer may be a millisecond early, and both times are cut to milliseconds.
      expect(await membership.now()).toBeGreaterThanOrEqual(before + 58);
    });

    test("one owner at a time; the epoch grows with each new one", async () => {
      const { membership } = store();
      const until = await membership.now() + 40;
      const first = await membership.acquire(3, "a", 40);
      expect(first).toEqual({ shard: 3, epoch: 1 });
      expect(await membership.acquire(3, "b", 60_000)).toBeUndefined();
      await setting.pass(60);
      const next = await membership.acquire(3, "b", 60_000);
      expect(next).toEqual({ shard: 3, epoch: 2, expiredAt: expect.any(Number) });
      expect(next?.expiredAt).toBeGreaterThanOrEqual(until);
      expect(next?.expiredAt).toBeLessThan(await membership.now());
      expect(await membership.renew([{ shard: 3, epoch: 1 }], "a", 60_000)).toEqual([3]);
      expect(await membership.acquire(3, "a", 60_000)).toBeUndefined();
    });

    test("who takes its own lease again has a new epoch, and the old one writes, renews and gives back nothing", async () => {
      const { membership, shards } = store();
      const old = await acquired(store(), 3, "a");
      const epoch = await acquired(store(), 3, "a");
      expect(epoch).toBe(old + 1);
      const late = shards.commit(commitOf(3, old, { outboxPut: { o: "1" } }));
      expect(await failureOf(late)).toBeInstanceOf(StaleEpoch);
      expect(await membership.renew([{ shard: 3, epoch: old }], "a", LONG_MS)).toEqual([3]);
      await membership.release({ shard: 3, epoch: old });
      expect(await membership.acquire(3, "b", LONG_MS)).toBeUndefined();
      await shards.commit(commitOf(3, epoch, { outboxPut: { o: "2" } }));
      expect((await shards.loadShard(3)).outbox).toEqual({ o: "2" });
    });

    test("a renewed lease outlives its first term", async () => {
      const { membership } = store();
      await membership.acquire(1, "a", 400);
      expect(await membership.renew([{ shard: 1, epoch: 1 }], "a", 60_000)).toEqual([]);
      await setting.pass(450);
      expect(await membership.acquire(1, "b", 60_000)).toBeUndefined();
    });

    test("an expired lease that nobody took is renewed, one that was taken is lost", async () => {
      const { membership } = store();
      await membership.acquire(1, "a", 20);
      await membership.acquire(2, "a", 20);
      await setting.pass(40);
      await membership.acquire(2, "b", 60_000);
      const leases = [{ shard: 1, epoch: 1 }, { shard: 2, epoch: 1 }];
      expect(await membership.renew(leases, "a", 60_000)).toEqual([2]);
      expect(await membership.acquire(1, "b", 60_000)).toBeUndefined();
    });

    test("a lease given back is free at once, a stale one gives nothing back", async () => {
      const { membership } = store();
      await membership.acquire(1, "a", 60_000);
      await membership.release({ shard: 1, epoch: 1 });
      expect(await membership.renew([{ shard: 1, epoch: 1 }], "a", 60_000)).toEqual([1]);
      expect(await membership.acquire(1, "b", 60_000)).toEqual({ shard: 1, epoch: 2 });
      await membership.release({ shard: 1, epoch: 1 });
      expect(await membership.acquire(1, "c", 60_000)).toBeUndefined();
    });

    test("the leases of a replica that has ended are free as soon as somebody says so, and no others", async () => {
      const { membership, shards } = store();
      const old = await acquired(store(), 1, "dead");
      for (const [shard, owner] of [[2, "dead"], [3, "b"], [4, "later"]] as const) {
        await acquired(store(), shard, owner);
      }
      await membership.release({ shard: 2, epoch: 1 });
      await acquired(store(), 2, "b");
      await membership.heartbeat("dead", LONG_MS);
      await membership.leave("dead");
      // Two neighbours may say so.
      await membership.leave("dead");
      expect(await membership.replicas()).toEqual([]);
      const free: number[] = [];
      for (const shard of [1, 2, 3, 4]) {
        if (await membership.acquire(shard, "a", LONG_MS) !== undefined) free.push(shard);
      }
      expect(free).toEqual([1]);
      // If it lives after all, it cannot write.
      const late = shards.commit(commitOf(1, old, { outboxPut: { o: "1" } }));
      expect(await failureOf(late)).toBeInstanceOf(StaleEpoch);
      expect(await membership.renew([{ shard: 1, epoch: old }], "dead", LONG_MS)).toEqual([1]);
    });

    test("of many that want a free shard one gets it", async () => {
      const wishes = Array.from(
        { length: 10 },
        (_, i) => store().membership.acquire(5, `r${i}`, 60_000),
      );
      const leases = (await Promise.all(wishes)).filter((lease) => lease !== undefined);
      expect(leases).toEqual([{ shard: 5, epoch: 1 }]);
    });
  });

  describe("mailboxes", () => {
    const all = [{ shard: 1, cursor: "" }, { shard: 2, cursor: "" }];

    test("entries come in order within a shard, from the cursor on", async () => {
      const { shards } = store();
      await shards.append([
        { shard: 1, command: command("a") },
        { shard: 2, command: { ...command("b"), replyTo: { replica: "r", request: "q" } } },
        { shard: 1, command: { ...command("c"), idempotency: { key: "k", fingerprint: "f" } } },
        { shard: 3, command: command("d") },
      ]);
      const entries = await shards.readMailboxes(all, 100, 0, never);
      expect(entries.filter(({ shard }) => shard === 1).map(({ command }) => command)).toEqual([
        command("a"),
        { ...command("c"), idempotency: { key: "k", fingerprint: "f" } },
      ]);
      expect(entries.filter(({ shard }) => shard === 2).map(({ command }) => command)).toEqual([
        { ...command("b"), replyTo: { replica: "r", request: "q" } },
      ]);
      const first = entries.find(({ shard }) => shard === 1);
      const rest = await shards.readMailboxes(
        [{ shard: 1, cursor: first?.cursor ?? "" }],
        100,
        0,
        never,
      );
      expect(rest.map(({ command }) => command.id)).toEqual(["c"]);
      const again = await shards.readMailboxes(all, 100, 0, never);
      expect(again).toEqual(entries);
    });

    test("at most `max` entries, the others at the next call", async () => {
      const { shards } = store();
      const ids = Array.from({ length: 25 }, (_, i) => `c${i}`);
      for (const id of ids) await shards.append([{ shard: 1, command: command(id) }]);
      const seen: string[] = [];
      let cursor = "";
      for (let turn = 0; turn < 3; turn++) {
        const entries = await shards.readMailboxes([{ shard: 1, cursor }], 10, 0, never);
        expect(entries.length).toBeLessThanOrEqual(10);
        seen.push(...entries.map(({ command }) => command.id));
        cursor = entries.at(-1)?.cursor ?? cursor;
      }
      expect(seen).toEqual(ids);
    });

    test("a busy shard does not starve another", async () => {
      const { shards } = store();
      const busy = Array.from({ length: 60 }, (_, i) => ({ shard: 1, command: command(`c${i}`) }));
      await shards.append([...busy, { shard: 2, command: command("quiet") }]);
      const cursors = new Map([[1, ""], [2, ""]]);
      const seen: string[] = [];
      for (let turn = 0; turn < 3 && !seen.includes("quiet"); turn++) {
        const after = [...cursors].map(([shard, cursor]) => ({ shard, cursor }));
        for (const entry of await shards.readMailboxes(after, 10, 0, never)) {
          cursors.set(entry.shard, entry.cursor);
          seen.push(entry.command.id);
        }
      }
      expect(seen).toContain("quiet");
    });

    test("concurrent appends all arrive", async () => {
      const { shards } = store();
      const ids = Array.from({ length: 50 }, (_, i) => `c${i}`);
      await Promise.all(ids.map((id) => shards.append([{ shard: 1, command: command(id) }])));
      const entries = await shards.readMailboxes(all, 100, 0, never);
      expect(entries.map(({ command }) => command.id).sort()).toEqual([...ids].sort());
    });

    test("a waiting reader is woken by what arrives", async () => {
      const { shards } = store();
      const waiting = shards.readMailboxes(all, 10, LONG_MS, never);
      const startedAt = performance.now();
      await shards.append([{ shard: 2, command: command("late") }]);
      expect((await waiting).map(({ command }) => command.id)).toEqual(["late"]);
      expect(performance.now() - startedAt).toBeLessThan(800);
    });

    test("an aborted wait ends at once with what there is", async () => {
      const stop = new AbortController();
      const waiting = store().shards.readMailboxes(all, 10, LONG_MS, stop.signal);
      const startedAt = performance.now();
      stop.abort();
      expect(await waiting).toEqual([]);
      expect(performance.now() - startedAt).toBeLessThan(800);
    });

    test("a commit with a cursor trims up to it, and a reload starts there", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      await shards.append(["a", "b", "c"].map((id) => ({ shard: 1, command: command(id) })));
      const entries = await shards.readMailboxes([{ shard: 1, cursor: "" }], 10, 0, never);
      const cursor = entries[1]?.cursor ?? "";
      await shards.commit(commitOf(1, epoch, { cursor }));
      const left = await shards.readMailboxes([{ shard: 1, cursor: "" }], 10, 0, never);
      expect(left.map(({ command }) => command.id)).toEqual(["c"]);
      expect((await shards.loadShard(1)).cursor).toBe(cursor);
      expect((await shards.loadShard(2)).cursor).toBe("");
    });
  });

  describe("commits", () => {
    const full = (shard: number, epoch: number, text: string) =>
      commitOf(shard, epoch, {
        actors: [
          changeOf("wf/a/one", {
            put: partTexts({ h: text, "n:1": text }),
            index: entryOf("wf/a/one"),
          }),
        ],
        outboxPut: { [`o-${text}`]: text },
        timersSet: { [`t-${text}`]: 5_000 },
        answers: [{
          key: `k-${text}`,
          fingerprint: "f",
          answer: { ok: text },
          expiresAt: FAR_FUTURE,
        }],
      });

    async function everything() {
      const { shards, query } = store();
      return {
        actor: await shards.loadActor(1, "wf/a/one"),
        shard: await shards.loadShard(1),
        answers: await shards.findAnswers(1, ["k-x", "k-y"]),
        list: (await query.list({ kind: "wf", limit: 0 })).items,
      };
    }

    test("writes parts, index, outbox, timers and answers, and returns versions", async () => {
      const epoch = await acquired(store(), 1);
      const { versions } = await store().shards.commit(full(1, epoch, "x"));
      const version = versions["wf/a/one"] ?? "";
      expect(version).toMatch(/^[1-9][0-9]*$/);
      const actor = { id: "wf/a/one", version, parts: { h: "x", "n:1": "x" } };
      expect(await everything()).toEqual({
        actor,
        shard: { cursor: "", outbox: { "o-x": "x" }, timers: { "t-x": 5_000 } },
        answers: {
          "k-x": { key: "k-x", fingerprint: "f", answer: { ok: "x" }, expiresAt: FAR_FUTURE },
        },
        list: [{ ...actor, index: entryOf("wf/a/one") }],
      });
    });

    test("an answer is kept with the version that its commit gives to its actor", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      const shared = { fingerprint: "f", answer: { text: 'a "}' }, expiresAt: FAR_FUTURE };
      const { versions } = await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/one", { put: partTexts({ h: "1" }) }), changeOf("wf/a/two")],
        answers: [
          { key: "changed", actor: "wf/a/one", ...shared },
          { key: "untouched", actor: "wf/a/three", ...shared },
          { key: "given", version: "7", ...shared },
        ],
      }));
      await shards.commit(commitOf(1, epoch, { actors: [changeOf("wf/a/one")] }));
      expect(await shards.findAnswers(1, ["changed", "untouched", "given"])).toEqual({
        changed: { key: "changed", version: versions["wf/a/one"], ...shared },
        untouched: { key: "untouched", ...shared },
        given: { key: "given", version: "7", ...shared },
      });
    });

    test("a commit that builds on a lost one writes nothing", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      const after = (text: string, mark: string) =>
        commitOf(1, epoch, {
          actors: [changeOf("wf/a/one", { put: partTexts({ h: mark }) })],
          outboxPut: { "!": mark },
          follows: { row: "!", text },
        });
      await shards.commit(after("", "1"));
      await shards.commit(after("1", "2"));
      for (const text of ["", "1", "3"]) {
        expect(await failureOf(shards.commit(after(text, "x")))).toBeInstanceOf(StaleEpoch);
      }
      expect((await shards.loadActor(1, "wf/a/one"))?.parts).toEqual({ h: "2" });
      expect((await shards.loadShard(1)).outbox).toEqual({ "!": "2" });
    });

    test("a stale epoch writes nothing", async () => {
      const { membership, shards } = store();
      const old = await acquired(store(), 1);
      await shards.commit(full(1, old, "x"));
      await membership.release({ shard: 1, epoch: old });
      const epoch = await acquired(store(), 1, "r2");
      const before = await everything();
      const failure = await failureOf(shards.commit(full(1, old, "y")));
      expect(failure).toBeInstanceOf(StaleEpoch);
      expect((failure as StaleEpoch).shard).toBe(1);
      expect(await everything()).toEqual(before);
      await shards.commit(full(1, epoch, "y"));
      expect((await everything()).actor?.parts).toEqual({ h: "y", "n:1": "y" });
    });

    test("a shard that nobody owns takes no commit", async () => {
      expect(await failureOf(store().shards.commit(full(1, 1, "x")))).toBeInstanceOf(StaleEpoch);
    });

    test("creating what exists writes nothing", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      await shards.commit(full(1, epoch, "x"));
      const before = await everything();
      const commit = full(1, epoch, "y");
      commit.actors.push(changeOf("wf/a/two", { create: true }));
      commit.actors.push(changeOf("wf/a/one", { create: true }));
      const failure = await failureOf(shards.commit(commit));
      expect(failure).toBeInstanceOf(ActorExists);
      expect((failure as ActorExists).actor).toBe("wf/a/one");
      expect(await everything()).toEqual(before);
      expect(await shards.loadActor(1, "wf/a/two")).toBeUndefined();
    });

    test("an actor may be removed and created again in one commit, but not created twice", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      await shards.commit(full(1, epoch, "x"));
      const remove = changeOf("wf/a/one", { remove: true });
      const create = changeOf("wf/a/one", { create: true, put: partTexts({ h: "new" }) });
      await shards.commit(commitOf(1, epoch, { actors: [remove, create] }));
      expect((await shards.loadActor(1, "wf/a/one"))?.parts).toEqual({ h: "new" });
      expect((await store().query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
      const twice = [
        changeOf("wf/a/two", { create: true }),
        changeOf("wf/a/two", { create: true }),
      ];
      expect(await failureOf(shards.commit(commitOf(1, epoch, { actors: twice }))))
        .toBeInstanceOf(ActorExists);
    });

    test("of concurrent creations one wins, and the other commits of the batch live", async () => {
      const epoch = await acquired(store(), 1);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, i) =>
          store().shards.commit(commitOf(1, epoch, {
            actors: [changeOf("wf/a/one", { create: true, put: partTexts({ h: `${i}` }) })],
          }))),
      );
      const won = outcomes.map(({ status }) => status).indexOf("fulfilled");
      expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(1);
      expect((await store().shards.loadActor(1, "wf/a/one"))?.parts).toEqual({ h: `${won}` });
    });

    test("parts are put and dropped, the others stay", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      const change = (more: Partial<ActorChange>) =>
        commitOf(1, epoch, { actors: [changeOf("locks", more)] });
      await shards.commit(
        change({ put: partTexts({ a: "1", b: "2", "n:x": "3", "n:y": "4", "": "5" }) }),
      );
      await shards.commit(
        change({ put: partTexts({ b: "two", "n:z": "6" }), drop: ["a", "n:x", "gone"] }),
      );
      expect((await shards.loadActor(1, "locks"))?.parts)
        .toEqual({ b: "two", "n:y": "4", "n:z": "6", "": "5" });
    });

    test("a removed actor is gone with its parts and index entry", async () => {
      const { shards, query } = store();
      const epoch = await acquired(store(), 1);
      await shards.commit(full(1, epoch, "x"));
      const remove = changeOf("wf/a/one", { remove: true });
      const { versions } = await shards.commit(commitOf(1, epoch, { actors: [remove] }));
      expect(Object.keys(versions)).toEqual(["wf/a/one"]);
      expect(await shards.loadActor(1, "wf/a/one")).toBeUndefined();
      expect((await query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
      expect(await query.findByUid("uid-a-one")).toBeUndefined();
      const again = await shards.commit(commitOf(1, epoch, { actors: [remove] }));
      expect(again.versions).toEqual({});
    });

    test("versions grow per object and over all objects", async () => {
      const { shards, query } = store();
      const epoch1 = await acquired(store(), 1);
      const epoch2 = await acquired(store(), 2);
      const seen: number[] = [];
      for (let turn = 0; turn < 5; turn++) {
        for (const [shard, epoch] of [[1, epoch1], [2, epoch2]] as const) {
          const actors = ["a", "b"].map((id) =>
            changeOf(`wf/${shard}/${id}`, { put: partTexts({ h: "x" }) })
          );
          const { versions } = await shards.commit(commitOf(shard, epoch, { actors }));
          seen.push(...actors.map(({ id }) => Number(versions[id])));
        }
      }
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(new Set(seen).size).toBe(20);
      expect(Number(await query.version())).toBeGreaterThanOrEqual(seen.at(-1) ?? 0);
    });

    test("outbox and timers: dropped, moved and loaded again", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      await shards.commit(commitOf(1, epoch, {
        outboxPut: { a: "1", b: "2" },
        timersSet: { x: 1, y: 2, z: 3 },
      }));
      await shards.commit(commitOf(1, epoch, {
        outboxPut: { c: "3", b: "two" },
        outboxDrop: ["a", "gone"],
        timersSet: { y: 20_000_000_000_000 },
        timersClear: ["x", "gone"],
      }));
      const expected = {
        cursor: "",
        outbox: { b: "two", c: "3" },
        timers: { y: 20_000_000_000_000, z: 3 },
      };
      expect(await shards.loadShard(1)).toEqual(expected);
      expect(await shards.loadShard(2)).toEqual({ cursor: "", outbox: {}, timers: {} });
    });

    test("a timer that is due after all dates does not keep a shard from being loaded", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      await shards.commit(commitOf(1, epoch, { timersSet: { never: 1e17, soon: 3 } }));
      const { timers } = await shards.loadShard(1);
      expect(timers["soon"]).toBe(3);
      expect(timers["never"]).toBeGreaterThan(8.64e15);
    });

    test("an answer is found until it expires, in its shard only", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      const answer = (key: string, expiresAt: number) => ({
        key,
        fingerprint: "f",
        answer: [key],
        expiresAt,
      });
      const now = setting.now();
      await shards.commit(commitOf(1, epoch, {
        answers: [answer("short", now + 300), answer("long", now + 60_000)],
      }));
      const keys = ["short", "long", "other"];
      expect(Object.keys(await shards.findAnswers(1, keys)).sort()).toEqual(["long", "short"]);
      expect(await shards.findAnswers(2, keys)).toEqual({});
      expect(await shards.findAnswers(1, [])).toEqual({});
      await setting.pass(350);
      expect(await shards.findAnswers(1, keys)).toEqual({ long: answer("long", now + 60_000) });
    });

    test("a big commit: 3,000 nodes at once", async () => {
      const { shards, query } = store();
      const epoch = await acquired(store(), 1);
      const put: Record<string, string> = { h: "header" };
      for (let i = 0; i < 3_000; i++) put[`n:${i}`] = `node ${i}`;
      await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/big", { put: partTexts(put), index: entryOf("wf/a/big") })],
      }));
      expect((await shards.loadActor(1, "wf/a/big"))?.parts).toEqual(put);
      const page = await query.list({ kind: "wf", limit: 1, withoutNodes: true });
      expect(page.items[0]?.parts).toEqual({ h: "header" });
      await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/big", { drop: Object.keys(put).slice(1) })],
      }));
      expect((await shards.loadActor(1, "wf/a/big"))?.parts).toEqual({ h: "header" });
    });

    test("an actor beyond the bounds of a load comes without its nodes", async () => {
      const { shards } = store();
      const epoch = await acquired(store(), 1);
      const put: Record<string, string> = { h: "header", a: "", other: "x" };
      for (let i = 0; i < 100; i++) put[`n:${i}`] = "1234567890";
      await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/one", { put: partTexts(put), index: entryOf("wf/a/one") })],
      }));
      const bounds = { maxNodes: 100, maxSize: 10_000 };
      expect((await shards.loadActor(1, "wf/a/one", bounds))?.parts).toEqual(put);
      const others = { h: "header", a: "", other: "x" };
      for (const less of [{ maxNodes: 50 }, { maxSize: 900 }]) {
        expect(await shards.loadActor(1, "wf/a/one", { ...bounds, ...less }))
          .toMatchObject({ id: "wf/a/one", parts: others, withoutNodes: true });
      }
      expect(await shards.loadActor(1, "wf/a/two", bounds)).toBeUndefined();
    });

    test("a removal may leave the parts under a name, for one to read and to drop in pieces", async () => {
      const { shards, query } = store();
      const epoch = await acquired(store(), 1);
      const put: Record<string, string> = { h: "header", other: "x" };
      for (let i = 0; i < 2_500; i++) put[`n:${i}`] = `node ${i}`;
      const index = entryOf("wf/a/one", { labels: { team: "x" } });
      await shards.commit(
        commitOf(1, epoch, { actors: [changeOf("wf/a/one", { put: partTexts(put), index })] }),
      );
      const before = await query.version();
      const remains = "wf/a/one#1";
      await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/one", { remove: true, remains })],
      }));
      expect(await shards.loadActor(1, "wf/a/one")).toBeUndefined();
      expect((await query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
      expect(await query.findByUid(index.uid)).toBeUndefined();
      const [change] = await query.changes(before);
      expect(change).toMatchObject({ type: "DELETED", index });
      expect(change?.before).toEqual({ h: "header", other: "x" });
      // Its name is free at once.
      await shards.commit(commitOf(1, epoch, {
        actors: [changeOf("wf/a/one", { put: partTexts({ h: "new" }), index, create: true })],
      }));
      const found: Record<string, string> = {};
      let reads = 0;
      for (let cursor: string | undefined = ""; cursor !== undefined; reads++) {
        const { parts, next } = await shards.readRemains(1, remains, cursor, 300);
        Object.assign(found, parts);
        cursor = next;
      }
      expect(found).toEqual(put);
      expect(reads).toBeGreaterThan(4);
      await shards.dropRemains(1, remains);
      await shards.dropRemains(1, remains);
      expect(await shards.readRemains(1, remains, "", 300)).toEqual({ parts: {} });
      expect((await shards.loadActor(1, "wf/a/one"))?.parts).toEqual({ h: "new" });
    });

    test("committed data is there when the store is opened again", async ({ skip }) => {
      const { reopen } = setting;
      if (reopen === undefined) return skip("nothing outlives a store in memory");
      const epoch = await acquired(store(), 1);
      await store().shards.commit(full(1, epoch, "x"));
      await store().shards.append([{ shard: 1, command: command("a") }]);
      const actor = await store().shards.loadActor(1, "wf/a/one");
      const again = await reopen();
      expect(await again.shards.loadActor(1, "wf/a/one")).toEqual(actor);
      expect(await again.shards.loadShard(1))
        .toEqual({ cursor: "", outbox: { "o-x": "x" }, timers: { "t-x": 5_000 } });
      const mail = await again.shards.readMailboxes([{ shard: 1, cursor: "" }], 9, 0, never);
      expect(mail.map(({ command }) => command.id)).toEqual(["a"]);
      const lease = await again.membership.acquire(1, "r1", 60_000);
      expect(lease?.epoch).toBeGreaterThanOrEqual(epoch);
    });
  });

  describe("replies", () => {
    test("a replica hears the answers meant for it, until it stops", async () => {
      const { shards } = store();
      const heard: unknown[] = [];
      const others: unknown[] = [];
      const stop = new AbortController();
      const last = Promise.withResolvers<void>();
      await shards.onReply("a", (request, answer) => {
        heard.push([request, answer]);
        if (request === "q2") last.resolve();
      }, stop.signal);
      await shards.onReply("b", (request) => others.push(request), stop.signal);
      await shards.reply("nobody", [{ request: "lost", answer: null }]);
      await shards.reply("a", [{ request: "q1", answer: { n: 1 } }, { request: "q2", answer: [] }]);
      await last.promise;
      expect(heard).toEqual([["q1", { n: 1 }], ["q2", []]]);
      expect(others).toEqual([]);
      stop.abort();
      await shards.reply("a", [{ request: "q3", answer: 1 }]);
      await setting.pass(50);
      expect(heard.length).toBe(2);
    });
  });
}

const FAR_FUTURE = 4_000_000_000_000;
