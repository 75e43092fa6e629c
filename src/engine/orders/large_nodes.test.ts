/** Nodes with long texts are rewritten a few in each turn: what a turn changes becomes one commit. */
import { expect, test } from "vitest";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import type { ControlRequest } from "../command.ts";
import { createWorkflow } from "../create.ts";
import type { EngineEnv } from "../engine.ts";
import { control } from "./control.ts";

const one = (name: string, value?: string) => ({
  parameters: [{ name, ...(value === undefined ? {} : { value }) }],
});

/** A workflow that waits in a loop of nodes with 100,000 characters each. */
function waiting(width: number) {
  const env: EngineEnv = {
    now: Date.UTC(2024, 0, 1),
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
  };
  const loop = {
    name: "a",
    template: "w",
    withSequence: { count: String(width) },
    arguments: one("x", "{{workflow.parameters.x}}{{item}}"),
  };
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "ns", uid: "u" },
    spec: {
      entrypoint: "main",
      arguments: one("x", "x".repeat(100_000)),
      templates: [
        { name: "main", steps: [[loop]] },
        { name: "w", inputs: one("x"), suspend: {} },
      ],
    },
  }, env);
  /** Takes turns until nothing is left. @returns the most characters that one of them stores */
  const rest = () => {
    let most = 0;
    for (let turns = 0;; turns++) {
      advance(state, env);
      const { put } = takeChanges(state);
      most = Math.max(most, put.reduce((sum, { text }) => sum + text.length, 0));
      if (state.header.isCut !== true) return most;
      if (turns > 1_000) throw new Error("it never rests");
    }
  };
  rest();
  return { state, rest, ask: (request: ControlRequest) => control(state, request, env) };
}

test.each<[ControlRequest, string]>([
  [{ type: "terminate" }, "Failed"],
  [{ type: "stop" }, "Failed"],
  [{ type: "resume" }, "Succeeded"],
])("an order %o ends them a few in each turn", (request, phase) => {
  const { state, rest, ask } = waiting(100);
  ask(request);
  expect(rest()).toBeLessThan(3_500_000);
  expect(state.header.phase).toBe(phase);
});

test("so does a retry", () => {
  const { state, rest, ask } = waiting(100);
  ask({ type: "terminate" });
  rest();
  ask({ type: "retry" });
  expect(rest()).toBeLessThan(3_500_000);
  expect(state.header.phase).toBe("Running");
});
