import { expect, test } from "vitest";
import { fileFault, functionFault } from "./lint_size.ts";

test("what is too long is refused, with the bound", () => {
  expect(fileFault("/r/src/engine/advance.ts", 401)).toContain("at most 400");
  expect(functionFault("/r/src/engine/advance.ts", 61)).toContain("at most 60");
});

test("what is within the bound, no part of the product or a table is left alone", () => {
  expect(fileFault("/r/src/engine/advance.ts", 400)).toBeUndefined();
  expect(functionFault("/r/src/engine/advance.ts", 60)).toBeUndefined();
  expect(fileFault("/r/src/engine/advance.test.ts", 1_000)).toBeUndefined();
  expect(fileFault("/r/tools/check.ts", 1_000)).toBeUndefined();
  expect(fileFault("/r/src/spec/manifest.ts", 1_000)).toBeUndefined();
});
