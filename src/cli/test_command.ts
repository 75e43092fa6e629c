/** `sluice test`: unit tests of workflows, with scripted tasks and simulated time. */
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { Problem } from "../base/problem.ts";
import type { SimulationOptions } from "../simulation/simulation.ts";
import { runTest, testedManifest, type TestResult } from "../simulation/test_run.ts";
import { decodeTestFile, type TestFile } from "../simulation/test_file.ts";
import { type AnyManifest, decodeAny } from "../spec/schema/decode_manifest.ts";
import { DecodeError } from "../spec/schema/decode.ts";
import { type ParsedDocument, parseDocuments, parseManifests } from "../spec/parse.ts";
import { example, UsageError } from "./context.ts";
import { misfitPlace, readSource } from "./manifests.ts";
import { hasColour, print, say } from "./output.ts";
import { treeLines } from "./tree.ts";

/** Runs every test of a file, in order. @throws {Error} when the file or one of its manifests can't be read */
export async function runTestFile(
  path: string,
  options: Pick<SimulationOptions, "isForgetful"> = {},
): Promise<TestResult[]> {
  const results: TestResult[] = [];
  const documents = parseDocuments(await readSource(path));
  if (documents.length === 0) throw new Error("it is empty");
  for (const { value, lineOf } of documents) {
    if (isJsonObject(value) && value["kind"] !== undefined) {
      throw new Error(
        `it holds a ${value["kind"]}: name a file of tests, which names its workflow`,
      );
    }
    if (!isJsonObject(value)) {
      throw new Error("it holds no names and values: write workflow: and tests: in it");
    }
    const file = testFileOf(value, lineOf);
    const beside = await readBeside(path, file.workflow);
    const others = await Promise.all((file.manifests ?? []).map((one) => readBeside(path, one)));
    const tested = testedManifest(beside);
    const rest = [...beside, ...others.flat()].filter((manifest) => manifest !== tested);
    for (const test of file.tests) {
      try {
        results.push(runTest(test, tested, rest, options));
      } catch (error) {
        // This test is wrong, or its workflow goes on without end: the others still count.
        if (!(error instanceof Problem)) throw error;
        results.push({ name: test.name, failures: [error.message] });
      }
    }
  }
  return results;
}

/** @throws {Error} that says where a value of the wrong type stands: its own words name a type of the program */
function testFileOf(value: JsonObject, lineOf: ParsedDocument["lineOf"]): TestFile {
  try {
    return decodeTestFile(value);
  } catch (error) {
    const place = error instanceof DecodeError ? misfitPlace(error, lineOf) : undefined;
    throw place === undefined ? error : new Error(`wrong value ${place}`, { cause: error });
  }
}

/** Manifests that a test file names or holds. */
async function readBeside(testFile: string, value: Json): Promise<AnyManifest[]> {
  if (typeof value !== "string") return [decodeAny(value)];
  const path = resolve(dirname(testFile), value);
  const text = await readSource(path);
  try {
    return parseManifests(text);
  } catch (error) {
    throw error instanceof Problem ? new Error(`${path}: ${error.message}`) : error;
  }
}

/** Registers `test`. */
export function addTestCommand(program: Command, exit: (status: number) => void): void {
  program.command("test <files...>").description(
    "run workflow tests: scripted tasks, simulated time, no server",
  ).option("--filter <text>", "only tests whose name contains this")
    .addHelpText(...example("sluice test examples/*.test.yaml"))
    .action(async (files: string[], options: { filter?: string }) => {
      const counts = { passed: 0, failed: 0 };
      for (const file of files) {
        let results: TestResult[];
        try {
          results = await runTestFile(file);
        } catch (error) {
          if (error instanceof UsageError || !(error instanceof Error)) throw error;
          results = [{ name: "(file)", failures: [error.message] }];
        }
        for (const result of results) {
          if (!result.name.includes(options.filter ?? "")) continue;
          counts[result.failures.length === 0 ? "passed" : "failed"]++;
          report(file, result);
        }
      }
      if (options.filter !== undefined && counts.passed + counts.failed === 0) {
        say(`No test has ${JSON.stringify(options.filter)} in its name`);
      }
      print(`${counts.passed} passed, ${counts.failed} failed`);
      exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);
    });
}

function report(file: string, { name, failures, workflow }: TestResult): void {
  const isGood = failures.length === 0;
  print(`${isGood ? "✔" : "✖"} ${file}: ${name}`);
  for (const failure of failures) print(`    ${failure}`);
  if (isGood || workflow === undefined) return;
  const now = Date.parse(workflow.status?.finishedAt ?? workflow.metadata.creationTimestamp ?? "");
  for (const line of treeLines(workflow, { now, colour: hasColour(), columns: "short" })) {
    print(`      ${line}`);
  }
}
