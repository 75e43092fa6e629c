import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { afterSecondRun, countOf, deservesSecondRun, withAlone } from "./test.ts";

const base = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  success: true,
};

test("countOf() sums passed, failed and skipped", () => {
  expect(countOf({ ...base, testResults: [] })).toEqual({
    passed: 3,
    failed: 0,
    skipped: 1,
    failures: [],
    files: [],
  });
});

test("countOf() counts a file that failed to load as a failure", () => {
  const testResults = [{ status: "failed", assertionResults: [], name: "a.test.ts" }];
  expect(countOf({ ...base, success: false, testResults }).failed).toBe(1);
});

test("countOf() counts a file whose tests were left out because a hook failed", () => {
  const assertionResults = [{ status: "passed", fullName: "a" }, {
    status: "skipped",
    fullName: "b",
  }];
  const testResults = [{ status: "failed", assertionResults, name: "a.test.ts", message: "" }];
  const report = { ...base, numFailedTests: 2, success: false, testResults };
  expect(countOf(report)).toMatchObject({
    failed: 3,
    failures: ["a.test.ts: failed outside its tests"],
    files: ["a.test.ts"],
  });
});

test("countOf() names what failed, with the first line of its error, and where", () => {
  const testResults = [
    {
      status: "failed",
      name: "a.test.ts",
      assertionResults: [
        { status: "passed", fullName: "adds" },
        {
          status: "failed",
          fullName: "subtracts",
          failureMessages: ["Error: 1 is not 2\n    at a"],
        },
      ],
    },
    { status: "failed", name: "b.test.ts", message: "no such file\nat b", assertionResults: [] },
  ];
  expect(countOf({ ...base, numFailedTests: 1, success: false, testResults })).toMatchObject({
    failures: ["a.test.ts: subtracts: Error: 1 is not 2", "b.test.ts: no such file"],
    files: ["a.test.ts", "b.test.ts"],
  });
});

test("countOf() never calls an unsuccessful run clean", () => {
  expect(countOf({ ...base, success: false, testResults: [] }).failed).toBe(1);
});

test("a second run is for a few files with all that failed in them", () => {
  const first = { passed: 8, failed: 2, skipped: 1, failures: ["a: x", "a: y"], files: ["a"] };
  expect(deservesSecondRun(first)).toBe(true);
  expect(afterSecondRun(first)).toEqual({
    passed: 10,
    failed: 0,
    skipped: 1,
    failures: [],
    files: [],
    unsteady: ["a: x", "a: y"],
  });
  expect(deservesSecondRun({ ...first, failed: 0, failures: [], files: [] })).toBe(false);
  expect(deservesSecondRun({ ...first, files: ["a", "b", "c", "d"] })).toBe(false);
  // Something beside the tests went wrong.
  expect(deservesSecondRun({ ...first, failed: 3 })).toBe(false);
});

test("withAlone() takes with a project its files that run alone, and leaves other options", () => {
  expect(withAlone(["--project", "unit", "src/a", "--project=contract", "-t", "x"]))
    .toEqual(["--project", "unit*", "src/a", "--project=contract*", "-t", "x"]);
  expect(withAlone(["--project", "e2e*"])).toEqual(["--project", "e2e*"]);
});

test(
  "a file whose process hangs is named, killed and counted as a failure; the rest of the run is not lost",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-stalled-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const root = join(import.meta.dirname, "..");
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    mkdirSync(join(folder, "files"));
    const files: Record<string, string> = {
      "files/hangs.test.ts": `import { spawnSync } from "node:child_process";
      import { test } from "vitest";
      test("waits for ever", () => void spawnSync("sleep", ["1234"]));`,
      "files/ends.test.ts": `import { test } from "vitest"; test("passes", () => {});`,
      "reporter.ts": `import Reporter from "${root}/test/support/stalled_workers.ts";
      export default class extends Reporter { constructor() { super({ limitMs: 2_000 }); } }`,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const program = join(root, "node_modules/vitest/vitest.mjs");
    const options = ["run", "--reporter=json", "--reporter=./reporter.ts", "--outputFile=out.json"];
    const args = ["Deno" in globalThis ? ["run", "-A"] : [], program, options].flat();
    const { stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

    expect(stderr).toContain("STALLED");
    expect(stderr).toContain("files/hangs.test.ts; killed");
    expect(stderr).toMatch(/^ {2}\d+ \S*sleep 1234$/m);
    const count = countOf(JSON.parse(readFileSync(join(folder, "out.json"), "utf8")));
    expect(count).toMatchObject({ passed: 1, failed: 1 });
    expect(count.files.join()).toContain("hangs.test.ts");
    expect(deservesSecondRun(count)).toBe(true);
  },
  60_000,
);
