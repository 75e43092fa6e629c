import { expect, test } from "vitest";
import { readResourceFlags } from "./flags.ts";

test("flags become parts of calls", () => {
  expect(readResourceFlags([
    "--validate=false",
    "--field-manager",
    "me",
    "--cascade=foreground",
    "--grace-period=5",
    "--ignore-not-found",
    "--server-side",
  ])).toEqual({
    query: { fieldValidation: "Ignore", fieldManager: "me" },
    deletion: { propagationPolicy: "Foreground", gracePeriodSeconds: 5 },
    ignoreNotFound: true,
    isAwaited: true,
  });
  expect(readResourceFlags(["--dry-run=server", "--type", "merge", "--now"])).toEqual({
    query: { dryRun: "All" },
    deletion: { gracePeriodSeconds: 1 },
    isAwaited: false,
    patchType: "merge",
  });
});

test("words name the object that is meant", () => {
  const none = { query: {}, deletion: {}, isAwaited: true };
  expect(readResourceFlags(["deployment", "web", "-n", "other"])).toEqual({
    ...none,
    target: { kind: "deployment", name: "web" },
    namespace: "other",
  });
  expect(readResourceFlags(["--ignore-not-found", "pod/x"])).toEqual({
    ...none,
    ignoreNotFound: true,
    target: { kind: "pod", name: "x" },
  });
  expect(readResourceFlags(["configmap", "--selector=app=x"])).toEqual({
    ...none,
    target: { kind: "configmap", name: "" },
    selector: "app=x",
  });
});

test.each([
  [["--watch"], /flag "--watch" of a resource template is not supported/],
  [["pods", "a", "b"], /name one object, not pods a b/],
  [["--cascade=maybe"], /takes true, background, foreground, false, orphan, not maybe/],
  [["--grace-period=soon"], /takes a number of seconds/],
])("%j is refused", (flags, text) => {
  expect(() => readResourceFlags(flags)).toThrow(text);
});
