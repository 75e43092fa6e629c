import { expect, test } from "vitest";
import { isToBeDeleted } from "./deletions.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import { WORKFLOW } from "./kinds.ts";

const at = { settings: { naming: STANDARD_NAMING } };
const found = { uid: "u", resourceVersion: "7" };
const asked = (request: Parameters<typeof isToBeDeleted>[3]) =>
  isToBeDeleted(at, WORKFLOW, "w", request, found);

test("an object that was found is deleted, unless it is a dry run", () => {
  expect(asked({})).toBe(true);
  expect(asked({ uid: "u", resourceVersion: "7", propagationPolicy: "Orphan" })).toBe(true);
  expect(asked({ orphanDependents: false })).toBe(true);
  expect(asked({ dryRun: ["All"] })).toBe(false);
});

test("another object than the one that is meant is not deleted", () => {
  for (const request of [{ uid: "v" }, { resourceVersion: "8" }, { uid: "v", dryRun: ["All"] }]) {
    expect(() => asked(request)).toThrow(expect.objectContaining({ status: 409 }));
  }
});

test.each([
  [
    { propagationPolicy: "background" },
    'propagationPolicy: Unsupported value: "background": supported values: "Foreground", "Background", "Orphan", "nil"',
  ],
  [
    { dryRun: ["All", "X"] },
    'dryRun: Unsupported value: []string{"All", "X"}: supported values: "All"',
  ],
  [
    { propagationPolicy: "Orphan", orphanDependents: true, dryRun: [""] },
    '[propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set, ' +
    'dryRun: Unsupported value: []string{""}: supported values: "All"]',
  ],
])("a deletion with %j is refused", (request, text) => {
  expect(() => asked(request)).toThrow(
    expect.objectContaining({
      status: 400,
      message: `DeleteOptions.meta.k8s.io "" is invalid: ${text}`,
    }),
  );
});
