/**
 * The format of workflow tests: the manifests, what the tasks do, what users ask and when, and what is expected. It is
 * described by the same kind of schema as manifests and read strictly: an unknown member is an error.
 */
import type { Json, JsonObject } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { decode } from "../spec/schema/decode.ts";
import {
  anyString,
  boolean,
  int32,
  json,
  list,
  map,
  namedString,
  string,
  struct,
  type StructSchema,
} from "../spec/schema/schema.ts";

/** How some tasks behave. Durations are seconds, or text such as `90s` and `1h30m`. */
export interface TestTask {
  /** Regular expression that matches somewhere in the full name of the node. */
  node?: string;
  /** Display name. */
  name?: string;
  template?: string;
  /** Only the n-th start of a node of this name, from 1. */
  attempt?: number;
  outcome?: "Succeeded" | "Failed" | "Error" | "Hang" | "Pending";
  /** How long the task runs. @default {"1s"} */
  after?: string;
  exitCode?: number;
  message?: string;
  /** Standard output, or the body of an answer; what is not text is written as JSON. */
  result?: Json;
  /** What is in the files of output parameters, by name; what is not text is written as JSON. */
  outputs?: Record<string, Json>;
}

/** Something that a user asks of the workflow. */
export interface TestAction {
  action: "suspend" | "resume" | "stop" | "terminate" | "retry" | "set" | "resubmit";
  /** Time since the start. Absent: as soon as nothing more happens by itself. */
  at?: string;
  /** Which nodes, as a node field selector. */
  selector?: string;
  message?: string;
  phase?: string;
  /** Supplied outputs, for `set`. */
  outputs?: Record<string, Json>;
  /** New arguments, for `retry` and `resubmit`. */
  parameters?: Record<string, Json>;
  restartSuccessful?: boolean;
  memoized?: boolean;
  /** The action must be refused with a message that contains this. */
  refused?: string;
}

/** What must be true of a node. Only what is given is compared. */
export interface ExpectedNode {
  /** A phase, or `Absent`: there is no such node. */
  phase?: string;
  message?: string;
  type?: string;
  inputs?: Record<string, Json>;
  outputs?: { result?: Json; exitCode?: Json; parameters?: Record<string, Json> };
  /** How many tasks were started for the node. */
  starts?: number;
}

/** What must be true when nothing more happens. Only what is given is compared. */
export interface Expectation {
  phase?: string;
  /** The text, or a regular expression between slashes. */
  message?: string;
  /** Global outputs of the workflow, by name. */
  outputs?: Record<string, Json>;
  /** By full name or display name: a phase, or more. */
  nodes?: Record<string, Json>;
  /** How many tasks were started. */
  tasks?: number;
  /** Longest simulated time from start to end. */
  took?: string;
  /** The workflow is refused at creation with a message that contains this. */
  refused?: string;
}

/** One test. */
export interface WorkflowTest {
  name: string;
  /** Arguments of the workflow, by name. */
  parameters?: Record<string, Json>;
  /** The first entry that fits a task counts. A task that fits none succeeds after a second. */
  tasks?: TestTask[];
  actions?: TestAction[];
  expect: Expectation;
}

/** One file of tests. */
export interface TestFile {
  /** A file beside this one, or the manifest itself. */
  workflow: Json;
  /** What the workflow refers to, as files or as manifests. Other workflows among them run beside it. */
  manifests?: Json[];
  tests: WorkflowTest[];
}

const duration = anyString;

const TASK = testStruct("Task", {
  node: string,
  name: string,
  template: string,
  attempt: int32,
  outcome: namedString("string", ["Succeeded", "Failed", "Error", "Hang", "Pending"]),
  after: duration,
  exitCode: int32,
  message: string,
  result: json,
  outputs: map(json),
});

const ACTION = testStruct("Action", {
  action: namedString("string", [
    ...["suspend", "resume", "stop", "terminate", "retry", "set", "resubmit"],
  ]),
  at: duration,
  selector: string,
  message: string,
  phase: string,
  outputs: map(json),
  parameters: map(json),
  restartSuccessful: boolean,
  memoized: boolean,
  refused: string,
});

const EXPECTED_NODE = testStruct("Node", {
  phase: string,
  message: string,
  type: string,
  inputs: map(json),
  outputs: testStruct("Outputs", { result: json, exitCode: json, parameters: map(json) }),
  starts: int32,
});

const EXPECTATION = testStruct("Expect", {
  phase: string,
  message: string,
  outputs: map(json),
  nodes: map(json),
  tasks: int32,
  took: duration,
  refused: string,
});

/** Description of a test file, for decoding and for editors. */
const TEST_FILE: StructSchema = testStruct("TestFile", {
  workflow: json,
  manifests: list(json),
  tests: list(testStruct("Test", {
    name: string,
    parameters: map(json),
    tasks: list(TASK),
    actions: list(ACTION),
    expect: EXPECTATION,
  })),
});

function testStruct(name: string, fields: ReturnType<Parameters<typeof struct>[1]>): StructSchema {
  return struct(name, () => fields, "test");
}

/**
 * Decodes a test file from parsed JSON or YAML.
 * @throws {Problem} InvalidArgument that names the place of the first mistake
 */
export function decodeTestFile(value: unknown): TestFile {
  const file = decodeStrictly(value, TEST_FILE, "") as unknown as Partial<TestFile>;
  if (file.workflow === undefined) throw invalid("workflow is missing: name a file or a manifest");
  if (file.tests === undefined || file.tests.length === 0) throw invalid("tests is empty");
  for (const [index, test] of file.tests.entries()) checkTest(test, `tests[${index}]`);
  return file as TestFile;
}

function checkTest(test: WorkflowTest, at: string): void {
  if ((test.name ?? "") === "") throw invalid(`${at}.name is missing`);
  for (const [index, { outcome, node }] of (test.tasks ?? []).entries()) {
    const place = `${at}.tasks[${index}]`;
    checkOneOf(`${place}.outcome`, outcome, TASK);
    if (node !== undefined) checkPattern(`${place}.node`, node);
  }
  for (const [index, { action }] of (test.actions ?? []).entries()) {
    checkOneOf(`${at}.actions[${index}].action`, action ?? "", ACTION);
  }
  if (test.expect?.phase === undefined && test.expect?.refused === undefined) {
    throw invalid(`${at}.expect must say which phase the workflow has, or how it is refused`);
  }
}

function checkOneOf(place: string, value: string | undefined, schema: StructSchema): void {
  const member = schema.findField(place.slice(place.lastIndexOf(".") + 1))?.field.schema;
  const values = member?.kind === "string" ? member.values ?? [] : [];
  if (value === undefined || values.includes(value)) return;
  throw invalid(`${place} is ${JSON.stringify(value)}, expected one of ${values.join(", ")}`);
}

function checkPattern(place: string, pattern: string): void {
  try {
    new RegExp(pattern);
  } catch {
    throw invalid(`${place} is not a regular expression: ${pattern}`);
  }
}

/** What is expected of a node; a text alone is its phase. @throws {Problem} InvalidArgument when it is malformed */
export function decodeExpectedNode(value: Json, place: string): ExpectedNode {
  if (typeof value === "string") return { phase: value };
  return decodeStrictly(value, EXPECTED_NODE, place) as ExpectedNode;
}

function decodeStrictly(value: unknown, schema: StructSchema, place: string): JsonObject {
  const unknown: string[] = [];
  const decoded = decode(value, schema, {
    onUnknown: ({ path, meant }) => {
      const guess = meant();
      const name = place === "" ? path : `${place}.${path}`;
      unknown.push(guess === undefined ? name : `${name} (did you mean ${guess}?)`);
    },
  });
  if (unknown.length > 0) throw invalid(`unknown field ${unknown.join(", ")}`);
  return decoded as JsonObject;
}

/** A text as it is, and any other value as JSON. */
export function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
