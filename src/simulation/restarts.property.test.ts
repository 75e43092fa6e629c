/** Random workflows: the same tree at the same times, in memory, loaded again after each step, and whatever is reported first. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { carryOut, outcomeOf } from "../../test/support/random_runs.ts";
import { type RandomRun, randomRuns } from "../../test/support/random_workflows.ts";
import type { WorkflowSpec } from "../spec/manifest.ts";

interface Example extends Partial<RandomRun> {
  title: string;
  spec: WorkflowSpec;
}

const FIXTURE = join(import.meta.dirname, "../../test/fixtures/once_different.yaml");
const ONCE_DIFFERENT = parse(readFileSync(FIXTURE, "utf8")) as Example[];

/** The same run under other circumstances. */
function expectNoDifference(run: RandomRun): void {
  const usual = outcomeOf(carryOut(run));
  expect(outcomeOf(carryOut(run, { isForgetful: true }))).toEqual(usual);
  expect(outcomeOf(carryOut(run, { isReversed: true }))).toEqual(usual);
}

test.each(ONCE_DIFFERENT)("$title", ({ spec, rules = [], orders = [] }) => {
  expectNoDifference({ workflow: { metadata: { name: "w" }, spec }, rules, orders });
});

test("a workflow is the same, in memory, loaded again after each step, and in whatever order things are reported", () => {
  fc.assert(fc.property(randomRuns(2), expectNoDifference), { numRuns: 60 });
});
