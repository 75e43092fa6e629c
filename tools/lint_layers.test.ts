import { describe, expect, test } from "vitest";
import { globalFault, importFault, memberFault } from "./lint_layers.ts";

describe("importFault()", () => {
  test.each([
    ["/r/src/engine/step.ts", "../actors/host.ts", "engine must not import actors"],
    ["/r/src/engine/step.ts", "redis", "engine is pure"],
    ["/r/src/engine/step.ts", "node:fs", "engine is pure"],
    ["/r/src/store/redis_store.ts", "../service/workflows.ts", "store must not import service"],
    ["/r/src/base/json.ts", "../main.ts", "above every layer"],
    ["/r/src/base/json.ts", "../../test/support/x.ts", "src must not import from"],
    ["/r/src/other/a.ts", "../base/json.ts", "not in the layer table"],
  ])("%s importing %s is refused", (file, source, reason) => {
    expect(importFault(file, source)).toContain(reason);
  });

  test.each([
    ["/r/src/engine/step.ts", "../spec/manifest.ts"],
    ["/r/src/engine/step.ts", "./state.ts"],
    ["/r/src/expr/regex.ts", "re2js"],
    ["/r/src/store/redis_store.ts", "redis"],
    ["/r/src/engine/step.test.ts", "vitest"],
    ["/r/src/main.ts", "./actors/host.ts"],
  ])("%s may import %s", (file, source) => {
    expect(importFault(file, source)).toBeUndefined();
  });
});

test("globals and clocks are refused in pure folders only", () => {
  expect(globalFault("/r/src/engine/a.ts", "fetch")).toContain("pure");
  expect(globalFault("/r/src/store/a.ts", "fetch")).toBeUndefined();
  expect(memberFault("/r/src/expr/a.ts", "Date", "now")).toContain("pure");
  expect(memberFault("/r/src/expr/a.ts", "Math", "max")).toBeUndefined();
});
