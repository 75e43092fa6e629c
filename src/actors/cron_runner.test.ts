import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { watchLoop } from "../../test/fuzz/loop_watch.ts";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { seededIds } from "../../test/support/seeded_ids.ts";
import { createLogger } from "../platform/log.ts";
import type { CronWorkflow, CronWorkflowStatus } from "../spec/manifest.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/port.ts";
import { CronRunner } from "./cron_runner.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

const START = Date.UTC(2030, 0, 1, 12, 0, 30);
let clock: ManualClock;
let store: Store;
let ran: string[];
let reconciled: string[];
const runners: CronRunner[] = [];

beforeEach(() => {
  clock = new ManualClock(START);
  store = openMemoryStore({ now: () => clock.now() });
  ran = [];
  reconciled = [];
});
afterEach(async () => {
  const stopping = runners.splice(0).map((runner) => runner.stop());
  await clock.advance(1);
  await Promise.all(stopping);
  await store.close();
});

const timeOf = (ms: number) => new Date(ms).toISOString().slice(11, 19);

async function start(
  replica: string,
  fail: () => boolean = () => false,
  skips: () => boolean = () => false,
  failsToReconcile: () => boolean = () => false,
): Promise<CronRunner> {
  await store.membership.heartbeat(replica, 10 * 3_600_000);
  const runner = new CronRunner({
    store,
    clock,
    ids: seededIds(),
    log: createLogger("silent"),
    replica,
    naming: STANDARD_NAMING,
    async run(namespace, name, { dueMs, missed }) {
      if (fail()) throw new Error("trouble");
      if (skips()) return;
      ran.push(`${replica} ${name} ${timeOf(dueMs)}${missed ? "?" : ""}`);
      const lastScheduledTime = new Date(dueMs).toISOString();
      await put(name, { lastScheduledTime }, namespace);
    },
    reconcile(_, name) {
      if (failsToReconcile()) return Promise.reject(new Error("trouble"));
      reconciled.push(`${replica} ${name}`);
      return Promise.resolve();
    },
  });
  runner.start();
  runners.push(runner);
  await clock.advance(0);
  return runner;
}

const specs = new Map<string, Partial<CronWorkflow["spec"]>>();

async function put(
  name: string,
  status: Partial<CronWorkflowStatus> = {},
  namespace = "ns",
): Promise<void> {
  const cron = {
    metadata: {
      name,
      namespace,
      uid: name,
      creationTimestamp: new Date(START).toISOString(),
    },
    spec: { schedules: ["* * * * *"], workflowSpec: {}, ...specs.get(name) },
    status,
  };
  const text = JSON.stringify(cron);
  await store.manifests.put({ kind: "CronWorkflow", namespace, name, text, labels: {} }, "*");
}

async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await clock.advance(0);
}

describe("CronRunner", () => {
  test("runs each due time once, however many replicas there are", async () => {
    for (const replica of ["a", "b", "c"]) await start(replica);
    for (let i = 0; i < 20; i++) await put(`c${i}`);
    await pass(3 * 60_000);
    const times = ran.map((one) => one.slice(2)).sort();
    const wanted = Array.from(
      { length: 20 },
      (_, i) => ["12:01:00", "12:02:00", "12:03:00"].map((time) => `c${i} ${time}`),
    ).flat().sort();
    expect(times).toEqual(wanted);
    expect(new Set(ran.map((one) => one.charAt(0))).size).toBe(3);
    const owners = new Set(ran.map((one) => one.slice(0, one.lastIndexOf(" "))));
    expect(owners.size).toBe(20);
  });

  test("others have their turn while many are run that are due at the same moment", async () => {
    // `fail` is asked by every run.
    let left = 30;
    let turns = 0;
    const turn = () =>
      void setTimeout(() => {
        turns++;
        if (left > 0) turn();
      }, 0);
    await start("a", () => {
      if (left-- === 30) turn();
      const end = performance.now() + 10;
      while (performance.now() < end);
      return false;
    });
    for (let i = 0; i < 30; i++) await put(`c${i}`);
    await pass(60_000);
    await expect.poll(() => ran, { timeout: 8_000 }).toHaveLength(30);
    expect(turns).toBeGreaterThan(8);
  });

  test("the loop is not blocked while thousands are found, nor while they come due", async () => {
    const count = 4_000;
    for (let i = 0; i < count; i++) await put(`c${i}`);
    const found = await watchLoop(async () => {
      await start("a");
      await expect.poll(() => reconciled, { timeout: 10_000 }).toHaveLength(count);
    });
    const due = await watchLoop(async () => {
      await pass(30_000);
      // The runner may have been at work when the time passed, and rest for no time only afterwards.
      const ranByNow = () => clock.advance(0).then(() => ran);
      await expect.poll(ranByNow, { timeout: 10_000 }).toHaveLength(count);
    });
    expect(new Set(ran).size).toBe(count);
    expect(found.blockMs).toBeLessThan(150);
    expect(due.blockMs).toBeLessThan(150);
  }, 40_000);

  test("an interval counts from the creation of the cron workflow", async () => {
    specs.set("every", { schedules: ["@every 90s"] });
    await start("a");
    await put("every");
    await pass(300_000);
    expect(ran.map((one) => one.slice(-8))).toEqual(["12:02:00", "12:03:30", "12:05:00"]);
  });

  test("a replica that comes after a death bridges the gap without repeating", async () => {
    await put("c");
    const first = await start("a");
    await pass(60_000);
    await Promise.all([first.stop(), clock.advance(1)]);
    await store.membership.leave("a");
    await pass(2 * 60_000 - 20_000);
    expect(ran).toEqual(["a c 12:01:00"]);
    await start("b");
    await pass(50_000);
    // 12:02 is long past and no deadline says that it counts; 12:03 was reached five seconds ago.
    expect(ran).toEqual(["a c 12:01:00", "b c 12:03:00", "b c 12:04:00"]);
  });

  test("the last missed time runs within startingDeadlineSeconds", async () => {
    specs.set("m", { startingDeadlineSeconds: 200 });
    await put("m", { lastScheduledTime: new Date(START - 600_000).toISOString() });
    await pass(60_000);
    await start("a");
    await pass(10);
    expect(ran).toEqual(["a m 12:01:00?"]);
  });

  test.each([
    ["within startingDeadlineSeconds", 100, ["a c 12:02:00"]],
    ["but not later", 20, []],
  ])(
    "a time without a run is looked at again when a run has ended, %s",
    async (_, seconds, made) => {
      specs.set("c", { startingDeadlineSeconds: seconds });
      let isBusy = true;
      await start("a", () => false, () => isBusy);
      const lastScheduledTime = new Date(START + 30_000).toISOString();
      await pass(40_000);
      await put("c", { lastScheduledTime, active: [{ uid: "1" }] });
      await pass(85_000);
      isBusy = false;
      await put("c", { lastScheduledTime, active: [{ uid: "1" }], succeeded: 1 });
      await pass(10);
      expect(ran).toEqual([]);
      await put("c", { lastScheduledTime, active: null });
      await pass(10);
      expect(ran.map((one) => one.replace("?", ""))).toEqual(made);
      specs.clear();
    },
  );

  test("who becomes its owner makes up for what came due while nobody could run it", async () => {
    specs.set("c", { schedules: ["0 * * * *"], startingDeadlineSeconds: 600 });
    const lastScheduledTime = new Date(Date.UTC(2030, 0, 1, 12)).toISOString();
    await put("c", { lastScheduledTime });
    // Whichever of the two owns it, the other one hears that it is gone a minute after the due time.
    const names = ["a", "b"];
    let isDown = false;
    const list = store.membership.replicas.bind(store.membership);
    store.membership.replicas = () => isDown ? Promise.reject(new Error("store is down")) : list();
    for (const name of names) await start(name, () => isDown);
    await pass(59 * 60_000);
    isDown = true;
    await pass(90_000);
    isDown = false;
    const [owner = ""] = reconciled.at(-1)?.split(" ") ?? [];
    const at = names.indexOf(owner);
    // Its membership outlives it for a moment.
    const [gone] = runners.splice(at, 1);
    await Promise.all([gone?.stop(), clock.advance(1)]);
    await pass(4_000);
    await store.membership.leave(owner);
    await pass(4_000);
    expect(ran).toEqual([`${names[1 - at]} c 13:00:00?`]);
    specs.clear();
  });

  test.each([
    ["within startingDeadlineSeconds", 600, ["a c 13:00:00?"]],
    ["but not without", undefined, []],
  ])("what is refused for minutes runs when that is over, %s", async (_, seconds, made) => {
    specs.set("c", {
      schedules: ["0 * * * *"],
      ...(seconds !== undefined && { startingDeadlineSeconds: seconds }),
    });
    await put("c", { lastScheduledTime: new Date(Date.UTC(2030, 0, 1, 12)).toISOString() });
    let isRefused = true;
    await start("a", () => isRefused);
    await pass(59.5 * 60_000 + 5 * 60_000);
    expect(ran).toEqual([]);
    isRefused = false;
    await pass(30_000);
    expect(ran).toEqual(made);
    specs.clear();
  });

  test("its workflows are looked at when that was refused for minutes", async () => {
    let isRefused = true;
    await put("c");
    await start("a", undefined, undefined, () => isRefused);
    await pass(5 * 60_000);
    expect(reconciled).toEqual([]);
    isRefused = false;
    await pass(20_000);
    expect(reconciled).toEqual(["a c"]);
  });

  test("what came due often while it was refused does not all run afterwards", async () => {
    specs.set("c", { schedules: ["@every 2s"] });
    await put("c");
    let isRefused = true;
    await start("a", () => isRefused);
    await pass(10 * 60_000);
    isRefused = false;
    await pass(20_000);
    // The ten of the last seconds, and those that were reached just before.
    expect(ran.length).toBeGreaterThanOrEqual(10);
    expect(ran.length).toBeLessThanOrEqual(20);
    specs.clear();
  });

  test("a changed schedule counts from the change; a removed one never runs", async () => {
    specs.set("c", { schedules: ["0 0 * * *"] });
    await start("a");
    await put("c");
    await put("gone");
    await pass(40_000);
    specs.set("c", { schedules: ["*/2 * * * *"] });
    await put("c");
    await store.manifests.remove("CronWorkflow", "ns", "gone");
    ran = [];
    await pass(120_000);
    expect(ran).toEqual(["a c 12:02:00"]);
    specs.clear();
  });

  test("trouble makes it try again", async () => {
    let troubles = 2;
    await start("a", () => troubles-- > 0);
    await put("c");
    await pass(40_000);
    expect(ran).toEqual(["a c 12:01:00"]);
    expect(reconciled).toContain("a c");
  });
});

test("thousands of cron workflows are read a little at a time", async () => {
  for (let at = 0; at < 1_200; at++) await put(`c${at}`);
  const sizes: number[] = [];
  const { list } = store.manifests;
  store.manifests.list = async (...query) => {
    const page = await list.apply(store.manifests, query);
    sizes.push(page.items.length);
    return page;
  };
  await start("a");
  await expect.poll(async () => {
    await clock.advance(100);
    return new Set(reconciled).size;
  }).toBe(1_200);
  expect(sizes.slice(0, 3)).toEqual([500, 500, 200]);
});
