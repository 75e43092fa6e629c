import { expect, test } from "vitest";
import type { ServiceDeps } from "../deps.ts";
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
    async *read() {
      for (; read < 200; read++) yield { at: 0, text: "x".repeat(1_000_000) };
    },
    signal: stop.signal,
  });
  const pod: Pod = { id: "p", podName: "p", namespace: "a", archived: undefined };
  const lines = follower.lines([pod])[Symbol.asyncIterator]();
  await lines.next();
  await new Promise((done) => setTimeout(done, 20));
  expect(read).toBeLessThan(5);
  let got = 1;
  while ((await lines.next()).done !== true) got++;
  expect(got).toBe(200);
  stop.abort();
});
