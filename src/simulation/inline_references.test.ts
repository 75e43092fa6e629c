/** A step with an inline template and a reference: where the calls of the inline template are looked up. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation } from "./simulation.ts";

const INLINE =
  "inline: {steps: [[{name: b, template: helper}]]}, templateRef: {name: st, template: w}";

test.each([
  ["step", `steps: [[{name: a, ${INLINE}}]]`, "w[0].a"],
  ["task", `dag: {tasks: [{name: a, ${INLINE}}]}`, "w.a"],
])("a %s finds them in the object that the reference names", (_kind, body, name) => {
  const simulation = new Simulation({ rules: [] });
  simulation.addManifest(
    "WorkflowTemplate",
    decodeManifest("WorkflowTemplate", {
      metadata: { name: "st" },
      spec: { templates: [{ name: "w", suspend: {} }, { name: "helper", suspend: {} }] },
    }),
  );
  simulation.submit(decodeManifest("Workflow", {
    metadata: { name: "w" },
    spec: parse(`
entrypoint: main
templates:
- {name: main, ${body}}
- {name: helper, container: {image: i, command: [c]}}`),
  }));
  simulation.settle();
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  const of = (wanted: string) => nodes.find((node) => node.name === wanted);
  expect(of(name)).toMatchObject({ type: "Steps", templateScope: "local/w" });
  expect(of(`${name}[0].b`)).toMatchObject({ type: "Suspend", templateScope: "namespaced/st" });
});
