/** What `workflow.failures` says in an exit handler. */
import { expect, test } from "vitest";
import { passTime } from "../../test/support/simulated_workflow.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation } from "./simulation.ts";

const WORK = { name: "work", container: { image: "x" } };

test("a step of another manifest is told by the name of its template, and its message as JSON of the reference", () => {
  const simulation = new Simulation({
    rules: [{ node: "a$", outcome: "Failed", message: "a < b && c" }],
  });
  simulation.addManifest(
    "WorkflowTemplate",
    decodeManifest("WorkflowTemplate", { metadata: { name: "t" }, spec: { templates: [WORK] } }),
  );
  const inputs = { parameters: [{ name: "all", value: "{{workflow.failures}}" }] };
  simulation.submit(decodeManifest("Workflow", {
    metadata: { name: "w" },
    spec: {
      entrypoint: "main",
      onExit: "tell",
      templates: [
        { name: "main", steps: [[{ name: "a", templateRef: { name: "t", template: "work" } }]] },
        { ...WORK, name: "tell", inputs },
      ],
    },
  }));
  passTime(simulation, 10);
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  const told = nodes.find(({ name }) => name === "w.onExit")?.inputs?.parameters?.[0]?.value ?? "";
  const text = JSON.parse(told) as string;
  const failures = JSON.parse(text) as Record<string, string>[];
  const step = failures.find(({ displayName }) => displayName === "a");
  expect(step).toMatchObject({ templateName: "work", message: "a < b && c" });
  expect(text).toContain(String.raw`a \u003c b \u0026\u0026 c`);
});
