/** New nodes, with what follows from their calls and templates. */
import type { NodePhase, NodeType, RetryStrategy, Template } from "../../spec/manifest.ts";
import { NodeFailure } from "../failure.ts";
import { blankNode, type NodeRecord } from "../records.ts";
import type { Call, Work } from "../scope/call.ts";
import { displayNameOf, nodeId } from "../scope/names.ts";
import { ownSetting } from "../scope/own_settings.ts";
import { planOf } from "../scope/template_plan.ts";
import { workflowName } from "../state.ts";
import type { Turn } from "../turn.ts";

/** A new node with what follows from its call. @param template if the node runs one */
export function newNode(
  turn: Turn,
  call: Call,
  type: NodeType,
  phase: NodePhase,
  template?: Template,
): NodeRecord {
  const { name, holder, boundary } = call;
  const custom = template?.annotations?.[`${turn.env.labelPrefix}display-name`];
  // The retry node has the name; its attempts are told apart by theirs.
  const isValid = custom !== undefined && call.role !== "attempt" &&
    /^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$/.test(custom);
  const isWhole = call.role === "member" && call.index === undefined;
  const shown = isValid ? custom : isWhole ? call.step : undefined;
  const node = blankNode(
    nodeId(workflowName(turn.state), name),
    name,
    shown ?? displayNameOf(name, boundary?.name),
    call.role,
    type,
    phase,
  );
  node.owner = call.owner?.id;
  node.boundary = boundary?.id;
  node.step = call.step;
  node.index = call.index;
  if (call.hook !== undefined) node.hook = call.hook;
  node.parents = call.parents;
  node.after = call.after;
  if (holder.templateRef === undefined) node.templateName = holder.template;
  else node.templateRef = holder.templateRef;
  node.templateScope = call.context.text;
  node.startedAt = turn.env.now;
  node.nodeFlag = call.flag;
  if (call.isExit) node.isExit = true;
  if (template?.daemon === true && type === "Pod") node.isDaemon = true;
  return node;
}

/** The retry strategy in force. */
export function retryStrategyOf(turn: Turn, template: Template): RetryStrategy | undefined {
  return template.retryStrategy ?? ownSetting(turn, "retryStrategy");
}

/** The type of a node that runs a template without retries. @throws {NodeFailure} when the template has no body */
export function getBodyType({ written, template }: Work): NodeType {
  const { type } = planOf(written);
  if (type !== undefined) return type;
  throw new NodeFailure(`Template '${template.name ?? ""}' missing specification`);
}
