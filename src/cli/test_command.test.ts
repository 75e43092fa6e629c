import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sluice-test-command-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sluiceTest(...args: string[]): { status: number | null; out: string; err: string } {
  const start = "deno" in process.versions ? ["run", "-A", MAIN] : [MAIN];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...start, "test", ...args], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return { status, out: stdout, err: stderr };
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

file(
  "flow.yaml",
  `
kind: Workflow
metadata: { generateName: flow- }
spec:
  entrypoint: main
  templates: [{ name: main, container: { image: busybox, command: ["true"] } }]
`,
);
const GOOD = "{ name: works, expect: { phase: Succeeded } }";
const BAD = "{ name: breaks, tasks: [{ outcome: Failed }], expect: { phase: Succeeded } }";

test("prints each test, differences with the tree, and the counts", () => {
  const path = file("both.test.yaml", `workflow: flow.yaml\ntests: [${GOOD}, ${BAD}]`);
  const { status, out } = sluiceTest(path);
  expect(out.split("\n").map((line) => line.trimEnd())).toEqual([
    `✔ ${path}: works`,
    `✖ ${path}: breaks`,
    "    phase: expected Succeeded, received Failed",
    "      STEP          TEMPLATE  DURATION  MESSAGE",
    "       ✖ flow-test  main      2s        main: Error (exit code 1)",
    "1 passed, 1 failed",
    "",
  ]);
  expect(status).toBe(1);
});

test("exits with 0 when all pass, even if only some are picked", () => {
  const path = file("picked.test.yaml", `workflow: flow.yaml\ntests: [${GOOD}, ${BAD}]`);
  const { status, out } = sluiceTest("--filter", "works", path);
  expect(out).toMatch(/^✔ .*\n1 passed, 0 failed\n$/);
  expect(status).toBe(0);
});

test("a file that can't be read is a failure that says why; so is a file without tests", () => {
  const broken = file("broken.test.yaml", "workflow: nothing.yaml\ntests: [{ name: t }]");
  const { status, out } = sluiceTest(broken);
  expect(out).toContain("tests[0].expect must say which phase");
  expect(status).toBe(1);
  const missing = file("missing.test.yaml", `workflow: nothing.yaml\ntests: [${GOOD}]`);
  expect(sluiceTest(missing).out).toContain("nothing.yaml");
  const good = file("good.test.yaml", `workflow: flow.yaml\ntests: [${GOOD}]`);
  expect(sluiceTest("--filter", "nonsense", good)).toEqual({
    status: 1,
    out: "0 passed, 0 failed\n",
    err: 'No test has "nonsense" in its name\n',
  });
});

test("what holds no tests says so", () => {
  const empty = sluiceTest(file("empty.yaml", "# nothing\n"));
  expect(empty).toMatchObject({ status: 1, out: expect.stringContaining("it is empty") });
  const manifest = sluiceTest(join(folder, "flow.yaml"));
  expect(manifest).toMatchObject({
    status: 1,
    out: expect.stringContaining("it holds a Workflow: name a file of tests"),
  });
});

test("a test that can't be run is named, and the others still run", () => {
  const wrong = "{ name: odd, expect: { phase: Succeeded, took: 5x } }";
  const path = file("odd.test.yaml", `workflow: flow.yaml\ntests: [${wrong}, ${GOOD}]\n`);
  const { status, out } = sluiceTest(path);
  expect(status).toBe(1);
  expect(out).toMatch(/^✖ \S+odd\.test\.yaml: odd\n {4}took is "5x", /);
  expect(out).toContain("odd.test.yaml: works\n1 passed, 1 failed\n");
});

test("a file that is a list or a text is told what is missing in it", () => {
  for (const text of [`[${GOOD}]`, "words"]) {
    expect(sluiceTest(file("list.test.yaml", text))).toMatchObject({
      status: 1,
      out: expect.stringContaining(
        "it holds no names and values: write workflow: and tests: in it",
      ),
    });
  }
});

test("a value of the wrong type is told by its place, and a wrong pattern hides no other test", () => {
  expect(sluiceTest(file("object.test.yaml", `workflow: flow.yaml\ntests: ${GOOD}`)).out)
    .toContain("wrong value at tests, line 2: write a list there\n");
  expect(sluiceTest(file("word.test.yaml", "workflow: flow.yaml\ntests:\n- x")).out)
    .toContain("wrong value at tests[0], line 3: write names and values there\n");
  const wrong = '{ name: wrong, expect: { phase: Succeeded, message: "/(/" } }';
  const path = file("pattern.test.yaml", `workflow: flow.yaml\ntests: [${wrong}, ${GOOD}]`);
  expect(sluiceTest(path).out).toBe(
    `✖ ${path}: wrong\n    message is not a regular expression: /(/\n` +
      `✔ ${path}: works\n1 passed, 1 failed\n`,
  );
});
