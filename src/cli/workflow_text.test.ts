import { expect, test } from "vitest";
import type { Workflow } from "../spec/manifest.ts";
import { workflowText } from "./workflow_text.ts";

test("messages and values can't steer the terminal; the lines of a value stay", () => {
  const workflow: Workflow = {
    metadata: { name: "wf" },
    spec: { arguments: { parameters: [{ name: "p", value: "one\ntwo\u001b[2J" }] } },
    status: {
      phase: "Failed",
      startedAt: null,
      finishedAt: null,
      message: "no \u001b[2J",
      conditions: [{ type: "SpecError", status: "True", message: "c \u001b[2J" }],
    },
  };
  const text = workflowText(workflow, { now: 0, colour: false, columns: "normal" });
  expect(text).not.toContain("\u001b");
  for (const one of ["no \\u001b", "c \\u001b", "one\ntwo\\u001b"]) expect(text).toContain(one);
});
