import { expect, test } from "vitest";
import type { Change } from "../../port.ts";
import { withEarlierTexts } from "./earlier_texts.ts";
import type { FeedEntry } from "./entry.ts";

function entry(version: number, more: Partial<Change>, lacksTexts = true): FeedEntry {
  const change: Change = {
    type: "MODIFIED",
    id: "wf/a/one",
    version: String(version),
    put: {},
    drop: [],
    ...more,
  };
  return { version, change, size: 1, lacksTexts };
}

const created = entry(1, { type: "ADDED", put: { h: "1", s: "s" } }, false);
const changed = entry(2, { put: { h: "2", n: "a" } });
const last = entry(3, { put: { h: "3" }, drop: ["n"] });

test("what a change replaced is in the changes before it", () => {
  expect(withEarlierTexts([created, changed], [last])?.map(({ before }) => before))
    .toEqual([{ h: "2", n: "a" }]);
  expect(withEarlierTexts([created], [changed, last])?.map(({ before }) => before))
    .toEqual([{ h: "1" }, { h: "2", n: "a" }]);
});

test("without the change that created the actor, a text may be unknown", () => {
  expect(withEarlierTexts([changed], [last])?.[0]?.before).toEqual({ h: "2", n: "a" });
  expect(withEarlierTexts([], [changed, last])).toBeUndefined();
  const full = entry(2, { put: { h: "2" }, before: { h: "1" } }, false);
  expect(withEarlierTexts([], [full])?.[0]?.before).toEqual({ h: "1" });
});

test("of an actor that was removed nothing is left", () => {
  const removed = entry(3, { type: "DELETED", before: { h: "2" } }, false);
  const again = entry(4, { type: "ADDED", put: { h: "4" } }, false);
  const next = entry(5, { put: { h: "5", s: "new" } });
  expect(withEarlierTexts([created, changed], [removed, again, next])?.[2]?.before)
    .toEqual({ h: "4" });
});
