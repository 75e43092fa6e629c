/** What a callback does to a suspend node that waits. */
import { change, end, markHeader } from "../change.ts";
import { ownerOf } from "../live.ts";
import type { EarlyCallback, NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { publishGlobals } from "./global_outputs.ts";
import { resumeNode, setOutputs } from "./suspend.ts";

/**
 * Ends a waiting node as a callback asks.
 * @throws {Problem | NodeFailure} when the outputs do not fit; the caller has checked them
 */
export function endByCallback(
  turn: Turn,
  node: NodeRecord,
  { verb, digest, outputs = {}, message }: EarlyCallback,
): void {
  const values = new Map(Object.entries(outputs));
  if (verb === "resume" && values.size > 0) {
    const given = setOutputs(node, values);
    change(turn, node, { outputs: given });
    publishGlobals(turn, node, given);
  }
  change(turn, node, { callback: { verb, digest } });
  if (verb === "stop") return end(turn, node, "Failed", message ?? "Stopped by a callback");
  resumeNode(turn, node, "Resumed by a callback", { isByUser: true, isSelected: true });
}

/** Gives a node that begins to wait the callback that came before. @throws as {@link endByCallback} */
export function takeEarly(turn: Turn, node: NodeRecord): void {
  const { header, nodes } = turn.state;
  const early = header.earlyCallbacks;
  if (early === undefined || node.phase !== "Running") return;
  const name = node.role === "attempt" ? ownerOf(nodes, node)?.name ?? "" : node.name;
  const callback = Object.hasOwn(early, name) ? early[name] : undefined;
  if (callback === undefined) return;
  const { [name]: _, ...rest } = early;
  if (Object.keys(rest).length > 0) header.earlyCallbacks = rest;
  else delete header.earlyCallbacks;
  markHeader(turn);
  endByCallback(turn, node, callback);
}
