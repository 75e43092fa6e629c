/** The workflows of GitHub: pinned, with few rights, and made of programs that also run elsewhere. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { findProgram } from "../../test/cluster/programs.ts";
import { run } from "./run.ts";

interface Job {
  permissions?: Record<string, string>;
  uses?: string;
  container?: string;
  "timeout-minutes"?: number;
  steps?: { uses?: string; run?: string }[];
}

interface Workflow {
  permissions: unknown;
  jobs: Record<string, Job>;
}

const FOLDER = join(import.meta.dirname, "../../.github/workflows");
const FILES = readdirSync(FOLDER);
/** Commands of a step: programs of the repository, and what installs their needs. */
const COMMAND =
  /^(npx -y deno@2\.9\.6 (install --frozen|task \w+( .*)?)|git config --global --add safe\.directory .*|(sudo )?apt-get update && (sudo )?apt-get install -y .*)$/;
/** The only job that may write anything. */
const PUBLISHER = "release.yml publish";

const jobs = FILES.flatMap((file) => {
  const { jobs } = parse(readFileSync(join(FOLDER, file), "utf8")) as Workflow;
  return Object.entries(jobs).map(([name, job]): [string, Job] => [`${file} ${name}`, job]);
});

test.each(FILES)(
  "%s grants nothing to all jobs, and pins every action with its version",
  (file) => {
    const text = readFileSync(join(FOLDER, file), "utf8");
    expect((parse(text) as Workflow).permissions).toEqual({});
    const used = [...text.matchAll(/\buses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(used.length).toBeGreaterThan(0);
    for (const action of used) {
      expect(action).toMatch(
        /^(\.\/\.github\/workflows\/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v[\d.]+)$/,
      );
    }
  },
);

describe.each(jobs)("%s", (name, { permissions = {}, uses, steps = [], ...job }) => {
  test("has only the rights that it needs", () => {
    const writes = Object.entries(permissions).filter(([, right]) => right !== "read");
    if (name === PUBLISHER) expect(writes.length).toBeGreaterThan(0);
    else expect(writes).toEqual([]);
    expect(permissions["contents"]).toBeDefined();
  });

  test("calls programs of the repository, and ends", () => {
    const commands = steps.flatMap(({ run }) => run ?? []);
    expect(commands.filter((command) => !COMMAND.test(command))).toEqual([]);
    if (uses === undefined) expect(job["timeout-minutes"]).toBeGreaterThan(0);
    expect(job.container ?? "none").toMatch(/^(none|.*@sha256:[0-9a-f]{64})$/);
  });
});

test("CI runs what .ci/run runs, on both runtimes", () => {
  const gate = readFileSync(join(FOLDER, "../../.ci/run"), "utf8");
  const ci = readFileSync(join(FOLDER, "ci.yml"), "utf8");
  for (const task of ["check", "test"]) {
    expect(gate).toMatch(new RegExp(`^(if )?deno task ${task}\\b`, "m"));
    expect(ci).toContain(`deno@2.9.6 task ${task}`);
  }
  const { jobs } = parse(ci);
  expect(jobs.test.strategy.matrix.runtime).toEqual(["deno", "node"]);
});

const actionlint = findProgram("actionlint");
test.skipIf(actionlint.missing !== undefined)(
  `actionlint finds nothing${
    actionlint.missing === undefined ? "" : ` (skipped: ${actionlint.missing})`
  }`,
  () => {
    // -shellcheck= and -pyflakes=: the same result whether these are installed or not.
    const files = FILES.map((file) => join(FOLDER, file));
    run(actionlint.path ?? "", ["-shellcheck=", "-pyflakes=", ...files]);
  },
);
