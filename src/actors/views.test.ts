import fc from "fast-check";
import { expect, test } from "vitest";
import type { Change, StoredActor } from "../store/port.ts";
import { Views } from "./views.ts";

/** A history of changes of a few actors, and what each actor was like after each of them. */
function history(steps: { actor: number; key: number; isDrop: boolean; isEnd: boolean }[]) {
  const changes: Change[] = [];
  const states: (StoredActor | undefined)[] = [];
  const now = new Map<string, Record<string, string>>();
  for (const [index, { actor, key, isDrop, isEnd }] of steps.entries()) {
    const id = `wf/ns/${actor}`;
    const version = String(index + 1);
    const before = now.get(id);
    const put: Record<string, string> = isDrop || isEnd ? {} : { [`n:${key}`]: version };
    const drop = isDrop && before ? [`n:${key}`] : [];
    if (isEnd && before) {
      now.delete(id);
      changes.push({ type: "DELETED", id, version, put: {}, drop: [] });
      states.push(undefined);
      continue;
    }
    const parts = { ...before, ...put };
    for (const name of drop) delete parts[name];
    now.set(id, parts);
    changes.push({ type: before ? "MODIFIED" : "ADDED", id, version, put, drop });
    states.push({ id, version, parts });
  }
  return { changes, states, stateOf: (id: string) => now.get(id) };
}

test("views show every actor as it is, from wherever the feed is read and whatever is forgotten", async () => {
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
      async (steps, from, maxSize) => {
        const { changes, states } = history(steps);
        let at = 0;
        const load = (id: string) =>
          Promise.resolve(states.slice(0, at + 1).findLast((_, i) => changes[i]?.id === id));
        const views = new Views({ load, maxSize });
        for (at = from; at < changes.length; at++) {
          const change = changes[at];
          if (change) expect(await views.after(change)).toEqual(states[at]);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("a change that a loaded state shows already is not put in again", async () => {
  const stored = { id: "wf/ns/a", version: "9", parts: { h: "nine" } };
  const views = new Views({ load: () => Promise.resolve(stored) });
  const old: Change = {
    type: "MODIFIED",
    id: "wf/ns/a",
    version: "8",
    put: { h: "eight" },
    drop: [],
  };
  expect(await views.after(old)).toEqual(stored);
  const next = { ...old, version: "10", put: { h: "ten" } };
  expect(await views.after(next)).toEqual({ ...stored, version: "10", parts: { h: "ten" } });
});

test("a reader that is behind breaks nothing for the one that is ahead", async () => {
  const put = { h: "new", s: "spec" };
  const added: Change = { type: "ADDED", id: "wf/ns/a", version: "1", put, drop: [] };
  const load = () => Promise.resolve({ id: "wf/ns/a", version: "2", parts: put });
  const views = new Views({ load });
  expect(await views.after(added, true)).toMatchObject({ version: "2" });
  const next: Change = {
    type: "MODIFIED",
    id: "wf/ns/a",
    version: "3",
    put: { h: "next" },
    drop: [],
  };
  expect(await views.after(next)).toMatchObject({ version: "3", parts: { h: "next", s: "spec" } });
});

test("what is not asked for leaves memory", async () => {
  const views = new Views({ load: () => Promise.resolve(undefined), maxSize: 10_000 });
  for (let index = 0; index < 1_000; index++) {
    const put = { h: "x".repeat(1_000) };
    await views.after({ type: "ADDED", id: `wf/ns/${index}`, version: `${index}`, put, drop: [] });
  }
  expect(views.count).toBeLessThan(10);
});
