/**
 * Requests about single nodes that wait: resume, set, and stop with a selector. A request about many nodes is noted and
 * carried out in several turns. Until it is done the workflow does nothing else, as if it had been one turn.
 */
import { errorText } from "../../base/error_text.ts";
import { invalid, Problem } from "../../base/problem.ts";
import type { NodePhase } from "../../spec/manifest.ts";
import { change, end } from "../change.ts";
import type { ControlRequest, User } from "../command.ts";
import type { NodeOrder, NodeRequest } from "../ongoing.ts";
import { NodeFailure } from "../failure.ts";
import { publishGlobals } from "../nodes/global_outputs.ts";
import { LIVE } from "../live.ts";
import { mayChangeAtOnce, mayChangeMore, noteReplaced } from "../turn_budget.ts";
import type { WorkflowState } from "../state.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { parseJson } from "../scope/raw_json.ts";
import { resumeNode, setOutputs } from "../nodes/suspend.ts";

/** Carries out a request for nodes that wait. The request must have been checked. */
export function applyTo(turn: Turn, request: NodeRequest, nodes: readonly NodeRecord[]): void {
  const size = nodes.reduce((sum, node) => sum + node[LIVE].size, 0);
  if (nodes.length <= 1 || mayChangeAtOnce(nodes.length, size)) {
    for (const node of nodes) applyToOne(turn, request, node);
    return;
  }
  const { state } = turn;
  const order: NodeOrder = { request, nodes: nodes.map(({ id }) => id).reverse() };
  state.orders = [...state.orders ?? [], order];
  state.pending.orders = true;
}

/** Continues requests about many nodes for as long as the turn lasts. True when they are done. */
export function goOnWithOrders(turn: Turn): boolean {
  const { state } = turn;
  if (state.orders === undefined) return true;
  state.pending.orders = true;
  let changed = 0;
  for (const { request, nodes } of state.orders) {
    for (; nodes.length > 0; nodes.pop()) {
      if (!mayChangeMore(turn, changed++)) return false;
      const node = state.nodes.get(nodes.at(-1) ?? "");
      // It may have ended in the meantime.
      if (node?.type === "Suspend" && node.phase === "Running") applyIfItFits(turn, request, node);
      noteReplaced(turn, node?.[LIVE].size ?? 0);
    }
  }
  dropOrders(state);
  // As after every request: what a user does shows no progress by itself.
  state.runtime.seenRevision = state.runtime.revision;
  return true;
}

const NONE: ReadonlySet<string> = new Set();

/** Nodes that earlier requests are about to end. Later requests do not find them. */
export function nodesToEnd({ orders }: WorkflowState): ReadonlySet<string> {
  if (orders === undefined) return NONE;
  const ids = new Set<string>();
  for (const { request, nodes } of orders) {
    const endsThem = request.type !== "set" || (request.phase ?? "") !== "";
    if (endsThem) { for (const id of nodes) ids.add(id); }
  }
  return ids;
}

/** The requests about many nodes are done, or are given up. */
export function dropOrders(state: WorkflowState): void {
  if (state.orders === undefined) return;
  delete state.orders;
  state.pending.orders = true;
}

/** Carries out a request for a node, unless the node has changed so that the request no longer fits. */
function applyIfItFits(turn: Turn, request: NodeRequest, node: NodeRecord): void {
  try {
    applyToOne(turn, request, node);
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof NodeFailure)) throw error;
  }
}

function applyToOne(turn: Turn, request: NodeRequest, node: NodeRecord): void {
  switch (request.type) {
    case "resume":
      return resumeOne(turn, request, node);
    case "set":
      return setOne(turn, request, node);
    case "stop":
      return end(turn, node, "Failed", request.message ?? node.message, { isByUser: true });
  }
}

function resumeOne(
  turn: Turn,
  { user, nodeFieldSelector = "" }: Extract<ControlRequest, { type: "resume" }>,
  node: NodeRecord,
): void {
  const text = resumedBy(user);
  if (nodeFieldSelector !== "") {
    resumeNode(turn, node, text ?? node.message, { isByUser: true, isSelected: true });
    return;
  }
  // Intentionally also without a user: clients know the text with its trailing separator.
  const message = node.message === undefined ? text : `${node.message}; ${text ?? ""}`;
  resumeNode(turn, node, message, { isByUser: true });
}

function setOne(
  turn: Turn,
  { phase = "", message = "", outputParameters = "" }: Extract<ControlRequest, { type: "set" }>,
  node: NodeRecord,
): void {
  const values = parseOutputs(outputParameters);
  if (values.size > 0) {
    const outputs = setOutputs(node, values);
    change(turn, node, { outputs });
    publishGlobals(turn, node, outputs);
  }
  const text = message === "" ? node.message : message;
  if (phase !== "") end(turn, node, phase as NodePhase, text, { isByUser: true });
  else if (text !== node.message) change(turn, node, { message: text });
}

/** `Resumed by: NAME (EMAIL)`; undefined when the user is not known. */
function resumedBy(user: User | undefined): string | undefined {
  const { email = "", preferredUsername = "", subject = "" } = user ?? {};
  const name = preferredUsername === "" ? subject : preferredUsername;
  if (name === "") return email === "" ? undefined : `Resumed by: ${email}`;
  return email === "" ? `Resumed by: ${name}` : `Resumed by: ${name} (${email})`;
}

/** Reads values of outputs by name. @throws {Problem} InvalidArgument when they are not an object of strings */
export function parseOutputs(text: string): Map<string, string> {
  if (text === "") return new Map();
  const refuse = (reason: string) =>
    invalid(`unable to parse output parameter set request: ${reason}`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw refuse(errorText(error));
  }
  // `null` is no object at all, as in the reference.
  if (value === null) return new Map();
  if (typeof value !== "object" || Array.isArray(value)) {
    throw refuse("expected an object of strings");
  }
  return new Map(
    Object.entries(value).map(([name, one]) => {
      if (typeof one !== "string") throw refuse(`value of '${name}' is not a string`);
      return [name, one];
    }),
  );
}
