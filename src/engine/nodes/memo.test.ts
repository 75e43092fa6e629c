import { expect, test } from "vitest";
import { parse } from "yaml";
import { Simulation } from "../../simulation/simulation.ts";
import { decodeManifest } from "../../spec/schema/decode_manifest.ts";
import { passTime } from "../../../test/support/simulated_workflow.ts";

/** Runs a memoized template whose cache holds this entry. */
function runWith(entry: string, maxAge = "") {
  const simulation = new Simulation({ rules: [{ node: ".", parameters: { o: "new" } }] });
  simulation.addManifest("ConfigMap", {
    metadata: { name: "cache", labels: { "workflows.argoproj.io/configmap-type": "Cache" } },
    data: { k: entry },
  } as never);
  const spec: unknown = parse(`
entrypoint: main
templates:
  - name: main
    memoize: { key: k, maxAge: "${maxAge}", cache: { configMap: { name: cache } } }
    container: { image: x }
    outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] }`);
  simulation.submit(
    decodeManifest("Workflow", { kind: "Workflow", metadata: { name: "w" }, spec }),
  );
  passTime(simulation, 5);
  const { phase, outputs, memoizationStatus } = simulation.view("w").status?.nodes?.["w"] ?? {};
  return { phase, hit: memoizationStatus?.hit, value: outputs?.parameters?.[0]?.value };
}

const OUTPUTS = { parameters: [{ name: "o", value: "old" }] };

test.each([
  "",
  "null",
  "[]",
  "5",
  "{",
  '{"outputs": "x"}',
  '{"outputs": {"parameters": {}}}',
  '{"outputs": {"parameters": [null]}}',
  '{"outputs": {"artifacts": [1]}}',
  '{"outputs": {"result": 1}}',
])("a text that is no entry of a cache (%s) is a miss", (entry) => {
  expect(runWith(entry)).toEqual({ phase: "Succeeded", hit: false, value: "new" });
});

test("an entry without a time counts until an age is asked for", () => {
  const entry = JSON.stringify({ outputs: OUTPUTS, creationTimestamp: null });
  expect(runWith(entry)).toEqual({ phase: "Succeeded", hit: true, value: "old" });
  expect(runWith(entry, "1h")).toEqual({ phase: "Succeeded", hit: false, value: "new" });
});
