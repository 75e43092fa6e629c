/** Every example has tests of what it does. They pass, and so do those of the manifest catalogue. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runTestFile } from "../../src/cli/test_command.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const CATALOGUE = join(import.meta.dirname, "../fixtures/manifests");
const filesOf = (folder: string, end: string) =>
  readdirSync(folder).filter((name) => name.endsWith(end)).map((name) => join(folder, name));

it("every example is tested", () => {
  const tests = filesOf(EXAMPLES, ".test.yaml").map((path) => readFileSync(path, "utf8")).join();
  const manifests = readdirSync(EXAMPLES).filter((name) => /(?<!\.test)\.yaml$/.test(name));
  for (const name of manifests) expect(tests, name).toContain(`workflow: ${name}`);
});

describe.each([
  ["examples", EXAMPLES, 4],
  ["the catalogue", CATALOGUE, 30],
])("the tests of %s", (_title, folder, least) => {
  const files = filesOf(folder, ".test.yaml");

  it("are found", () => expect(files.length).toBeGreaterThanOrEqual(least));

  it.each(files)("%s", async (file) => {
    for (const { name, failures } of await runTestFile(file)) expect(failures, name).toEqual([]);
  });

  it.each(files)("%s, with a crash after each commit", async (file) => {
    for (const { name, failures } of await runTestFile(file, { isForgetful: true })) {
      expect(failures, name).toEqual([]);
    }
  });
});
