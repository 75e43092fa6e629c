import { partTexts } from "../../base/part_text.ts";
import { expect, test } from "vitest";
import { ManualClock, settle } from "../../../test/support/manual_clock.ts";
import { storeWorkflows } from "../../../test/support/stored_workflows.ts";
import type { WorkflowHost } from "../../actors/port.ts";
import { unavailable } from "../../base/problem.ts";
import { createLogger } from "../../platform/log.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { OlderWaits } from "./older_waits.ts";

const COUNT = 250;
const nameOf = (i: number) => `w${String(i).padStart(3, "0")}`;

async function setUp(refusal: (name: string) => Error | undefined) {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const node = JSON.stringify({ type: "Suspend", phase: "Running", startedAt: 1 });
  await storeWorkflows(store, COUNT, (i) => ({
    id: `wf/ns/${nameOf(i)}`,
    create: true,
    put: partTexts({ h: "{}", "n:a": node }),
    drop: [],
    index: {
      ...{ namespace: "ns", name: nameOf(i), uid: `u${i}`, phase: "Running", labels: {} },
      createdAt: i,
    },
  }));
  const indexed: string[] = [];
  const execute = async (_: string, name: string) => {
    await Promise.resolve();
    const error = refusal(name);
    if (error !== undefined) throw error;
    indexed.push(name);
    return {};
  };
  const host = { execute } as unknown as WorkflowHost;
  const waits = new OlderWaits({ store, host, clock, log: createLogger("silent") });
  const search = async () => {
    waits.begin();
    for (let i = 0; i < 20; i++) await settle();
    return new Set(indexed).size;
  };
  return { clock, search };
}

test("a workflow that can't be indexed doesn't keep others from it, and is tried again", async () => {
  let isBroken = true;
  const { clock, search } = await setUp((name) =>
    isBroken && name === nameOf(200) ? new Error("damaged") : undefined
  );
  expect(await search()).toBe(COUNT - 1);
  isBroken = false;
  await clock.advance(61_000);
  expect(await search()).toBe(COUNT);
});

test("a store that is away ends the search until later", async () => {
  let tries = 0;
  const { search } = await setUp(() => {
    tries++;
    return unavailable("away");
  });
  expect(await search()).toBe(0);
  expect(tries).toBe(1);
});
