import { expect, test } from "vitest";
import { readResourceFlags } from "./resource_flags.ts";

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
  });
  expect(readResourceFlags(["--dry-run=server", "--type", "merge", "--now"])).toEqual({
    query: { dryRun: "All" },
    deletion: { gracePeriodSeconds: 1 },
    ignoreNotFound: false,
    patchType: "merge",
  });
});

test.each([
  [["--selector=app=x"], /flag "--selector=app=x" of a resource template is not supported/],
  [["pods"], /flag "pods"/],
  [["--cascade=maybe"], /takes true, background, foreground, false, orphan, not maybe/],
  [["--grace-period=soon"], /takes a number of seconds/],
])("%j is refused", (flags, text) => {
  expect(() => readResourceFlags(flags)).toThrow(text);
});
