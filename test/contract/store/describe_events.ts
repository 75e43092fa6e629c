/** The event queue, deliveries, blobs and the store as a whole: what every adapter promises. */
import { partTexts } from "../../../src/base/part_text.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../../src/base/problem.ts";
import type { Delivery, EventStore, QueuedEvent } from "../../../src/store/event_port.ts";
import { VersionTooOld } from "../../../src/store/port.ts";
import {
  acquired,
  changeOf,
  collect,
  commitOf,
  entryOf,
  failureOf,
  LONG_MS,
  never,
  type OpenStore,
  type StoreSetting,
} from "./store_setting.ts";

const BOUND = 1_000;
const CLAIM_MS = 60_000;

export function describeEvents(open: OpenStore): void {
  let setting: StoreSetting;
  beforeEach(async () => {
    setting = await open({});
  });
  afterEach(() => setting.close());
  const store = () => setting.store;
  const events = () => setting.store.events;
  const take = async (worker: string, max = 10, claimAfterMs = CLAIM_MS) =>
    (await events().take(worker, max, claimAfterMs, 0, never))
      .map(({ manifests: _, ...event }) => event);
  const idsOf = (taken: QueuedEvent[]) => taken.map(({ id }) => id);

  describe("the event queue", () => {
    test("gives each event to one worker, oldest first", async () => {
      for (const id of ["a", "b", "c"]) {
        expect(await events().offer(event(id), BOUND)).toEqual({ result: "accepted", id });
      }
      expect(await take("w1", 2)).toEqual([
        { ...event("a"), attempts: 0 },
        { ...event("b"), attempts: 0 },
      ]);
      expect(idsOf(await take("w2"))).toEqual(["c"]);
      expect(await take("w2")).toEqual([]);
      expect(await events().depth()).toBe(3);
    });

    test("tells the oldest of all namespaces until it has ended, also while it waits for a retry", async () => {
      expect(await events().oldest()).toBeUndefined();
      await events().offer({ ...event("a"), namespace: "x", receivedAt: 2_000 }, BOUND);
      await events().offer({ ...event("b"), namespace: "y", receivedAt: 1_000 }, BOUND);
      await events().offer({ ...event("c"), namespace: "x", receivedAt: 3_000 }, BOUND);
      expect(await events().oldest()).toBe(1_000);
      await take("w1");
      const of = (id: string, namespace: string, receivedAt: number) => ({
        ...delivery(id),
        namespace,
        receivedAt,
      });
      await events().retryLater({ ...of("b", "y", 1_000), attempts: 1 }, CLAIM_MS);
      expect(await events().oldest()).toBe(1_000);
      await events().finish([{ ...of("b", "y", 1_000), state: "done" }]);
      expect(await events().oldest()).toBe(2_000);
      await events().finish([
        { ...of("a", "x", 2_000), state: "dead" },
        { ...of("c", "x", 3_000), state: "done" },
      ]);
      expect(await events().oldest()).toBeUndefined();
    });

    test("the bound holds exactly under concurrent offers, counting what is in work", async () => {
      for (const id of ["a", "b", "c"]) await events().offer(event(id), 10);
      await take("w1", 2);
      await events().retryLater(delivery("a", { attempts: 1 }), CLAIM_MS);
      const offers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => events().offer(event(`e${i}`), 10)),
      );
      expect(offers.filter(({ result }) => result === "accepted").length).toBe(7);
      expect(offers.filter(({ result }) => result === "full").length).toBe(33);
      expect(await events().depth()).toBe(10);
      await events().finish([delivery("b", { state: "done" })]);
      expect((await events().offer(event("x"), 10)).result).toBe("accepted");
      expect((await events().offer(event("y"), 10)).result).toBe("full");
    });

    test("a key makes a repeat a duplicate, also when the queue is full, until it expires", async () => {
      const dedupe = { key: "k", fingerprint: "f", expiresAt: setting.now() + 400 };
      expect(await events().offer(event("a"), 1, dedupe)).toEqual({ result: "accepted", id: "a" });
      expect(await events().offer(event("b"), 1, dedupe)).toEqual({ result: "duplicate", id: "a" });
      expect(await events().offer(event("c"), 1, { ...dedupe, fingerprint: "other" }))
        .toEqual({ result: "mismatch", id: "a" });
      await take("w");
      await events().finish([delivery("a", { state: "done" })]);
      expect((await events().offer(event("d"), 1, dedupe)).result).toBe("duplicate");
      await setting.pass(450);
      expect(await events().offer(event("e"), 1, { ...dedupe, expiresAt: setting.now() + 400 }))
        .toEqual({ result: "accepted", id: "e" });
    });

    test("a refused offer leaves no key behind", async () => {
      await events().offer(event("a"), 1);
      const dedupe = { key: "k", fingerprint: "f", expiresAt: setting.now() + CLAIM_MS };
      expect((await events().offer(event("b"), 1, dedupe)).result).toBe("full");
      expect((await events().offer(event("b"), 2, dedupe)).result).toBe("accepted");
    });

    test("of ten concurrent repeats one is accepted", async () => {
      const dedupe = { key: "k", fingerprint: "f", expiresAt: setting.now() + CLAIM_MS };
      const offers = await Promise.all(
        Array.from({ length: 10 }, (_, i) => events().offer(event(`e${i}`), BOUND, dedupe)),
      );
      expect(offers.filter(({ result }) => result === "accepted").length).toBe(1);
      expect(new Set(offers.map(({ id }) => id)).size).toBe(1);
      expect(await events().depth()).toBe(1);
    });

    test("an id that is queued already is a duplicate", async () => {
      await events().offer(event("a"), BOUND);
      expect(await events().offer(event("a"), BOUND)).toEqual({ result: "duplicate", id: "a" });
      expect(await events().depth()).toBe(1);
    });

    test("an event that has ended may be offered again: it is in the list of its new state only", async () => {
      await events().offer(event("a"), BOUND);
      await take("w");
      await events().finish([delivery("a", { state: "dead" }), delivery("a", { state: "done" })]);
      expect((await events().delivery("ns", "a"))?.state).toBe("dead");
      expect((await events().offer(event("a"), BOUND)).result).toBe("accepted");
      const found = async (state?: Delivery["state"]) =>
        (await events().deliveries({ namespace: "ns", limit: 10, ...(state && { state }) })).items
          .map((one) => `${one.id} ${one.state}`);
      expect(await found()).toEqual(["a queued"]);
      expect(await found("queued")).toEqual(["a queued"]);
      expect(await found("dead")).toEqual([]);
      expect(idsOf(await take("w"))).toEqual(["a"]);
    });

    test("of offers at the same moment no more are accepted than there is room, in each of its own bound", async () => {
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, i) => events().offer(event(`e${i}`), i < 10 ? 5 : 7)),
      );
      expect(results.filter(({ result }) => result === "accepted").length).toBe(7);
      expect(results.map(({ id }) => id)).toEqual(Array.from({ length: 30 }, (_, i) => `e${i}`));
      expect(await events().depth()).toBe(7);
      expect((await events().deliveries({ namespace: "ns", limit: 0 })).items.length).toBe(7);
    });

    test("the events of a silent worker are claimed, with one attempt more; touched ones are not", async () => {
      for (const id of ["a", "b"]) await events().offer(event(id), BOUND);
      await take("w1", 2, 150);
      expect(await take("w2", 10, 150)).toEqual([]);
      await setting.pass(100);
      await events().touch("w1", ["b", "unknown"]);
      await events().touch("w2", ["a"]);
      await setting.pass(100);
      expect(await take("w2", 10, 150)).toEqual([{ ...event("a"), attempts: 1 }]);
      await events().touch("w1", ["a"]);
      expect(await take("w3", 10, 150)).toEqual([]);
    });

    test("of events that came at one moment, each ends, comes back and is claimed for itself", async () => {
      const ids = Array.from({ length: 100 }, (_, i) => `e${String(i).padStart(2, "0")}`);
      const text = (id: string) => `{"id":"${id}"}`;
      await Promise.all(ids.map((id) => events().offer(event(id), BOUND)));
      const taken: QueuedEvent[] = [];
      for (let batch = await take("w1", 40); batch.length > 0; batch = await take("w1", 40)) {
        taken.push(...batch);
      }
      expect(idsOf(taken)).toEqual(ids);
      expect(taken.every((one) => one.text === text(one.id) && one.attempts === 0)).toBe(true);
      const [done, back, left] = [0, 1, 2].map((rest) => ids.filter((_, i) => i % 3 === rest));
      await events().finish((done ?? []).map((id) => delivery(id, { state: "done" })));
      for (const id of back ?? []) {
        await events().retryLater(delivery(id, { attempts: 1 }), CLAIM_MS);
      }
      expect(await events().depth()).toBe(66);
      for (const id of left ?? []) expect((await events().delivery("ns", id))?.attempts).toBe(0);
      await setting.pass(150);
      const claimed: QueuedEvent[] = [];
      do claimed.push(...await take("w2", 40, 100)); while (claimed.length < 33);
      expect(idsOf(claimed)).toEqual(left);
      expect(claimed.every(({ attempts }) => attempts === 1)).toBe(true);
      await events().retryLater(delivery(left?.[0] ?? "", { attempts: 2 }), 0);
      await events().finish((left ?? []).slice(1).map((id) => delivery(id, { state: "done" })));
      expect(await take("w1")).toEqual([{ ...event(left?.[0] ?? ""), attempts: 2 }]);
      await events().finish([delivery(left?.[0] ?? "", { state: "done" })]);
      await events().finish((back ?? []).map((id) => delivery(id, { state: "done" })));
      expect(await events().depth()).toBe(0);
      expect(await take("w3", 100, 0)).toEqual([]);
    });

    test("an event that nobody has ever taken can be given back", async () => {
      await events().offer(event("a"), BOUND);
      await events().retryLater(delivery("a", { attempts: 1 }), 0);
      expect(await take("w1")).toEqual([{ ...event("a"), attempts: 1 }]);
    });

    test("of events that came at one moment, one that was ended before it was taken is not taken", async () => {
      await Promise.all(["a", "b", "c"].map((id) => events().offer(event(id), BOUND)));
      await events().finish([delivery("b", { state: "done" })]);
      expect(idsOf(await take("w1"))).toEqual(["a", "c"]);
      const other = delivery("x", { namespace: "other", state: "dead" });
      await events().offer(event("x", { namespace: "other" }), BOUND);
      expect(idsOf(await take("w1"))).toEqual(["x"]);
      const ends = [delivery("c", { state: "dead" }), other, delivery("a", { state: "done" })];
      await events().finish([...ends, delivery("c", { state: "done" })]);
      const states = await Promise.all(["a", "b", "c"].map((id) => events().delivery("ns", id)));
      expect(states.map((one) => one?.state)).toEqual(["done", "done", "dead"]);
      expect(await events().delivery("other", "x")).toEqual(other);
      expect(await events().depth()).toBe(0);
    });

    test("what is taken tells a version of the manifests that is never older than its offer", async () => {
      const versionOf = async (id: string) => {
        await events().offer(event(id), BOUND);
        const [taken] = await events().take("w", 1, CLAIM_MS, 0, never);
        return taken?.manifests;
      };
      const secret = { kind: "Secret", namespace: "a", name: "s", text: "1", labels: {} } as const;
      const before = await versionOf("a");
      expect(await versionOf("b")).toBe(before);
      await store().manifests.put(secret, "*");
      const after = await versionOf("c");
      if (before === undefined) expect(after).toBeUndefined();
      else expect(Number(after)).toBeGreaterThan(Number(before));
      await store().manifests.remove("Secret", "a", "s");
      if (after !== undefined) expect(Number(await versionOf("d"))).toBeGreaterThan(Number(after));
    });

    test("what was judged by manifests that have changed since is stale, and only that", async ({ skip }) => {
      const { manifests } = store();
      const place = ["Secret", "a", "s"] as const;
      await manifests.get(...place);
      const known = manifests.known?.(...place);
      if (known === undefined) return skip("this store knows nothing without a call");
      expect(known.stored).toBeUndefined();
      const judged = (id: string, version: string | undefined) =>
        events().offer(event(id), BOUND, undefined, version);
      expect((await judged("a", known.manifests)).result).toBe("accepted");
      await manifests.put(
        { kind: "Secret", namespace: "a", name: "s", text: "1", labels: {} },
        "*",
      );
      const mixed = ["b", "c", "d"].map((id) =>
        judged(id, id === "c" ? undefined : known.manifests)
      );
      expect((await Promise.all(mixed)).map(({ result }) => result))
        .toEqual(["stale", "accepted", "stale"]);
      await manifests.get(...place);
      const now = manifests.known?.(...place);
      expect(now?.stored?.text).toBe("1");
      const both = [judged("b", known.manifests), judged("d", now?.manifests)];
      expect((await Promise.all(both)).map(({ result }) => result)).toEqual(["stale", "accepted"]);
      const ended = events().finish([delivery("c", { state: "done" })]);
      expect((await judged("b", known.manifests)).result).toBe("stale");
      await ended;
      expect((await events().delivery("ns", "c"))?.state).toBe("done");
      expect(idsOf(await take("w")).sort()).toEqual(["a", "d"]);
      expect(await events().delivery("ns", "b")).toBeUndefined();
    });

    test("an event that ends leaves its place to one that comes at the same time", async () => {
      await events().offer(event("a"), 1);
      expect(idsOf(await take("w"))).toEqual(["a"]);
      const ended = events().finish([delivery("a", { state: "dead" })]);
      const keyed = { key: "k", fingerprint: "f", expiresAt: Date.now() + 60_000 };
      const offers = [events().offer(event("b"), 1, keyed), events().offer(event("c"), 1)];
      expect((await Promise.all(offers)).map(({ result }) => result)).toEqual(["accepted", "full"]);
      await ended;
      expect((await events().delivery("ns", "a"))?.state).toBe("dead");
      expect(idsOf(await take("w"))).toEqual(["b"]);
      expect((await events().offer(event("d"), 2, keyed)).result).toBe("duplicate");
    });

    test("only one of several workers claims", async () => {
      const ids = Array.from({ length: 20 }, (_, i) => `e${i}`);
      for (const id of ids) await events().offer(event(id), BOUND);
      expect((await take("dead", 20)).length).toBe(20);
      await setting.pass(60);
      const claims = await Promise.all(
        ["w1", "w2", "w3"].map((worker) => take(worker, 20, 50)),
      );
      expect(claims.flat().map(({ id }) => id).sort()).toEqual([...ids].sort());
    });

    test("an event given back comes again at its time, in the order of those times", async () => {
      for (const id of ["a", "b", "c"]) await events().offer(event(id), BOUND);
      await take("w1");
      await events().retryLater(delivery("a", { attempts: 1 }), 300);
      await events().retryLater(delivery("b", { attempts: 1 }), 150);
      await events().finish([delivery("c", { state: "done" })]);
      expect(await take("w2")).toEqual([]);
      expect(await events().depth()).toBe(2);
      expect((await events().delivery("ns", "a"))?.attempts).toBe(1);
      await setting.pass(200);
      expect(await take("w2")).toEqual([{ ...event("b"), attempts: 1 }]);
      await setting.pass(150);
      expect(await take("w2")).toEqual([{ ...event("a"), attempts: 1 }]);
      await events().retryLater(delivery("a", { attempts: 2 }), CLAIM_MS);
      expect(await take("w2")).toEqual([]);
      await events().retryLater(delivery("a", { attempts: 3 }), 0);
      expect(await take("w2")).toEqual([{ ...event("a"), attempts: 3 }]);
    });

    test("a worker that waits already is given what comes back, at its time", async () => {
      await events().offer(event("a"), BOUND);
      await take("w1");
      const waiting = events().take("w2", 10, CLAIM_MS, LONG_MS, never);
      const startedAt = performance.now();
      await setting.pass(0);
      await events().retryLater(delivery("a", { attempts: 1 }), 100);
      await setting.pass(100);
      expect(idsOf(await waiting)).toEqual(["a"]);
      expect(performance.now() - startedAt).toBeLessThan(LONG_MS - 1_000);
    });

    test("what is no longer in the queue is not ended twice", async () => {
      await events().offer(event("a"), BOUND);
      await take("w1");
      await events().finish([delivery("a", { state: "done" })]);
      await events().finish([delivery("a", { state: "dead" })]);
      await events().retryLater(delivery("a", { attempts: 5 }), 0);
      await events().finish([delivery("unknown", { state: "dead" })]);
      expect((await events().delivery("ns", "a"))?.state).toBe("done");
      expect(await events().delivery("ns", "unknown")).toBeUndefined();
      expect(await events().depth()).toBe(0);
      expect(await take("w1")).toEqual([]);
    });

    test("a waiting worker is woken by an offer, and by an event that comes due", async () => {
      const waiting = events().take("w1", 10, CLAIM_MS, LONG_MS, never);
      const startedAt = performance.now();
      await events().offer(event("a"), BOUND);
      expect(idsOf(await waiting)).toEqual(["a"]);
      expect(performance.now() - startedAt).toBeLessThan(800);
    });

    test("a worker that waits is given what comes at one moment together, and a due one in between", async () => {
      await events().offer(event("later"), BOUND);
      await take("w1");
      await events().retryLater(delivery("later", { attempts: 1 }), 200);
      const seen: string[] = [];
      for (const ids of [["a", "b", "c"], ["d"]]) {
        const waiting = events().take("w1", 10, CLAIM_MS, LONG_MS, never);
        await Promise.all(ids.map((id) => events().offer(event(id), BOUND)));
        for (let taken = await waiting;; taken = await events().take("w1", 9, CLAIM_MS, 0, never)) {
          seen.push(...idsOf(taken));
          if (ids.every((id) => seen.includes(id))) break;
        }
      }
      expect(seen).toEqual(["a", "b", "c", "d"]);
      const waiting = events().take("w1", 10, CLAIM_MS, LONG_MS, never);
      await setting.pass(200);
      expect(idsOf(await waiting)).toEqual(["later"]);
      expect(await events().depth()).toBe(5);
    });

    test("a worker that waits gets what was accepted under an id, not what was refused under it", async () => {
      await events().offer(event("first"), BOUND);
      const waiting = events().take("w1", 10, 60_000, LONG_MS, never);
      expect(idsOf(await waiting)).toEqual(["first"]);
      for (const [texts, bounds] of [[["1", "2"], [9, 9]], [["3", "4"], [0, 9]]] as const) {
        const next = events().take("w1", 10, 60_000, LONG_MS, never);
        await setting.pass(0);
        const offers = texts.map((text, i) =>
          events().offer({ ...event("a"), text }, bounds[i] ?? 0)
        );
        const accepted = (await Promise.all(offers)).findIndex(({ result }) =>
          result === "accepted"
        );
        expect((await next).map(({ id, text }) => [id, text])).toEqual([["a", texts[accepted]]]);
        await events().finish([delivery("a", { state: "done" })]);
      }
    });

    test("several waiting workers share what comes", async () => {
      const waits = ["w1", "w2"].map((worker) =>
        events().take(worker, 1, CLAIM_MS, LONG_MS, never)
      );
      await events().offer(event("a"), BOUND);
      await events().offer(event("b"), BOUND);
      const taken = await Promise.all(waits);
      expect(taken.map((list) => list.length)).toEqual([1, 1]);
      expect(idsOf(taken.flat()).sort()).toEqual(["a", "b"]);
    });

    test("an aborted wait ends at once", async () => {
      const stop = new AbortController();
      const waiting = events().take("w1", 10, CLAIM_MS, LONG_MS, stop.signal);
      const startedAt = performance.now();
      stop.abort();
      expect(await waiting).toEqual([]);
      expect(performance.now() - startedAt).toBeLessThan(800);
    });

    test("accepted events outlive the store, in work or not", async ({ skip }) => {
      const { reopen } = setting;
      if (reopen === undefined) return skip("nothing outlives a store in memory");
      for (const id of ["a", "b"]) await events().offer(event(id), BOUND);
      await take("w1", 1);
      const again = await reopen();
      expect(await again.events.depth()).toBe(2);
      expect(idsOf(await again.events.take("w2", 9, CLAIM_MS, 0, never))).toEqual(["b"]);
      expect(idsOf(await again.events.take("w2", 9, 0, 0, never)).sort()).toEqual(["a", "b"]);
    });
  });

  describe("deliveries", () => {
    test("an accepted event has a record at once, and its last one at the end", async () => {
      await events().offer({ ...event("a"), text: "ü" }, BOUND);
      await events().offer({ ...event("b"), size: 77 }, BOUND);
      expect(await events().delivery("ns", "a")).toEqual(delivery("a", { size: 2 }));
      expect((await events().delivery("ns", "b"))?.size).toBe(77);
      expect(await events().delivery("other", "a")).toBeUndefined();
      await take("w1");
      const done = delivery("a", {
        state: "dead",
        attempts: 3,
        event: "text",
        bindings: [{ binding: "b", outcome: "error", message: "why" }],
      });
      await events().finish([done]);
      expect(await events().delivery("ns", "a")).toEqual(done);
    });

    test("lists: newest first, by state, in pages that neither skip nor repeat", async () => {
      for (let i = 0; i < 20; i++) {
        await events().offer(event(`e${i}`, { receivedAt: 1_000 + Math.floor(i / 4) }), BOUND);
      }
      await events().offer(event("other", { namespace: "x" }), BOUND);
      await take("w1", 100);
      for (let i = 0; i < 10; i++) {
        const state = i % 2 === 0 ? "done" : "dead";
        await events().finish([
          delivery(`e${i}`, { state, receivedAt: 1_000 + Math.floor(i / 4) }),
        ]);
      }
      const list = (query: object) =>
        events().deliveries({ namespace: "ns", limit: 100, ...query });
      const all = (await list({})).items.map(({ id }) => id);
      expect(all.length).toBe(20);
      const times = (await list({})).items.map(({ receivedAt }) => receivedAt);
      expect(times).toEqual([...times].sort((a, b) => b - a));
      const dead = (await list({ state: "dead" })).items.map(({ id }) => id);
      expect([...dead].sort()).toEqual(["e1", "e3", "e5", "e7", "e9"]);
      expect((await list({ state: "queued" })).items.length).toBe(10);
      for (const [state, whole] of [[undefined, all], ["dead", dead]] as const) {
        const seen: string[] = [];
        let token: string | undefined;
        do {
          const page: Awaited<ReturnType<typeof list>> = await list({
            limit: 3,
            ...(state !== undefined && { state }),
            ...(token !== undefined && { continue: token }),
          });
          seen.push(...page.items.map(({ id }) => id));
          token = page.continue;
          await events().offer(event(`new${seen.length}${state}`, { receivedAt: 9_000 }), BOUND);
        } while (token !== undefined);
        expect(seen).toEqual(whole);
      }
      const failure = await failureOf(list({ continue: "nonsense" }));
      expect((failure as Problem).code).toBe(ProblemCode.InvalidArgument);
    });

    test("lists of all namespaces: one order, in pages that neither skip nor repeat", async () => {
      const names = Array.from({ length: 45 }, (_, i) => `n${i % 23}`);
      for (const [i, namespace] of names.entries()) {
        await events().offer(
          event(`e${i}`, { namespace, receivedAt: 1_000 + Math.floor(i / 3) }),
          BOUND,
        );
      }
      await take("w1", 100);
      const ended = names.map((namespace, i) =>
        delivery(`e${i}`, {
          namespace,
          state: i % 4 ? "done" : "dead",
          receivedAt: 1_000 + Math.floor(i / 3),
        })
      );
      await events().finish(ended);
      const expected = [...ended].sort((a, b) =>
        b.receivedAt - a.receivedAt || (a.id > b.id ? -1 : 1)
      );
      for (const state of [undefined, "dead"] as const) {
        const seen: Delivery[] = [];
        let token: string | undefined;
        do {
          const page: Awaited<ReturnType<EventStore["deliveries"]>> = await events().deliveries({
            limit: 7,
            ...(state !== undefined && { state }),
            ...(token !== undefined && { continue: token }),
          });
          seen.push(...page.items);
          token = page.continue;
          // The token of the last page would lead to one that is empty.
          expect(page.items.length).toBeGreaterThan(0);
        } while (token !== undefined);
        expect(seen).toEqual(expected.filter((one) => state === undefined || one.state === state));
      }
      expect((await events().deliveries({ limit: 0 })).items).toEqual(expected);
    });

    test("can be amended when the event has ended, and only then", async () => {
      await events().offer(event("a"), BOUND);
      await events().offer(event("b"), BOUND);
      const bindings: Delivery["bindings"] = [{ binding: "x", outcome: "resumed", workflow: "w" }];
      await events().amend(delivery("a", { state: "dead", bindings }));
      await events().amend(delivery("nobody", { state: "done", bindings }));
      expect((await events().delivery("ns", "a"))?.state).toBe("queued");
      expect(await events().delivery("ns", "nobody")).toBeUndefined();
      await events().finish([delivery("a", { state: "done" })]);
      await events().amend(delivery("a", { state: "dead", bindings }));
      expect(await events().delivery("ns", "a")).toMatchObject({ state: "dead", bindings });
      const idsOf = async (state: Delivery["state"]) =>
        (await events().deliveries({ namespace: "ns", state, limit: 0 })).items.map(({ id }) => id);
      expect([await idsOf("done"), await idsOf("dead"), await idsOf("queued")])
        .toEqual([[], ["a"], ["b"]]);
    });

    test("are trimmed by count and age, but not while the event is queued", async () => {
      const now = setting.now();
      for (let i = 0; i < 10; i++) {
        await events().offer(event(`e${i}`, { receivedAt: now - 10 + i }), BOUND);
      }
      await events().offer(event("old", { receivedAt: now - 3_600_000 }), BOUND);
      await events().offer(event("waits", { receivedAt: now - 3_600_000 }), BOUND);
      await events().offer(event("x", { namespace: "other", receivedAt: now - 20 }), BOUND);
      const ended = [...Array.from({ length: 10 }, (_, i) => `e${i}`), "old"];
      await take("w1", 100);
      await events().finish(ended.map((id) =>
        delivery(id, {
          state: "done",
          receivedAt: id === "old" ? now - 3_600_000 : now - 10 + Number(id.slice(1)),
        })
      ));
      await events().finish([
        delivery("x", { namespace: "other", state: "done", receivedAt: now - 20 }),
      ]);
      await events().trimDeliveries(100, 60_000);
      const idsIn = async (namespace: string) =>
        (await events().deliveries({ namespace, limit: 0 })).items.map(({ id }) => id);
      expect((await idsIn("ns")).length).toBe(11);
      expect(await idsIn("ns")).not.toContain("old");
      await events().trimDeliveries(3, 60_000);
      expect(await idsIn("ns")).toEqual(["e9", "e8", "e7", "waits"]);
      expect(await idsIn("other")).toEqual(["x"]);
      expect(await events().delivery("ns", "e1")).toBeUndefined();
    });

    test("that are named are not trimmed", async () => {
      const now = setting.now();
      const all = Array.from(
        { length: 6 },
        (_, i) =>
          delivery(`e${i}`, {
            state: "done",
            receivedAt: i === 0 ? now - 3_600_000 : now - 10 + i,
          }),
      );
      for (const { id, receivedAt } of all) await events().offer(event(id, { receivedAt }), BOUND);
      await take("w1", 100);
      await events().finish(all);
      const kept = new Map([["ns", ["e0", "e2"]], ["other", ["e1"]]]);
      await events().trimDeliveries(2, 60_000, kept);
      const { items } = await events().deliveries({ namespace: "ns", limit: 0 });
      expect(items.map(({ id }) => id)).toEqual(["e5", "e4", "e2", "e0"]);
    });

    test("of dead letters have a bound of their own, which later events do not use up", async () => {
      const now = setting.now();
      const states = [...Array(4).fill("dead"), ...Array(4).fill("done")] as Delivery["state"][];
      const all = states.map((state, i) => delivery(`e${i}`, { state, receivedAt: now - 10 + i }));
      for (const { id, receivedAt } of all) await events().offer(event(id, { receivedAt }), BOUND);
      await take("w1", 100);
      await events().finish(all);
      await events().trimDeliveries(3, 60_000);
      const { items } = await events().deliveries({ namespace: "ns", limit: 0 });
      expect(items.map(({ id }) => id)).toEqual(["e7", "e6", "e5", "e3", "e2", "e1"]);
    });
  });

  describe("blobs", () => {
    const bytes = (...values: number[]) => new Uint8Array(values);

    test("are put, appended up to a limit, read and removed by prefix", async () => {
      const { blobs } = store();
      await blobs.putBlob("log/a/1", bytes(0, 255, 128));
      expect(await blobs.getBlob("log/a/1")).toEqual(bytes(0, 255, 128));
      await blobs.putBlob("log/a/1", bytes(1));
      await blobs.appendBlob("log/a/1", bytes(2, 3), 4);
      await blobs.appendBlob("log/a/1", bytes(4, 5), 4);
      await blobs.appendBlob("log/a/1", bytes(6), 4);
      expect(await blobs.getBlob("log/a/1")).toEqual(bytes(1, 2, 3, 4));
      await blobs.appendBlob("log/b/1", bytes(200, 10), 1);
      expect(await blobs.getBlob("log/b/1")).toEqual(bytes(200));
      await blobs.putBlob("empty", bytes());
      expect(await blobs.getBlob("empty")).toEqual(bytes());
      await blobs.appendBlob("empty", bytes(), 9);
      await blobs.appendBlob("empty", bytes(7), 9);
      await blobs.appendBlob("empty", bytes(8), 9);
      expect(await blobs.getBlob("empty")).toEqual(bytes(7, 8));
      await blobs.appendBlob("none at first", bytes(), 9);
      expect(await blobs.getBlob("none at first")).toEqual(bytes());
      expect(await blobs.getBlob("none")).toBeUndefined();
      for (const key of ["log/a%/x", "log/a/2", "log/a"]) await blobs.putBlob(key, bytes(1));
      await blobs.removeBlobs("log/a/");
      expect(await blobs.getBlob("log/a/1")).toBeUndefined();
      expect(await blobs.getBlob("log/a/2")).toBeUndefined();
      for (const key of ["log/a", "log/a%/x", "log/b/1"]) {
        expect(await blobs.getBlob(key)).toBeDefined();
      }
    });

    test("concurrent appends lose nothing", async () => {
      const { blobs } = store();
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => blobs.appendBlob("k", bytes(i), 100)),
      );
      const value = await blobs.getBlob("k");
      expect([...value ?? []].sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, i) => i),
      );
    });

    test("a mebibyte comes back as it was", async () => {
      const value = new Uint8Array(1 << 20).map((_, i) => i % 251);
      await store().blobs.putBlob("big", value);
      expect(Buffer.compare(await store().blobs.getBlob("big") ?? bytes(), value)).toBe(0);
    });
  });

  describe("the store", () => {
    test("clear takes everything but membership, and versions go on growing", async () => {
      const { membership, shards, query, manifests, blobs } = store();
      await membership.shardCount(4);
      const epoch = await acquired(store(), 1);
      const commit = commitOf(1, epoch, {
        actors: [changeOf("wf/a/one", { put: partTexts({ h: "x" }), index: entryOf("wf/a/one") })],
        outboxPut: { o: "1" },
        timersSet: { t: 1 },
        answers: [{ key: "k", fingerprint: "f", answer: 1, expiresAt: setting.now() + CLAIM_MS }],
      });
      const before = (await shards.commit(commit)).versions["wf/a/one"] ?? "";
      const mail = { shard: 1, command: { id: "c", actor: "wf/a/one", body: {} } };
      await shards.append([mail]);
      const [entry] = await shards.readMailboxes([{ shard: 1, cursor: "" }], 1, 0, never);
      await manifests.put({ kind: "Secret", namespace: "a", name: "s", text: "", labels: {} }, "*");
      const dedupe = { key: "k", fingerprint: "f", expiresAt: setting.now() + CLAIM_MS };
      await events().offer(event("a"), BOUND, dedupe);
      await blobs.putBlob("b", new Uint8Array(1));
      await store().clear();
      expect(await shards.loadActor(1, "wf/a/one")).toBeUndefined();
      const { outbox, timers } = await shards.loadShard(1);
      expect({ outbox, timers }).toEqual({ outbox: {}, timers: {} });
      expect(await shards.findAnswers(1, ["k"])).toEqual({});
      const all = [{ shard: 1, cursor: "" }];
      expect(await shards.readMailboxes(all, 10, 0, never)).toEqual([]);
      expect((await query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
      expect(await query.findByUid("uid-a-one")).toBeUndefined();
      expect((await manifests.list("Secret", { limit: 0 })).items).toEqual([]);
      expect(await events().depth()).toBe(0);
      expect((await events().deliveries({ namespace: "ns", limit: 0 })).items).toEqual([]);
      expect(await blobs.getBlob("b")).toBeUndefined();
      expect(await membership.shardCount(9)).toBe(4);
      const stop = new AbortController();
      expect(await failureOf(collect(query.watch(before, stop.signal), 1, stop)))
        .toBeInstanceOf(VersionTooOld);
      const after = (await shards.commit(commit)).versions["wf/a/one"];
      expect(Number(after)).toBeGreaterThan(Number(before));
      await shards.append([mail]);
      const cursor = entry?.cursor ?? "";
      const next = await shards.readMailboxes([{ shard: 1, cursor }], 10, 0, never);
      expect(next.map(({ command }) => command.id)).toEqual(["c"]);
      expect((await events().offer(event("a"), BOUND, dedupe)).result).toBe("accepted");
    });

    test("answers a ping until it is closed, and says what it promises", async () => {
      await store().ping();
      expect(["always", "everysec", "none", "unknown"]).toContain(store().durability?.());
      const waiting = events().take("w1", 1, CLAIM_MS, LONG_MS, never);
      await store().close();
      expect(await waiting).toEqual([]);
      expect((await failureOf(store().ping()) as Problem).code).toBe(ProblemCode.Unavailable);
    });
  });
}

function event(
  id: string,
  more: Partial<QueuedEvent> = {},
): Omit<QueuedEvent, "attempts"> {
  return {
    id,
    namespace: "ns",
    discriminator: "d",
    text: `{"id":"${id}"}`,
    receivedAt: 1_000,
    ...more,
  };
}

function delivery(id: string, more: Partial<Delivery> = {}): Delivery {
  return {
    id,
    namespace: "ns",
    discriminator: "d",
    receivedAt: 1_000,
    size: 10,
    state: "queued",
    attempts: 0,
    bindings: [],
    ...more,
  };
}
