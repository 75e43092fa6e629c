import { expect, test } from "vitest";
import { watchLoop } from "../../../test/fuzz/loop_watch.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { type Pod, podReader } from "./pods.ts";

test("hundreds of readers of many lines don't block the loop together", async () => {
  const logs = {
    async *logs() {
      for (let at = 0; at < 3_000; at++) yield { at, text: `line ${at}` };
    },
  };
  const deps = { logs } as unknown as ServiceDeps;
  const { signal } = new AbortController();
  const read = podReader(deps, {} as Workflow, { follow: false, signal });
  const pod: Pod = { id: "u/p/1", podName: "p", namespace: "a", isOver: true, archived: undefined };
  const count = async () => {
    let lines = 0;
    for await (const _ of read(pod)) lines++;
    return lines;
  };
  const { result, blockMs } = await watchLoop(() =>
    Promise.all(Array.from({ length: 300 }, count))
  );
  expect(result).toEqual({ status: "fulfilled", value: Array(300).fill(3_000) });
  expect(blockMs).toBeLessThan(150);
});
