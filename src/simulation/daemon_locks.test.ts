/** Daemons that hold locks. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation } from "./simulation.ts";

test("a daemon that is not needed any more gives its lock back", () => {
  const simulation = new Simulation({});
  const spec = parse(`
entrypoint: main
onExit: work
templates:
  - name: main
    steps: [[{ name: d, template: daemon }]]
  - { name: daemon, daemon: true, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }
  - { name: work, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }`);
  simulation.submit(
    decodeManifest("Workflow", { kind: "Workflow", metadata: { name: "w" }, spec }),
  );
  for (let second = 0; second < 10; second++) {
    simulation.settle();
    simulation.tick();
  }
  expect(simulation.view("w").status?.phase).toBe("Succeeded");
});
