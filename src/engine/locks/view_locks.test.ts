import { expect, test } from "vitest";
import type { LockNote } from "../records.ts";
import { viewLocks } from "./view_locks.ts";

const MUTEX = { kind: "mutex", key: "ns/Mutex/m", limit: 1 } as const;

function view(lock: LockNote) {
  const state = { header: { metadata: { namespace: "ns", name: "wf" }, lock }, runtime: {} };
  return viewLocks(state as never);
}

test("what older programs noted about holders is shown too", () => {
  const wanted = { mutex: { waiting: [{ mutex: "ns/Mutex/m", holder: "ns/other" }] } };
  const note = { isHeld: false, keys: [MUTEX], waiting: MUTEX.key };
  expect(view({ ...note, holders: ["ns/other"] })).toEqual(wanted);
  expect(view({ ...note, holders: { [MUTEX.key]: ["ns/other"] } })).toEqual(wanted);
});

test("a request without an answer shows nothing", () => {
  expect(view({ isHeld: false, keys: [MUTEX] })).toBeUndefined();
});
