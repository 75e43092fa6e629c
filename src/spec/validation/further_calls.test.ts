import { expect, test } from "vitest";
import type { Template, Workflow } from "../manifest.ts";
import { CheckTooCostly } from "./check_work.ts";
import { validateWorkflow } from "./validate.ts";

const container = (...args: string[]) => ({ image: "x", args });

/** What is wrong with a workflow that calls a template so often, the last time with this argument. */
function verdict(called: Template, count: number, last = "1s"): string {
  const tasks = Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    template: "w",
    arguments: { parameters: [{ name: "a", value: index === count - 1 ? last : "1s" }] },
  }));
  const workflow: Workflow = {
    metadata: { generateName: "x-" },
    spec: { entrypoint: "main", templates: [{ name: "main", dag: { tasks } }, called] },
  };
  try {
    validateWorkflow(workflow, { findTemplate: () => undefined });
    return "valid";
  } catch (error) {
    return (error as Error).message;
  }
}

const timed: Template = {
  name: "w",
  inputs: { parameters: [{ name: "a" }] },
  timeout: "{{inputs.parameters.a}}",
  container: container("{{pod.name}} ".repeat(3_000)),
};

test("a timeout from an argument is checked in every call, and costs its own length, not the template's", () => {
  expect(verdict(timed, 3_000)).toBe("valid");
  expect(verdict(timed, 3, "5")).toBe(
    "templates.main.tasks.t2 w has invalid duration format in timeout",
  );
  expect(verdict(timed, 2, "{{")).toContain("Cannot find end tag");
});

test("a template that all its calls must fill in has a bounded number of them", () => {
  const open = (length: number): Template => ({
    name: "w",
    inputs: { parameters: [{ name: "a" }] },
    container: container("a {{", `}}${"x".repeat(length)}`),
  });
  expect(verdict(open(10), 1_000)).toBe("valid");
  expect(verdict(open(100_000), 3_000)).toMatch(/ templates\.w is called too often for its size: /);
});

test("so has one with very many inputs", () => {
  const parameters = Array.from({ length: 20_000 }, (_, n) => ({ name: `p${n}`, value: "1" }));
  const many: Template = { name: "w", inputs: { parameters }, suspend: {} };
  expect(verdict(many, 20)).toBe("valid");
  expect(verdict(many, 300)).toMatch(/ templates\.w is called too often for its size: /);
});

test("what tags bring into all templates together is bounded", () => {
  const value = "x".repeat(100_000);
  const templates = Array.from({ length: 20 }, (_, n): Template => ({
    name: `w${n}`,
    container: container("{{workflow.parameters.p}}".repeat(10)),
  }));
  const check = (count: number) =>
    validateWorkflow({
      metadata: { generateName: "x-" },
      spec: {
        entrypoint: "w0",
        arguments: { parameters: [{ name: "p", value }] },
        templates: templates.slice(0, count),
      },
    }, { findTemplate: () => undefined });
  check(10);
  expect(() => check(20)).toThrow(
    /^templates\.w\d+ .*more than 16777216 characters when parameters/,
  );
});

test("a short check leaves what takes longer to others", () => {
  const check = (args: number) =>
    validateWorkflow({
      metadata: { generateName: "x-" },
      spec: {
        entrypoint: "w",
        arguments: { parameters: [{ name: "p", value: "x".repeat(100_000) }] },
        templates: [{ name: "w", container: container("{{workflow.parameters.p}}".repeat(args)) }],
      },
    }, { findTemplate: () => undefined, isShort: true });
  check(10);
  expect(() => check(11)).toThrow(CheckTooCostly);
});
