import { describe, expect, test } from "vitest";
import { bytesText, findingsOf, rangesText, type System } from "./health.ts";

const replica = (name: string, shards: number[], about: object = {}, answeredAfterMs = 2) => ({
  name,
  answeredAfterMs,
  shards,
  actors: 1,
  tasks: 0,
  about: { version: "1", executor: "process", ...about },
});
const WELL: System = {
  version: "1",
  shards: 4,
  replicas: [replica("a", [0, 1]), replica("b", [2, 3])],
  store: { kind: "redis", durability: { asked: "always", promised: "always" }, answeredAfterMs: 1 },
  events: { queued: 0, capacity: 100 },
};
const found = (change: Partial<System>) =>
  findingsOf({ ...WELL, ...change }).map(({ kind, what }) => `${kind}: ${what}`);

describe("findingsOf()", () => {
  test("nothing, when all is well", () => expect(found({})).toEqual([]));

  test.each<[string, Partial<System>]>([
    ["trouble: No answer from b.", { replicas: [replica("a", [0, 1]), { name: "b" }] }],
    ["trouble: 2 shards have no owner.", { replicas: [replica("a", [0, 1])], shards: 4 }],
    ["trouble: No replica runs shards.", { replicas: [replica("a", []), replica("b", [])] }],
    [
      "trouble: Replicas run different versions: 1, 2.",
      { replicas: [replica("a", [0, 1]), replica("b", [2, 3], { version: "2" })] },
    ],
    [
      "trouble: b needed 900 ms to answer.",
      { replicas: [replica("a", [0, 1]), replica("b", [2, 3], {}, 900)] },
    ],
    [
      "trouble: b uses 95 % of its heap.",
      {
        replicas: [
          replica("a", [0, 1]),
          replica("b", [2, 3], { heapBytes: 95, heapLimitBytes: 100 }),
        ],
      },
    ],
    [
      "trouble: The store refuses writes: disk full.",
      { replicas: [replica("a", [0, 1], { writesRefused: "disk full" }), replica("b", [2, 3])] },
    ],
    ["trouble: The store does not answer: gone.", { store: { ...WELL.store, trouble: "gone" } }],
    [
      "trouble: The store promises less than --durability=always asks for (everysec).",
      { store: { ...WELL.store, durability: { asked: "always", promised: "everysec" } } },
    ],
    ["trouble: The queue of events is 80 % full.", { events: { queued: 80, capacity: 100 } }],
    [
      "note: No replica runs steps (--executor none).",
      {
        replicas: [
          replica("a", [0, 1], { executor: "none" }),
          replica("b", [2, 3], { executor: "none" }),
        ],
      },
    ],
    ["note: There is one replica.", { replicas: [replica("a", [0, 1, 2, 3])] }],
  ])("%s", (sentence, change) => expect(found(change)).toContain(sentence));

  test("shards of a silent replica do not count as abandoned", () => {
    expect(found({ replicas: [replica("a", [0, 1]), { name: "b" }] })).toHaveLength(1);
  });

  test("a durability that cannot be read is no trouble", () => {
    const durability = { asked: "always", promised: "unknown" };
    expect(found({ store: { ...WELL.store, durability } })).toEqual([]);
  });

  test("many silent replicas are not all named", () => {
    const names = ["a", "b", "c", "d", "e"];
    expect(found({ replicas: names.map((name) => ({ name })) })[0])
      .toBe("trouble: No answer from a, b, c … and 2 more.");
  });
});

test.each([[[], ""], [[3], "3"], [[4, 0, 1, 2, 7], "0–2, 4, 7"]])(
  "rangesText(%j) is %j",
  (numbers, text) => expect(rangesText(numbers)).toBe(text),
);

test.each([[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [734003200, "700 MiB"]])(
  "bytesText(%d) is %s",
  (bytes, text) => expect(bytesText(bytes)).toBe(text),
);
