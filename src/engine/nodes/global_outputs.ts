/**
 * Outputs that are published for the whole workflow. Of several writers the one that was created last wins, whenever it
 * reports; but a template wins against what is inside it.
 */
import type { Artifact, Outputs, Parameter } from "../../spec/manifest.ts";
import { markHeader } from "../change.ts";
import { membersOf } from "../live.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** The outputs that have a global name and, if they are parameters, a value; under that name. */
export function globalsOf(outputs: Outputs): Required<Pick<Outputs, "parameters" | "artifacts">> {
  const parameters: Parameter[] = [];
  for (const { globalName: name = "", value } of outputs.parameters ?? []) {
    if (name !== "" && value !== undefined) parameters.push({ name, value });
  }
  const artifacts: Artifact[] = [];
  for (const { globalName: name = "", path: _path, ...artifact } of outputs.artifacts ?? []) {
    if (name !== "") artifacts.push({ ...artifact, name });
  }
  return { parameters, artifacts };
}

/** Publishes the outputs of a node that have a global name. */
export function publishGlobals(turn: Turn, node: NodeRecord, outputs: Outputs): void {
  const found = globalsOf(outputs);
  const parameters = found.parameters.filter(({ name }) => mayWrite(turn, node, `p/${name}`));
  const artifacts = found.artifacts.filter(({ name }) => mayWrite(turn, node, `a/${name}`));
  if (parameters.length === 0 && artifacts.length === 0) return;
  const { header } = turn.state;
  header.outputs = withGlobals(header.outputs, { parameters, artifacts });
  markHeader(turn);
}

function mayWrite(turn: Turn, node: NodeRecord, key: string): boolean {
  // Changed in place: a loop may publish thousands.
  const writers = turn.state.header.outputWriters ??= {};
  const last = writers[key] ?? -1;
  const order = last > node.order ? lastOrderIn(node) : node.order;
  if (last > order) return false;
  writers[key] = order;
  return true;
}

/** The highest creation order in a node: what is inside a template was created after it, but reports before it. */
function lastOrderIn(node: NodeRecord): number {
  let last = node.order;
  const open = [node];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    last = Math.max(last, one.order);
    for (const member of membersOf(one)) open.push(member);
  }
  return last;
}

/** Published outputs with further ones, which take the places of others of their names. What is shown elsewhere stays as it is. */
export function withGlobals(
  known: Outputs = {},
  { parameters, artifacts }: ReturnType<typeof globalsOf>,
): Outputs {
  return {
    ...known,
    ...(parameters.length === 0 ? {} : { parameters: replaced(known.parameters, parameters) }),
    ...(artifacts.length === 0 ? {} : { artifacts: replaced(known.artifacts, artifacts) }),
  };
}

function replaced<T extends { name: string }>(known: readonly T[] = [], items: readonly T[]): T[] {
  // The last one of a name counts, in the place of the first.
  const byName = new Map(items.map((item) => [item.name, item]));
  const kept = known.map((item) => {
    const other = byName.get(item.name);
    byName.delete(item.name);
    return other ?? item;
  });
  return [...kept, ...byName.values()];
}
