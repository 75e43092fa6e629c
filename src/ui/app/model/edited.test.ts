import { expect, test } from "vitest";
import { isSameShown, shownPart, type StoredObject, withKept } from "./edited.ts";

const SKIPPED = "cronworkflows.argoproj.io/skipped";
const STORED = {
  metadata: {
    name: "nightly",
    namespace: "default",
    uid: "u",
    resourceVersion: "7",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { team: "blue" },
    annotations: { note: "mine", [SKIPPED]: "[]" },
  },
  spec: { schedules: ["* * * * *"] },
  status: { succeeded: 3 },
};
const MET = { ...STORED.metadata, resourceVersion: "8", annotations: { note: "mine" } };

test("what is shown is what people write", () => {
  expect(shownPart(STORED)).toEqual({
    metadata: {
      name: "nightly",
      namespace: "default",
      labels: { team: "blue" },
      annotations: { note: "mine" },
    },
    spec: { schedules: ["* * * * *"] },
  });
  expect(shownPart({ metadata: { name: "a" }, spec: {} }).metadata).toEqual({ name: "a" });
});

test("what the server changes by itself is no other version for whoever writes", () => {
  expect(isSameShown(STORED, { ...STORED, metadata: MET })).toBe(true);
  expect(isSameShown(STORED, { ...STORED, spec: {} })).toBe(false);
});

test("an edited text is stored with what it did not show, and what it leaves out goes", () => {
  const edited = { metadata: { name: "nightly", annotations: { other: "x" } }, spec: { a: 1 } };
  expect(withKept(edited, STORED)).toEqual({
    metadata: {
      name: "nightly",
      namespace: "default",
      uid: "u",
      resourceVersion: "7",
      generation: 2,
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: { other: "x", [SKIPPED]: "[]" },
    },
    spec: { a: 1 },
    status: { succeeded: 3 },
  });
});

test("a whole manifest that somebody pastes has neither version nor status of its own", () => {
  const metadata = { name: "nightly", uid: "v", resourceVersion: "1" };
  const edited: StoredObject = { metadata, spec: {}, ...{ status: { succeeded: 0 } } };
  const { metadata: { uid, resourceVersion }, status } = withKept(edited, STORED);
  expect({ uid, resourceVersion, status }).toEqual({
    uid: "u",
    resourceVersion: "7",
    status: { succeeded: 3 },
  });
});
