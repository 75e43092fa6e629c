import { expect, test } from "vitest";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { systemClock } from "../../platform/clock.ts";
import type { ServiceDeps } from "../deps.ts";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { LogFollower } from "./follower.ts";
import type { Pod } from "./pods.ts";

test("for a client that does not read, little is read ahead, however long the lines are", async () => {
  let read = 0;
  const stop = new AbortController();
  const deps = { watches: { async *follow() {} }, log: { warn() {} } } as unknown as ServiceDeps;
  const follower = new LogFollower(deps, {
    workflow: { namespace: "a", name: "w" },
    after: "1",
    laterPods: () => Promise.resolve([]),
    look: () => Promise.resolve(undefined),
    async *read() {
      for (; read < 200; read++) yield { at: 0, text: "x".repeat(1_000_000) };
    },
    async *readPast() {},
    signal: stop.signal,
  });
  const pod: Pod = { id: "p", podName: "p", namespace: "a", isOver: false, archived: undefined };
  const lines = follower.lines([pod])[Symbol.asyncIterator]();
  await lines.next();
  await new Promise((done) => setTimeout(done, 20));
  expect(read).toBeLessThan(5);
  let got = 1;
  while ((await lines.next()).done !== true) got++;
  expect(got).toBe(200);
  stop.abort();
});

test("what was written before comes in the order of time: first what is over, then what runs", async () => {
  const written: Record<string, number[]> = {
    over: [1, 5],
    broken: [],
    left: [2, 7],
    right: [3, 6],
  };
  const warned: string[] = [];
  const deps = {
    watches: { async *follow() {} },
    clock: systemClock,
    log: { warn: ({ pod }: { pod: string }) => warned.push(pod) },
  } as unknown as ServiceDeps;
  const read = async function* ({ id }: Pod) {
    if (id === "broken") throw new Error("gone");
    for (const at of written[id] ?? []) yield { at, text: `${id} ${at}` };
  };
  const follower = new LogFollower(deps, {
    workflow: { namespace: "a", name: "w" },
    after: "1",
    laterPods: () => Promise.resolve([]),
    look: () => Promise.resolve(undefined),
    read,
    readPast: read,
    signal: new AbortController().signal,
  });
  const pods = ["left", "broken", "right", "over"].map((id): Pod => ({
    id,
    podName: id,
    namespace: "a",
    isOver: id === "over" || id === "broken",
    archived: undefined,
  }));
  const got: string[] = [];
  for await (const { line } of follower.lines(pods)) got.push(line.text);
  expect(got).toEqual(["over 1", "over 5", "left 2", "right 3", "right 6", "left 7"]);
  expect(warned).toEqual(["broken"]);
});

test("a pod that began while changes could not be followed is read, too", async () => {
  const clock = new ManualClock();
  const after: string[] = [];
  const running = { metadata: {}, status: { finishedAt: null } } as unknown as Workflow;
  const deps = {
    clock,
    log: { warn() {} },
    watches: {
      async *follow(version: string) {
        after.push(version);
        if (version === "1") throw new Error("the watch was read too slowly");
        yield [{ type: "DELETED", workflow: running }];
      },
    },
  } as unknown as ServiceDeps;
  const podOf = (id: string): Pod => ({
    id,
    podName: id,
    namespace: "a",
    isOver: false,
    archived: undefined,
  });
  const read = async function* ({ id }: Pod) {
    yield { at: 0, text: `of ${id}` };
  };
  const follower = new LogFollower(deps, {
    workflow: { namespace: "a", name: "w" },
    after: "1",
    laterPods: () => Promise.resolve([podOf("p"), podOf("q")]),
    look: () => Promise.resolve({ workflow: running, after: "2" }),
    read,
    readPast: read,
    signal: new AbortController().signal,
  });
  const lines = follower.lines([podOf("p")])[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value?.line.text;
  expect(await next()).toBe("of p");
  const later = next();
  await clock.advance(1_000);
  expect(await later).toBe("of q");
  expect(await next()).toBeUndefined();
  expect(after).toEqual(["1", "2"]);
});

/** What a follower shows of a pod whose log breaks off after each of these lists of lines, each time read from the start. */
async function followed(reads: (readonly number[] | Error)[]): Promise<string[]> {
  const clock = new ManualClock();
  const warned: string[] = [];
  const deps = {
    watches: { async *follow() {} },
    clock,
    log: { warn: ({ err }: { err: Error }) => warned.push(`warned: ${err.message}`) },
  } as unknown as ServiceDeps;
  let at = 0;
  const follower = new LogFollower(deps, {
    workflow: { namespace: "a", name: "w" },
    after: "1",
    laterPods: () => Promise.resolve([]),
    look: () => Promise.resolve(undefined),
    async *read() {
      const lines = reads[at++] ?? [];
      if (lines instanceof Error) throw lines;
      for (const [index, time] of lines.entries()) yield { at: time, text: `${time}/${index}` };
      if (at < reads.length) throw new Problem(ProblemCode.Unavailable, "the node is away");
    },
    async *readPast() {},
    signal: new AbortController().signal,
  });
  const pod: Pod = { id: "p", podName: "p", namespace: "a", isOver: false, archived: undefined };
  const got: string[] = [];
  const lines = (async () => {
    for await (const { line } of follower.lines([pod])) got.push(line.text);
  })();
  for (let turn = 0; turn < 20; turn++) await clock.advance(30_000);
  await lines;
  return [...got, ...warned];
}

test("a log that breaks off is read again from where it was", async () => {
  expect(await followed([[1, 2, 2], [1, 2, 2, 2, 5], [1, 2, 2, 2, 5, 6]])).toEqual([
    ...["1/0", "2/1", "2/2", "2/3", "5/4", "6/5"],
    ...["warned: the node is away", "warned: the node is away"],
  ]);
});

test("it is not read again when it is refused, nor for ever", async () => {
  const refusal = new Problem(ProblemCode.PermissionDenied, "no right");
  expect(await followed([[1], refusal, [1, 2]])).toEqual([
    "1/0",
    "warned: the node is away",
  ]);
  const away = new Problem(ProblemCode.Unavailable, "away");
  expect(await followed([...Array(50).fill(away), [1]])).toEqual(["warned: away"]);
});
