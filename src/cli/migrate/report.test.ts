import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { Report } from "./report.ts";

afterEach(() => vi.restoreAllMocks());

test("the line of a progress is taken away before an object is told, and only then", () => {
  const seen: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => seen.push(String(text)) > 0);
  const report = new Report(false, true, () => seen.push("taken away"));
  report.add({ kind: "WorkflowTemplate", name: "good", verdict: "works" });
  expect(seen).toEqual([]);
  report.add({ kind: "WorkflowTemplate", name: "bad", verdict: "refused", reason: "why" });
  expect(seen.map((text) => text.trim())).toEqual(["taken away", "✖ WorkflowTemplate bad: why"]);
});
