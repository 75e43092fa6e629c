import process from "node:process";
import { expect, test } from "vitest";
import { observeWork, workingOn } from "../../base/work.ts";
import { createMetrics } from "../metrics.ts";
import { systemClock } from "../clock.ts";
import { Watchdog } from "./watchdog.ts";

/** A watchdog whose timer comes when the test says so. */
function watched({ cpuShare = 1 } = {}) {
  let now = 0;
  let look = () => {};
  const told: Record<string, unknown>[] = [];
  const metrics = createMetrics();
  const dog = new Watchdog({
    clock: { monotonic: () => now, after: (_ms, run) => (look = run, () => {}) },
    log: { warn: (facts: object) => void told.push(facts as Record<string, unknown>) },
    metrics,
    cpuMs: () => now * cpuShare,
  });
  dog.start(new AbortController().signal);
  return {
    told,
    metrics,
    note: dog.note,
    pass: (ms: number) => void (now += ms),
    /** The timer's turn comes, `ms` after the last thing that happened. */
    turn: (ms = 200) => {
      now += ms;
      look();
    },
  };
}

test("a block is told with the work that took longest, and counted", () => {
  const { told, metrics, note, pass, turn } = watched();
  note("request", "r1");
  pass(300);
  note("workflow", "wf/a/x");
  note("expression", "1 + 1");
  pass(2_000);
  note("workflow", "wf/a/y");
  turn(10);
  expect(told).toEqual([{
    blockedMs: 2_110,
    cpuMs: 2_310,
    workflow: "wf/a/x",
    expression: "1 + 1",
    pieceMs: 2_000,
  }]);
  expect(metrics.render()).toContain('sluice_event_loop_blocked_total{by="workflow"} 1');
  expect(metrics.render()).toContain("sluice_event_loop_delay_seconds_count 1");
});

test("what was noted before others had their turn is not blamed", () => {
  const { told, note, turn } = watched();
  note("request", "r1");
  turn();
  turn(5_000);
  expect(told).toMatchObject([{ blockedMs: 4_800, pieceMs: 5_000 }]);
  expect(told[0]).not.toHaveProperty("requestId");
});

test("a quarter of a second is told too, but not each time, and is not counted", () => {
  const { told, metrics, note, turn } = watched();
  note("request", "r1");
  turn(400);
  expect(told).toEqual([]);
  for (const name of ["r2", "r3", "r4"]) {
    note("request", name);
    turn(1_000);
  }
  expect(told).toMatchObject([{ requestId: "r2", blockedMs: 800 }]);
  note("request", "r5");
  turn(1_200);
  expect(told).toMatchObject([{ requestId: "r2" }, { requestId: "r5" }]);
  expect(metrics.render()).toContain('sluice_event_loop_blocked_total{by="request"} 1');
});

test("a short block is not told when the processor was elsewhere", () => {
  const { told, note, turn } = watched({ cpuShare: 0.5 });
  note("request", "r1");
  turn(1_000);
  expect(told).toEqual([]);
  note("request", "r2");
  turn(1_300);
  expect(told).toMatchObject([{ requestId: "r2" }]);
});

test("noting a piece of work costs next to nothing", () => {
  const metrics = createMetrics();
  const dog = new Watchdog({ clock: systemClock, log: { warn() {} }, metrics, cpuMs: () => 0 });
  const end = observeWork(dog.note);
  try {
    const before = process.cpuUsage();
    for (let i = 0; i < 200_000; i++) workingOn("workflow", "wf/a/x");
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 200_000, "µs each").toBeLessThan(2);
  } finally {
    end();
  }
});
