import { expect, test } from "vitest";
import type { LogLine } from "../../executors/port.ts";
import { mergeByTime } from "./merge.ts";
import type { Pod, PodLine } from "./pods.ts";

const pod = (id: string): Pod => ({
  id,
  podName: id,
  namespace: "n",
  isOver: true,
  archived: undefined,
});

/** Pods whose lines have these times, and those whose lines nobody reads any more. */
function sourcesOf(times: Record<string, number[]>, broken = "") {
  const ended: string[] = [];
  const pods = Object.keys(times).map(pod);
  async function* read({ id }: Pod): AsyncIterable<LogLine> {
    try {
      for (const at of times[id] ?? []) yield { at, text: id };
      if (id === broken) throw new Error("connection lost");
    } finally {
      ended.push(id);
    }
  }
  return { pods, read, ended };
}

const shown = ({ line }: PodLine) => `${line.text}${line.at}`;

test("lines come in the order of time; of the same time, those of earlier pods first", async () => {
  const { pods, read, ended } = sourcesOf({ a: [1, 5, 6], b: [], c: [1, 2, 9], d: [0, 5] });
  const lines = await Array.fromAsync(mergeByTime(pods, read));
  expect(lines.map(shown)).toEqual(["d0", "a1", "c1", "c2", "a5", "d5", "a6", "c9"]);
  expect(ended.sort()).toEqual(["a", "b", "c", "d"]);
});

test("whoever reads no further leaves no pod open", async () => {
  const { pods, read, ended } = sourcesOf({ a: [1, 3], b: [2, 4] });
  for await (const line of mergeByTime(pods, read)) {
    expect(shown(line)).toBe("a1");
    break;
  }
  expect(ended.sort()).toEqual(["a", "b"]);
});

test("a pod whose lines break off leaves no other open", async () => {
  const { pods, read, ended } = sourcesOf({ a: [1], b: [2, 4], c: [3] }, "a");
  await expect(Array.fromAsync(mergeByTime(pods, read))).rejects.toThrow("connection lost");
  expect(ended.sort()).toEqual(["a", "b", "c"]);
});
