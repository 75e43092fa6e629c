import fc from "fast-check";
import { expect, test } from "vitest";
import type { Change, StoredActor } from "../store/port.ts";
import { Views } from "./views.ts";

/** A history of changes of a few actors, and what each actor was like after each of them, or before its end. */
function history(steps: { actor: number; key: number; isDrop: boolean; isEnd: boolean }[]) {
  const changes: Change[] = [];
  const states: StoredActor[] = [];
  const now = new Map<string, Record<string, string>>();
  for (const [index, { actor, key, isDrop, isEnd }] of steps.entries()) {
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
    const name = `n:${key}`;
    const next = { ...parts, [name]: version };
    if (isDrop) delete next[name];
    now.set(id, next);
    const text = parts?.[name];
    changes.push({
      type: parts ? "MODIFIED" : "ADDED",
      id,
      version,
      put: isDrop ? {} : { [name]: version },
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
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 50, max: 2_000 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 20 }),
      async (steps, from, maxSize, lag, lateness) => {
        const { changes, states } = history(steps);
        let at = 0;
        const views = new Views({
          maxSize,
          load(id) {
            const last = changes.slice(0, at + lag + 1).findLastIndex((change) => change.id === id);
            const isGone = changes[last]?.type === "DELETED";
            return Promise.resolve(isGone ? undefined : states[last]);
          },
          history: (id, after) =>
            Promise.resolve(
              changes.slice(0, at + lag + 1 + lateness).filter((change) =>
                change.id === id && Number(change.version) > Number(after)
              ),
            ),
        });
        for (at = from; at < changes.length; at++) {
          const change = changes[at];
          if (change) expect(await views.after(change)).toEqual(states[at]);
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
