/** A workflow of a test, run in the simulation. */
import { parse } from "yaml";
import { Simulation, type SimulationOptions } from "../../src/simulation/simulation.ts";
import { decodeManifest } from "../../src/spec/schema/decode_manifest.ts";

/** Submits a workflow `w` with this spec, in YAML, and lets so many seconds pass. */
export function simulateWorkflow(
  spec: string,
  seconds: number,
  options: SimulationOptions = {},
): Simulation {
  const simulation = new Simulation(options);
  const metadata = { name: "w" };
  simulation.submit(
    decodeManifest("Workflow", { kind: "Workflow", metadata, spec: parse(spec) }),
  );
  passTime(simulation, seconds);
  return simulation;
}

/** Does what is to be done, now and after each of so many seconds. */
export function passTime(simulation: Simulation, seconds: number): void {
  simulation.settle();
  for (let second = 0; second < seconds; second++) {
    simulation.tick();
    simulation.settle();
  }
}
