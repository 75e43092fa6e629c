import { expect, test } from "vitest";
import { planContainers } from "./container_plan.ts";

test.each([
  ["a sidecar named like the main container", { sidecars: [{ name: "main" }] }, "main"],
  [
    "an init container and a sidecar",
    { initContainers: [{ name: "s" }], sidecars: [{ name: "s" }] },
    "s",
  ],
])("planContainers() refuses one name for two containers: %s", (_title, more, name) => {
  expect(() => planContainers({ name: "m", container: { image: "i" }, ...more }))
    .toThrow(`Two containers of template "m" have the name "${name}"`);
});

test.each([
  [[{ name: "a", dependencies: ["b"] }], "containers.a dependency 'b' not defined"],
  [
    [{ name: "a", dependencies: ["b"] }, { name: "b", dependencies: ["a"] }],
    "containers dependency cycle detected: b->a->b",
  ],
])("planContainers() refuses containers that would wait forever: %j", (containers, text) => {
  expect(() => planContainers({ containerSet: { containers } })).toThrow(text);
});
