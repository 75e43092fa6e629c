/** Compares a workflow with what a test expects of it. */
import type { Json } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { durationMs } from "../spec/duration.ts";
import { durationText } from "../expr/values/go_duration.ts";
import type { NodeStatus, Parameter, Workflow } from "../spec/manifest.ts";
import { decodeExpectedNode, type Expectation, type ExpectedNode, textOf } from "./test_file.ts";

/** Counts that the object of a workflow does not show. */
export interface TaskCounts {
  /** Tasks started for a node, by its full name. */
  startsOf(node: string): number;
  allStarts: number;
}

/**
 * One line for each difference, in the order of the expectations.
 * @throws {Problem} InvalidArgument when an expectation cannot be understood
 */
export function unmetExpectations(
  expect: Expectation,
  workflow: Workflow,
  counts: TaskCounts,
): string[] {
  const { status } = workflow;
  const lines: string[] = [];
  compare(lines, "phase", expect.phase, status?.phase || "Pending");
  compareMessage(lines, "message", expect.message, status?.message);
  compareParameters(lines, "outputs", expect.outputs, status?.outputs?.parameters);
  const nodes = Object.values(status?.nodes ?? {});
  for (const [name, value] of Object.entries(expect.nodes ?? {})) {
    const place = `nodes.${name}`;
    compareNode(lines, place, decodeExpectedNode(value, place), findNode(nodes, name), counts);
  }
  compare(lines, "tasks", expect.tasks, counts.allStarts);
  if (expect.took !== undefined) lines.push(...tookTooLong(expect.took, workflow));
  return lines;
}

/** Finds a node by its full name, or by its display name when no other node has it. */
function findNode(nodes: readonly NodeStatus[], name: string): NodeStatus | undefined {
  const exact = nodes.find((node) => node.name === name);
  if (exact !== undefined) return exact;
  const shown = nodes.filter(({ displayName }) => displayName === name);
  if (shown.length > 1) {
    throw invalid(
      `nodes.${name} could be any of ${shown.map((node) => node.name).join(", ")}: use a full name`,
    );
  }
  return shown[0];
}

function compareNode(
  lines: string[],
  place: string,
  expected: ExpectedNode,
  node: NodeStatus | undefined,
  counts: TaskCounts,
): void {
  if (node === undefined) {
    if (expected.phase !== "Absent") lines.push(`${place}: expected a node, there is none`);
    return;
  }
  compare(lines, `${place}.phase`, expected.phase, node.phase);
  compareMessage(lines, `${place}.message`, expected.message, node.message);
  compare(lines, `${place}.type`, expected.type, node.type);
  compareParameters(lines, `${place}.inputs`, expected.inputs, node.inputs?.parameters);
  const { result, exitCode, parameters } = expected.outputs ?? {};
  compare(lines, `${place}.outputs.result`, result, node.outputs?.result);
  compare(lines, `${place}.outputs.exitCode`, exitCode, node.outputs?.exitCode);
  compareParameters(lines, `${place}.outputs.parameters`, parameters, node.outputs?.parameters);
  compare(lines, `${place}.starts`, expected.starts, counts.startsOf(node.name));
}

function compareParameters(
  lines: string[],
  place: string,
  expected: Record<string, Json> | undefined,
  found: readonly Parameter[] | undefined,
): void {
  for (const [name, value] of Object.entries(expected ?? {})) {
    compare(lines, `${place}.${name}`, value, found?.find((one) => one.name === name)?.value);
  }
}

function compareMessage(
  lines: string[],
  place: string,
  expected: string | undefined,
  found: string | undefined,
): void {
  const [, pattern] = /^\/(.*)\/$/s.exec(expected ?? "") ?? [];
  if (pattern === undefined) return compare(lines, place, expected, found ?? "");
  let isMatch: boolean;
  try {
    isMatch = new RegExp(pattern, "s").test(found ?? "");
  } catch {
    throw invalid(`${place} is not a regular expression: ${expected}`);
  }
  if (!isMatch) {
    lines.push(`${place}: expected a match of ${expected}, received ${shown(found)}`);
  }
}

function compare(
  lines: string[],
  place: string,
  expected: Json | undefined,
  found: string | number | undefined,
): void {
  if (expected === undefined || (found !== undefined && textOf(expected) === String(found))) return;
  lines.push(`${place}: expected ${shown(textOf(expected))}, received ${shown(found)}`);
}

function shown(value: string | number | undefined): string {
  if (value === undefined || value === "") return "nothing";
  const text = String(value);
  return /^[\w.-]{1,40}$/.test(text) ? text : JSON.stringify(text);
}

function tookTooLong(limit: string, { status }: Workflow): string[] {
  let limitMs: number;
  try {
    limitMs = durationMs(limit);
  } catch {
    throw invalid(`took is ${JSON.stringify(limit)}, expected seconds or text such as 1h30m`);
  }
  const { startedAt, finishedAt } = status ?? {};
  if (!startedAt || !finishedAt) return [`took: expected an end within ${limit}, it has not ended`];
  const took = Date.parse(finishedAt) - Date.parse(startedAt);
  return took <= limitMs ? [] : [
    `took: expected at most ${limit}, received ${durationText(BigInt(took) * 1_000_000n)}`,
  ];
}
