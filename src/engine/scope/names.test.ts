import { expect, test } from "vitest";
import { displayNameOf, hookName, loopName, nodeId, podName } from "./names.ts";

test.each([
  ["wf", "wf"],
  ["wf[0]", "wf-511703626"],
  ["wf[0].a", "wf-3986212215"],
  ["wf[1]", "wf-444446055"],
  ["wf.A", "wf-3498999265"],
  ["wf.onExit", "wf-403321795"],
  ["wf[1].loop(0:one)", "wf-2695739054"],
  ["wf[1].loop(2:[1 two])", "wf-2735329947"],
])("nodeId() of %s", (name, id) => expect(nodeId("wf", name)).toBe(id));

test.each([
  ["wf[0]", "wf", "[0]"],
  ["wf[0].a", "wf", "a"],
  ["wf.task", "wf", "task"],
  ["wf[0].a(1:x)", "wf", "a(1:x)"],
  ["wf[0].a.onExit", "wf", "a.onExit"],
  ["wf.onExit", undefined, "wf.onExit"],
])("displayNameOf() %s inside %s", (name, boundary, shown) => {
  expect(displayNameOf(name, boundary)).toBe(shown);
});

test.each([
  ["one", "b(0:one)"],
  [3, "b(0:3)"],
  [true, "b(0:true)"],
  [{ z: 1, k: "v" }, "b(0:k:v,z:1)"],
  [{ os: 2, "os-x": 1, os2: null }, "b(0:os-x:1,os2:null,os:2)"],
  [[1, "two"], "b(0:[1 two])"],
  ["a(b)c", "b(0:abc)"],
  [null, "b(0:[])"],
  ['say "a"', 'b(0:say \\"a\\")'],
  [{ k: "a\nb", m: { z: "\\", a: 1 } }, 'b(0:k:a\\nb,m:{"z":"\\\\","a":1})'],
  [["a\tb"], "b(0:[a\\tb])"],
])("loopName() of %j", (item, name) => expect(loopName("b", 0, item)).toBe(name));

test("podName() puts the template between workflow and hash", () => {
  const node = (name: string, id = nodeId("wf", name)) => ({ id, name });
  expect(podName("wf", node("wf"), "main")).toBe("wf");
  expect(podName("wf", node("wf[0]"), "work")).toBe("wf-work-511703626");
  expect(podName("wf", node("wf[0]"), undefined)).toBe("wf-511703626");
  // Two names with one hash have different ids. What was imported may have an id of any form.
  expect(podName("wf", node("wf[0]", "wf-7"), "work")).toBe("wf-work-7");
  expect(podName("wf", node("wf[0]", "first"), "work")).toBe("wf-work-511703626");
});

test("hookName() knows the exit handler", () => {
  expect(hookName("wf[0].a", "exit")).toBe("wf[0].a.onExit");
  expect(hookName("wf[0].a", "running")).toBe("wf[0].a.hooks.running");
});
