import { expect, test } from "vitest";
import { blankNode } from "../../engine/records.ts";
import type { CallbackRequest } from "../../events/match.ts";
import type { Change, IndexEntry } from "../../store/port.ts";
import { CallbackLookout } from "./callback_lookout.ts";

const NOW = 1_000_000;

function textOf(request: Partial<CallbackRequest>, more: object = {}): string {
  const whole = { action: "resume", nodeFieldSelector: "displayName=w", ...request };
  return JSON.stringify({
    ...{ event: "e", binding: "b", request: whole, sender: {}, expiresAt: NOW + 60_000 },
    ...more,
  });
}

/** A lookout that knows these, none of which is due. */
function knowing(callbacks: Record<string, string>): CallbackLookout {
  const lookout = new CallbackLookout((event) => event !== "foreign");
  for (const [name, text] of Object.entries(callbacks)) lookout.add("n", name, text);
  lookout.takeDue(0, NOW);
  return lookout;
}

function change(id: string, displayName?: string, labels: Record<string, string> = {}): Change {
  const node = blankNode(
    "x",
    `w.${displayName}`,
    displayName ?? "",
    "member",
    "Suspend",
    "Running",
  );
  const put: Record<string, string> = displayName === undefined
    ? { h: "{}" }
    : { "n:x": JSON.stringify(node) };
  const index = { labels } as IndexEntry;
  return { type: "MODIFIED", id, version: "1", put, drop: [], index };
}

const dueOf = (lookout: CallbackLookout, time = 1, now = NOW) =>
  lookout.takeDue(time, now).map(({ name }) => name);

test("those are due whose workflow and step begin to wait", () => {
  const lookout = knowing({
    a: textOf({ workflow: "wf" }),
    b: textOf({ workflow: "wf", nodeFieldSelector: "displayName=other" }),
    c: textOf({ workflow: "wf2" }),
    d: textOf({ labelSelector: "job=7" }),
    e: textOf({ labelSelector: "job=8" }),
  });
  expect(lookout.note(change("wf/n/wf", "w", { job: "7" }))).toBe(true);
  expect(dueOf(lookout)).toEqual(["a", "d"]);
  expect(dueOf(lookout)).toEqual([]);
  for (const other of ["wf/n/wf", "wf/m/wf", "wf/n/stranger"]) {
    const isOfOthers = other !== "wf/n/wf";
    expect(lookout.note(change(other, isOfOthers ? "w" : undefined))).toBe(false);
  }
  expect(lookout.note({ ...change("wf/n/wf2"), put: {}, mustLoad: true })).toBe(true);
  expect(dueOf(lookout)).toEqual(["c"]);
});

test("one that is stored is due at once, and one that is removed no more", () => {
  const lookout = knowing({});
  const put = { m: textOf({ workflow: "wf" }) };
  const added: Change = { ...change("WaitingCallback/n/a"), type: "ADDED", put };
  expect(lookout.note(added)).toBe(true);
  expect(dueOf(lookout)).toEqual(["a"]);
  expect(lookout.note({ ...added, type: "DELETED", put: {} })).toBe(false);
  expect(lookout.note(change("wf/n/wf", "w"))).toBe(false);
  expect(lookout.keys()).toEqual(new Set());
});

test("those of other replicas are left to them", () => {
  const lookout = knowing({ a: textOf({ workflow: "wf" }, { event: "foreign" }) });
  expect(lookout.note(change("wf/n/wf", "w"))).toBe(false);
});

test("one whose selector can't be read is due with every step, and one that can't be read is told", () => {
  const lookout = knowing({ a: textOf({ workflow: "wf", nodeFieldSelector: "((" }) });
  lookout.note(change("wf/n/wf", "other"));
  expect(dueOf(lookout)).toEqual(["a"]);
  expect(lookout.add("n", "b", "{")).toBe(false);
});

test("those that are to be tried again, and those whose time is over, are due every two seconds", () => {
  const lookout = knowing({ a: textOf({ workflow: "wf" }), b: textOf({ workflow: "wf2" }) });
  lookout.note(change("wf/n/wf", "w"));
  const [known] = lookout.takeDue(1, NOW);
  if (known !== undefined) lookout.tryAgain(known);
  expect(dueOf(lookout, 1_999)).toEqual([]);
  expect(dueOf(lookout, 2_000)).toEqual(["a"]);
  expect(dueOf(lookout, 4_000)).toEqual([]);
  expect(dueOf(lookout, 6_000, NOW + 60_000)).toEqual(["a", "b"]);
});
