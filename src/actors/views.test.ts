import fc from "fast-check";
import { expect, test } from "vitest";
import type { Change, StoredActor } from "../store/port.ts";
import { Views } from "./views.ts";

/** A history of changes of a few actors, and what each actor was like after each of them, or before its end. */
function history(
  steps: { actor: number; key: number; isDrop: boolean; isEnd: boolean; isLarge: boolean }[],
) {
  const changes: Change[] = [];
  const states: StoredActor[] = [];
  const now = new Map<string, Record<string, string>>();
  for (const [index, { actor, key, isDrop, isEnd, isLarge }] of steps.entries()) {
    const id = `wf/ns/${actor}`;
    const version = String(index + 100);
    const parts = now.get(id);
    if (isEnd && parts) {
      now.delete(id);
      const before = Object.keys(parts).length === 0 ? {} : { before: parts };
      changes.push({ type: "DELETED", id, version, put: {}, drop: [], ...before });
      states.push({ id, version, parts });
      continue;
    }
    const name = key === 0 ? "h" : `n:${key}`;
    const next = { ...parts, [name]: version };
    if (isDrop) delete next[name];
    now.set(id, next);
    const text = parts?.[name];
    const lacksTexts = isLarge && parts === undefined;
    const nodesSize = isDrop || name === "h" ? 0 : name.length + version.length;
    changes.push({
      type: parts ? "MODIFIED" : "ADDED",
      id,
      version,
      put: isDrop || (lacksTexts && name !== "h") ? {} : { [name]: version },
      ...(lacksTexts && { mustLoad: true, nodesSize }),
      drop: isDrop ? [name] : [],
      ...(text !== undefined && { before: { [name]: text } }),
    });
    states.push({ id, version, parts: next });
  }
  return { changes, states };
}

test("views show every actor as it was, from wherever the feed is read, however late, and whatever is forgotten", async () => {
  const step = fc.record({
    actor: fc.integer({ min: 0, max: 3 }),
    key: fc.integer({ min: 0, max: 3 }),
    isDrop: fc.boolean(),
    isEnd: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    isLarge: fc.boolean(),
  });
  const withoutNodes = ({ parts, ...rest }: StoredActor) => ({
    ...rest,
    parts: Object.fromEntries(Object.entries(parts).filter(([key]) => !key.startsWith("n:"))),
  });
  const sizeOf = ({ parts }: StoredActor) =>
    Object.entries(parts).reduce((size, [key, text]) => size + key.length + text.length, 100);
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 50, max: 2_000 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(Infinity, 110, 115),
      async (steps, from, maxSize, lag, lateness, expected, maxWithNodes) => {
        const { changes, states } = history(steps);
        let at = 0;
        /** The changes up to here were read. */
        let read = 0;
        const views = new Views({
          maxSize,
          maxWithNodes,
          load(id) {
            const seen = changes.slice(0, Math.max(read, at + lag + 1));
            const last = seen.findLastIndex((change) => change.id === id);
            const isGone = changes[last]?.type === "DELETED";
            return Promise.resolve(isGone ? undefined : states[last]);
          },
          history: (id, after) =>
            Promise.resolve(
              changes.slice(0, Math.max(read, at + lag + 1) + lateness).filter((change) =>
                change.id === id && Number(change.version) > Number(after)
              ),
            ),
        });
        for (at = from; at < changes.length; at++) {
          const change = changes[at];
          if (at >= read && expected > 1) {
            read = at + expected;
            views.expect(changes.slice(at, read));
          }
          const state = states[at];
          if (change === undefined || state === undefined) continue;
          const shown = await views.after(change);
          if (change.type === "DELETED" || maxWithNodes === Infinity) expect(shown).toEqual(state);
          else if (sizeOf(state) > maxWithNodes) expect(shown).toEqual(withoutNodes(state));
          // One that has become small again may be shown either way.
          else expect([state, withoutNodes(state)]).toContainEqual(shown);
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

test("what is not asked for leaves memory", async () => {
  const views = new Views({
    load: () => Promise.resolve(undefined),
    history: () => Promise.resolve([]),
    maxSize: 10_000,
  });
  for (let index = 0; index < 1_000; index++) {
    const put = { h: "x".repeat(1_000) };
    await views.after({ type: "ADDED", id: `wf/ns/${index}`, version: `${index}`, put, drop: [] });
  }
  expect(views.count).toBeLessThan(10);
});

test("what rests leaves memory, and is loaded again when it changes", async () => {
  const loaded: string[] = [];
  const views = new Views({
    load: (id) => {
      loaded.push(id);
      return Promise.resolve({ id, version: "9", parts: { h: "loaded" } });
    },
    history: () => Promise.resolve([]),
  });
  const change = (id: string, type: "ADDED" | "MODIFIED", version: string) => ({
    ...{ id, type, version, put: { h: version }, drop: [] },
  });
  await views.after(change("wf/ns/one", "ADDED", "1"), 100);
  await views.after(change("wf/ns/two", "ADDED", "2"), 200);
  await views.after(change("wf/ns/one", "MODIFIED", "3"), 300);
  expect(views.forgetBefore(250)).toBe(true);
  expect(views.count).toBe(1);
  expect((await views.after(change("wf/ns/one", "MODIFIED", "8"), 400)).parts).toEqual({ h: "8" });
  expect(loaded).toEqual([]);
  expect((await views.after(change("wf/ns/two", "MODIFIED", "9"), 400)).parts).toEqual({
    h: "loaded",
  });
  expect(loaded).toEqual(["wf/ns/two"]);
  expect(views.forgetBefore(500)).toBe(false);
  expect(views.count).toBe(0);
});

test("what comes next is loaded at once, and only if it is not here", async () => {
  const loaded: string[] = [];
  const views = new Views({
    load: (id) => {
      loaded.push(id);
      return Promise.resolve({ id, version: "9", parts: { h: "loaded" } });
    },
    history: () => Promise.resolve([]),
  });
  const change = (name: string, type: Change["type"], version: string): Change => ({
    ...{ id: `wf/ns/${name}`, type, version, put: { h: version }, drop: [] },
  });
  await views.after(change("here", "ADDED", "1"));
  const next = [
    change("here", "MODIFIED", "2"),
    change("made", "ADDED", "3"),
    change("made", "MODIFIED", "4"),
    change("first", "MODIFIED", "5"),
    change("gone", "DELETED", "6"),
    change("first", "MODIFIED", "7"),
    change("second", "MODIFIED", "9"),
  ];
  views.expect(next);
  expect(loaded).toEqual(["wf/ns/first", "wf/ns/second"]);
  for (const one of next) await views.after(one);
  expect(loaded).toEqual(["wf/ns/first", "wf/ns/second"]);
});

test("a new actor that is shown without its nodes is not loaded for them", async () => {
  const loaded: string[] = [];
  const views = new Views({
    load: (id) => {
      loaded.push(id);
      return Promise.resolve({ id, version: "1", parts: { h: "a", "n:1": "x" } });
    },
    history: () => Promise.resolve([]),
    maxWithNodes: 1_000,
  });
  const created = (name: string, nodesSize: number): Change => ({
    ...{ type: "ADDED", id: `wf/ns/${name}`, version: "1", put: { h: "a" }, drop: [] },
    ...{ mustLoad: true, nodesSize },
  });
  const large = created("large", 1_001);
  views.expect([large]);
  expect((await views.after(large)).parts).toEqual({ h: "a" });
  const put = { h: "b", "n:2": "y" };
  const next: Change = { type: "MODIFIED", id: large.id, version: "2", put, drop: ["n:1"] };
  expect((await views.after(next)).parts).toEqual({ h: "b" });
  expect(loaded).toEqual([]);
  expect((await views.after(created("small", 1_000))).parts).toEqual({ h: "a", "n:1": "x" });
  expect(loaded).toEqual(["wf/ns/small"]);
});

test("what was still being loaded when changes were missed is not kept", async () => {
  const loaded = Promise.withResolvers<StoredActor>();
  const id = "wf/ns/a";
  const change = (version: string, put: Record<string, string>): Change => ({
    ...{ type: "MODIFIED", id, version, put, drop: [] },
  });
  const loads = [
    loaded.promise,
    Promise.resolve({ id, version: "103", parts: { h: "3", "n:1": "2" } }),
  ];
  const views = new Views({
    load: () => loads.shift() ?? Promise.reject(new Error("There are two loads")),
    history: () => Promise.resolve([]),
  });
  const first = views.after(change("101", { h: "1" }));
  // Whoever read the changes is gone; the next reader begins after 102, in which node 1 changed.
  views.clear();
  loaded.resolve({ id, version: "101", parts: { h: "1", "n:1": "1" } });
  expect((await first).parts).toEqual({ h: "1", "n:1": "1" });
  expect((await views.after(change("103", { h: "3" }))).parts).toEqual({ h: "3", "n:1": "2" });
  expect(views.count).toBe(1);
});
