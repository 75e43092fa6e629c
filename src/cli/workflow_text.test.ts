import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { createClient } from "../client/client.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { Context } from "./context.ts";
import { printWorkflows, workflowText } from "./workflow_text.ts";

const CONTEXT: Context = {
  client: createClient({ server: "http://127.0.0.1:1" }),
  namespace: "default",
  now: () => 0,
};

afterEach(() => vi.restoreAllMocks());

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

test.each(
  [
    [true, undefined, 80],
    [true, "wide", 3000],
    [false, undefined, 3000],
  ] as const,
)("a list cuts long messages on a terminal only: %j, -o %s", async (isTTY, format, length) => {
  const seen: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => seen.push(String(text)) > 0);
  const before = process.stdout.isTTY;
  process.stdout.isTTY = isTTY;
  try {
    const workflow: Workflow = {
      metadata: { name: "wf" },
      spec: {},
      status: { phase: "Failed", startedAt: null, finishedAt: null, message: "x".repeat(3000) },
    };
    await printWorkflows(CONTEXT, [workflow], { format, namespaces: false, heads: false });
  } finally {
    process.stdout.isTTY = before;
  }
  expect(/x+…?/.exec(seen.join(""))?.[0]).toHaveLength(length);
});

test("parameters with several lines stay in their row, and a long one is cut", async () => {
  const seen: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => seen.push(String(text)) > 0);
  const parameters = [{ name: "p", value: "one\ntwo" }, { name: "q", value: "y".repeat(3000) }];
  const workflow: Workflow = { metadata: { name: "wf" }, spec: { arguments: { parameters } } };
  await printWorkflows(CONTEXT, [workflow], { format: "wide", namespaces: false, heads: false });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatch(/p=one\\u000atwo,q=y{79}…\n$/);
});
