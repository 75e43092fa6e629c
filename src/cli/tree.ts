/** Draws the node tree of a workflow for `get` and `watch`, with a line for each node. */
import {
  matchesNode,
  type NodeTerm,
  parseNodeFieldSelector,
} from "../expr/selectors/node_field_selector.ts";
import type { NodeStatus, Workflow } from "../spec/manifest.ts";
import { tableLines, terminalText } from "./output.ts";
import { durationMs, span } from "./times.ts";

/** Symbol and ANSI colour of each phase. */
const LOOKS: Record<string, readonly [icon: string, ascii: string, colour: number]> = {
  Succeeded: ["✔", "Succeeded", 32],
  Failed: ["✖", "Failed", 31],
  Error: ["⚠", "Error", 31],
  Running: ["●", "Running", 36],
  Pending: ["◷", "Pending", 33],
  Skipped: ["○", "Skipped", 90],
  Omitted: ["○", "Omitted", 90],
};

/** What the tree shows. */
export interface TreeOptions {
  now: number;
  colour: boolean;
  /** Words and ASCII lines instead of symbols. */
  plain?: boolean;
  /** Columns: `short` leaves out pods, `wide` adds artifacts, resources and hosts. */
  columns?: "short" | "normal" | "wide";
  /** Only nodes of this phase. */
  phase?: string | undefined;
  /** Only nodes that match this node field selector. */
  selector?: string | undefined;
}

interface Branch {
  node: NodeStatus;
  children: Branch[];
}

/** Types of nodes whose children are parts of them, not their successors. */
const GROUPS = new Set(["StepGroup", "TaskGroup", "Retry"]);

/** Symbol of a node's phase. A waiting suspend step has its own. */
function icon({ phase, type }: NodeStatus, plain: boolean): string {
  if (type === "Suspend" && phase === "Running") return plain ? "Suspended" : "ǁ";
  return LOOKS[phase ?? ""]?.[plain ? 1 : 0] ?? (plain ? "Pending" : "◷");
}

/** Colours a text by phase. */
function paint(text: string, phase: string | undefined, colour: boolean): string {
  const code = LOOKS[phase ?? ""]?.[2];
  return colour && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
}

/** Name of the pod of a node: workflow, template and the number at the end of the node's id. "" when it has none. */
export function podNameOf(workflow: string, node: NodeStatus): string {
  if (node.type !== "Pod") return "";
  const template = node.templateRef?.template ?? node.templateName;
  const hash = node.id.slice(node.id.lastIndexOf("-") + 1);
  if (node.id === workflow) return workflow;
  return template === undefined ? node.id : `${workflow}-${template}`.slice(0, 242) + `-${hash}`;
}

function byStart(a: Branch, b: Branch): number {
  return (a.node.startedAt ?? "").localeCompare(b.node.startedAt ?? "") ||
    a.node.name.localeCompare(b.node.name, "en", { numeric: true });
}

/** Name of the node under which a node is drawn when no node lists it as a child, derived from its own name. */
function nameOfParent(name: string): string | undefined {
  return /^(.*)\.(?:onExit|hooks\.[^.]+)$/.exec(name)?.[1] ?? /^(.*)\([^()]*\)$/.exec(name)?.[1];
}

/** The nodes without a parent, each with the nodes below it. */
function branches(workflow: Workflow): Branch[] {
  const all = Object.values(workflow.status?.nodes ?? {}).map((node): Branch => ({
    node,
    children: [],
  }));
  const byId = new Map(all.map((branch) => [branch.node.id, branch]));
  const byName = new Map(all.map((branch) => [branch.node.name, branch]));
  const parentOf = new Map<Branch, Branch>();
  for (const group of all) {
    if (!GROUPS.has(group.node.type)) continue;
    for (const id of group.node.children ?? []) {
      const child = byId.get(id);
      const isNext = child?.node.type === "StepGroup" || child?.node.type === "TaskGroup" &&
          group.node.type === "StepGroup" && !child.node.name.startsWith(group.node.name);
      if (child !== undefined && !isNext) parentOf.set(child, group);
    }
  }
  const root = workflow.metadata.name;
  const roots: Branch[] = [];
  for (const branch of all.sort(byStart)) {
    const { node } = branch;
    const named = byName.get(nameOfParent(node.name) ?? "");
    // The exit handler of the workflow has a tree of its own.
    const parent = node.name === root || node.name === `${root}.onExit`
      ? undefined
      : parentOf.get(branch) ?? named ?? byId.get(node.boundaryID ?? "");
    if (parent === undefined || parent === branch) roots.push(branch);
    else parent.children.push(branch);
  }
  return roots;
}

/** Lines of the tree: headings, then a line for each node. Groups of steps are shown by their members. */
export function treeLines(workflow: Workflow, options: TreeOptions): string[] {
  const drawing = new TreeDrawing(workflow.metadata.name ?? "", options);
  for (const root of branches(workflow)) drawing.addRoot(root);
  return tableLines(headings(options.columns), drawing.rows, 2);
}

function headings(columns: TreeOptions["columns"]): string[] {
  switch (columns) {
    case "short":
      return ["STEP", "TEMPLATE", "DURATION", "MESSAGE"];
    case "wide":
      return [
        ...["STEP", "TEMPLATE", "PODNAME", "DURATION", "ARTIFACTS", "MESSAGE"],
        ...["RESOURCESDURATION", "NODENAME"],
      ];
    default:
      return ["STEP", "TEMPLATE", "PODNAME", "DURATION", "MESSAGE"];
  }
}

const LINES = { more: "├─", last: "└─", down: "│ ", fork: "┬─", on: "──" };
const ASCII_LINES = { more: "|-", last: "`-", down: "| ", fork: "+-", on: "--" };
/** Nodes that have a duration in the tree: those that do something themselves, without suspend steps, which only wait. */
const LEAVES: ReadonlySet<string> = new Set(["Pod", "HTTP", "Plugin", "Container"]);

class TreeDrawing {
  readonly rows: string[][] = [];
  readonly #workflow: string;
  readonly #options: TreeOptions;
  readonly #terms: readonly NodeTerm[];
  readonly #lines: typeof LINES;

  constructor(workflow: string, options: TreeOptions) {
    this.#workflow = workflow;
    this.#options = options;
    this.#terms = parseNodeFieldSelector(options.selector ?? "");
    this.#lines = options.plain === true ? ASCII_LINES : LINES;
  }

  addRoot(root: Branch): void {
    if (this.#holdsShown(root)) this.#add(root, " ", " ");
  }

  readonly #isShown = (node: NodeStatus): boolean => {
    const { phase } = this.#options;
    return (phase === undefined || node.phase === phase) && matchesNode(this.#terms, node);
  };

  /** Tells whether the node or one below it is shown. */
  #holdsShown({ node, children }: Branch): boolean {
    return node.type !== "StepGroup" && this.#isShown(node) ||
      children.some((child) => this.#holdsShown(child));
  }

  /** @param own stands before the node @param lead stands before what is below it */
  #add({ node, children }: Branch, own: string, lead: string): void {
    const below = children.filter((child) => this.#holdsShown(child));
    if (node.type === "StepGroup") return this.#addGroup(below, own, lead);
    const { more, last, down } = this.#lines;
    const isRow = this.#isShown(node);
    if (isRow) this.#addRow(node, own);
    for (const [index, child] of below.entries()) {
      const isLast = index === below.length - 1;
      // A node that is not shown has no line to draw its children under.
      if (!isRow) this.#add(child, index === 0 ? own : lead, lead);
      else this.#add(child, lead + (isLast ? last : more), lead + (isLast ? "  " : down));
    }
  }

  #addGroup(members: readonly Branch[], own: string, lead: string): void {
    const { more, last, down, fork, on } = this.#lines;
    for (const [index, child] of members.entries()) {
      const isLast = index === members.length - 1;
      const first = members.length === 1 ? on : fork;
      const mark = index === 0 ? first : isLast ? last : more;
      this.#add(child, (index === 0 ? own : lead) + mark, lead + (isLast ? "  " : down));
    }
  }

  #addRow(node: NodeStatus, label: string): void {
    const { now, colour, plain, columns } = this.#options;
    const ms = durationMs(node, now);
    const { templateRef } = node;
    const template = templateRef?.template === undefined
      ? node.templateName ?? ""
      : `${templateRef.name}/${templateRef.template}`;
    const hasDuration = ms !== undefined && LEAVES.has(node.type);
    const symbol = paint(icon(node, plain === true), node.phase, colour);
    const isWide = columns === "wide";
    const artifacts = node.outputs?.artifacts ?? [];
    this.rows.push([
      `${label}${symbol} ${terminalText(node.displayName ?? node.name)}`,
      template,
      ...(columns === "short" ? [] : [podNameOf(this.#workflow, node)]),
      hasDuration ? span(ms) : "",
      ...(isWide ? [artifacts.map(({ name }) => name).join(",")] : []),
      terminalText(node.message ?? "").replaceAll("\n", " "),
      ...(isWide ? [resourcesText(node.resourcesDuration), node.hostNodeName ?? ""] : []),
    ]);
  }
}

const RESOURCE_UNITS: Record<string, string> = {
  memory: "100Mi memory",
  storage: "10Gi storage",
  "ephemeral-storage": "10Gi ephemeral-storage",
};

/** `3s*(1 cpu),40s*(100Mi memory)`. */
export function resourcesText(resources: Record<string, number> | undefined): string {
  return Object.entries(resources ?? {}).sort(([a], [b]) => a < b ? -1 : 1).map(
    ([name, seconds]) => `${span(seconds * 1000)}*(${RESOURCE_UNITS[name] ?? `1 ${name}`})`,
  ).join(",");
}
