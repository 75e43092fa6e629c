/** What a workflow shows of its locks. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { passTime } from "../../test/support/simulated_workflow.ts";
import { Simulation } from "./simulation.ts";

const LEAF = "templates: [{ name: main, container: { image: x } }]";

/** Submits a workflow for each spec, `w0`, `w1` and so on. */
function submitAll(specs: string[]): Simulation {
  const simulation = new Simulation({ rules: [{ node: ".", after: 5 }] });
  simulation.addManifest(
    "ConfigMap",
    { metadata: { name: "cm" }, data: { none: "0", one: "1", two: "2" } } as never,
  );
  for (const [at, spec] of specs.entries()) {
    const manifest = {
      kind: "Workflow",
      metadata: { name: `w${at}` },
      spec: { entrypoint: "main", ...parse(spec) as object },
    };
    simulation.submit(decodeManifest("Workflow", manifest));
  }
  simulation.settle();
  return simulation;
}

test("a workflow that waits shows all its locks and who has them", () => {
  const simulation = submitAll([
    `${LEAF}\nsynchronization: { mutexes: [{ name: m1 }] }`,
    `${LEAF}\nsynchronization: { mutexes: [{ name: m2 }] }`,
    `${LEAF}
synchronization:
  mutexes: [{ name: m1 }, { name: m2 }, { name: m3 }]
  semaphores: [{ configMapKeyRef: { name: cm, key: two } }]`,
  ]);
  expect(simulation.view("w2").status?.synchronization).toEqual({
    semaphore: { waiting: [{ semaphore: "default/ConfigMap/cm/two" }] },
    mutex: {
      waiting: [
        { mutex: "default/Mutex/m1", holder: "default/w0" },
        { mutex: "default/Mutex/m2", holder: "default/w1" },
      ],
    },
  });
});

test("a step that waits shows which step has its lock now", () => {
  const simulation = submitAll([`
templates:
  - name: main
    steps: [[{ name: a, template: lock }, { name: b, template: lock }, { name: c, template: lock }]]
  - { name: lock, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }`]);
  passTime(simulation, 7);
  const { nodes = {}, synchronization } = simulation.view("w0").status ?? {};
  const second = Object.values(nodes).find(({ displayName }) => displayName === "b");
  const holder = `default/w0/${second?.id}`;
  expect(synchronization).toEqual({
    mutex: {
      holding: [{ mutex: "default/Mutex/m", holder }],
      waiting: [{ mutex: "default/Mutex/m", holder }],
    },
  });
});

test("a workflow that waits for its locks has the labels of its phase", () => {
  const locked = `${LEAF}\nsynchronization: { mutexes: [{ name: m }] }`;
  const simulation = submitAll([locked, locked]);
  const { metadata, status } = simulation.view("w1");
  expect(status?.phase).toBe("Pending");
  expect(metadata.labels).toEqual({
    "workflows.argoproj.io/phase": "Pending",
    "workflows.argoproj.io/completed": "false",
  });
});

test("a mutex without a name is an error, also when a tag has left nothing", () => {
  const { status } = submitAll([`${LEAF}\nsynchronization: { mutexes: [{ name: "" }] }`]).view(
    "w0",
  );
  expect(status?.phase).toBe("Failed");
  expect(status?.message).toContain("a mutex without a name");
});

test("a workflow that could not begin shows no condition about its pods", () => {
  const simulation = submitAll([
    `${LEAF}\nsynchronization: { mutexes: [{ name: m }, { name: m }] }`,
  ]);
  const { status } = simulation.view("w0");
  expect(status?.phase).toBe("Failed");
  expect(status?.message).toBe(
    "Failed to acquire the synchronization lock. " +
      "requested configuration is invalid: duplicate synchronization item found",
  );
  expect(status?.conditions).toEqual([{ type: "Completed", status: "True" }]);
});

test("a semaphore of size 0 makes steps and workflows wait until it is larger", () => {
  const none = "synchronization: { semaphores: [{ configMapKeyRef: { name: cm, key: none } }] }";
  const simulation = submitAll([
    `${LEAF}\n${none}`,
    `templates: [{ name: main, container: { image: x }, ${none} }]`,
  ]);
  const message = "Waiting for default/ConfigMap/cm/none lock. Lock status: 0/0";
  expect(simulation.view("w0").status).toMatchObject({ phase: "Pending", message });
  expect(simulation.view("w1").status?.nodes?.["w1"]).toMatchObject({ phase: "Pending", message });
});

test("a workflow whose synchronization names no lock runs its exit handler after a stop", () => {
  const exit = "onExit: exit";
  const templates = `
templates:
  - { name: main, steps: [[{ name: wait, template: wait }]] }
  - { name: wait, suspend: {} }
  - { name: exit, container: { image: x } }`;
  // The members of older versions are left out.
  const simulation = submitAll([
    `${exit}\nsynchronization: { mutex: { name: m } }${templates}`,
    `${exit}\nsynchronization: { mutexes: [] }${templates}`,
  ]);
  for (const name of ["w0", "w1"]) {
    simulation.control(name, { type: "stop" });
    passTime(simulation, 7);
    const { nodes = {}, message } = simulation.view(name).status ?? {};
    expect(message).toBe("Stopped with strategy 'Stop'");
    const ends = Object.values(nodes).map(({ displayName, phase, message }) => ({
      ...{ displayName, phase, message },
    }));
    expect(ends).toContainEqual({ displayName: "wait", phase: "Failed", message });
    expect(ends).toContainEqual({ displayName: `${name}.onExit`, phase: "Succeeded" });
  }
});

test("a semaphore without a place for its size is an error", () => {
  const { status } = submitAll([`${LEAF}\nsynchronization: { semaphores: [{}] }`]).view("w0");
  expect(status?.message).toContain("a Semaphore without a ConfigMapRef or Database");
});

test("a stop says of a pod that waits for a lock that it was never started", () => {
  const lock = "synchronization: { mutexes: [{ name: m }] }";
  const spec = `
templates:
  - { name: main, steps: [[{ name: a, template: work, withItems: [1, 2] }]] }
  - { name: work, container: { image: x }, ${lock} }`;
  const simulation = submitAll([spec]);
  simulation.control("w0", { type: "stop" });
  passTime(simulation, 2);
  const nodes = Object.values(simulation.view("w0").status?.nodes ?? {});
  const message = (name: string) => nodes.find((node) => node.name === name)?.message;
  // The reference writes two spaces only for a pod that it had started.
  expect(message("w0[0].a(0:1)")).toBe("workflow shutdown with strategy:  Stop");
  expect(message("w0[0].a(1:2)")).toBe("workflow shutdown with strategy: Stop");
});

test("a stop says of a pod whose lock another workflow has that it was stopped", () => {
  const lock = "synchronization: { mutexes: [{ name: m }] }";
  const holder = `templates: [{ name: main, container: { image: x }, ${lock} }]`;
  for (const shutdown of ["stop", "terminate"] as const) {
    const simulation = submitAll([
      holder,
      holder,
      `templates: [{ name: main, steps: [[{ name: a, template: b }]] }, { name: b, container: { image: x }, ${lock} }]`,
      `templates: [{ name: main, dag: { tasks: [{ name: a, template: b }] } }, { name: b, container: { image: x }, ${lock} }]`,
    ]);
    const message = `Stopped with strategy '${shutdown === "stop" ? "Stop" : "Terminate"}'`;
    for (const [name, waiting] of [["w1", "w1"], ["w2", "w2[0].a"], ["w3", "w3.a"]] as const) {
      simulation.control(name, { type: shutdown });
      simulation.settle();
      const { phase, nodes = {} } = simulation.view(name).status ?? {};
      expect(phase).toBe("Failed");
      expect(Object.values(nodes).find((node) => node.name === waiting))
        .toMatchObject({ phase: "Failed", message });
    }
    expect(simulation.view("w0").status?.phase).toBe("Running");
  }
});
