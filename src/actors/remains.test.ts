/** What is left of a large workflow that was removed. */
import { partTexts } from "../base/part_text.ts";
import { expect, test } from "vitest";
import { manyNodes } from "../../test/support/large_workflow.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { ActorChange } from "../store/port.ts";
import { sweepRemains } from "./remains.ts";

test("others get their turn while many nodes are swept up, and then nothing is left", async () => {
  const store = openMemoryStore({ now: () => 0 });
  const lease = await store.membership.acquire(0, "a", 60_000);
  if (lease === undefined) throw new Error("no lease");
  const commit = (actor: ActorChange) =>
    store.shards.commit({
      ...lease,
      actors: [actor],
      outboxPut: {},
      outboxDrop: [],
      timersSet: {},
      timersClear: [],
      answers: [],
    });
  const id = "wf/default/x";
  const { parts, index } = manyNodes("x", 60_000);
  await commit({ id, put: partTexts(parts), drop: [], index, create: true });
  await commit({ id, put: [], drop: [], remove: true, remains: "left" });
  expect(Object.keys((await store.shards.readRemains(0, "left", "", 10)).parts)).toHaveLength(10);

  let others = 0;
  const timer = setInterval(() => others++, 0);
  let tasks = 0;
  await sweepRemains(0, {
    type: "sweep-remains",
    id: "sweep/left",
    remains: "left",
    uid: "u",
    namespace: "default",
    workflow: "x",
  }, {
    shards: store.shards,
    clean: (ids) => {
      tasks += ids.length;
      return Promise.resolve();
    },
    collect: () => Promise.resolve(),
  });
  clearInterval(timer);
  expect(others).toBeGreaterThan(0);
  expect(tasks).toBeGreaterThan(0);
  expect(await store.shards.readRemains(0, "left", "", 10)).toEqual({ parts: {} });
});
