/** Draws the node tree of a workflow for `get` and `watch`: pure, one line a node. */
import type { FieldTerm } from "../expr/field_selector.ts";
import { matchesNode, parseNodeFieldSelector } from "../expr/node_field_selector.ts";
import type { NodeStatus, Workflow } from "../spec/manifest.ts";
import { tableLines } from "./output.ts";
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
  /** Columns: `short` has no pod names, `wide` has artifacts, resources and hosts too. */
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

/** A node whose children are parts of itself, not what comes after it. */
const GROUPS = new Set(["StepGroup", "TaskGroup", "Retry"]);

/** Symbol of a phase; a waiting suspend step has its own. */
function icon({ phase, type }: NodeStatus, plain: boolean): string {
  if (type === "Suspend" && phase === "Running") return plain ? "Suspended" : "ǁ";
  return LOOKS[phase ?? ""]?.[plain ? 1 : 0] ?? (plain ? "Pending" : "◷");
}

/** Colours a text as its phase is. */
export function paint(text: string, phase: string | undefined, colour: boolean): string {
  const code = LOOKS[phase ?? ""]?.[2];
  return colour && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
}

/** Name of the pod of a node: workflow, template and the number that ends the node's id. Empty when it has none. */
function podName(workflow: string, node: NodeStatus): string {
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

/** Node that one hangs under in the picture when nothing lists it, from its name as the engine makes them. */
function nameOfParent(name: string): string | undefined {
  return /^(.*)\.(?:onExit|hooks\.[^.]+)$/.exec(name)?.[1] ?? /^(.*)\([^()]*\)$/.exec(name)?.[1];
}

/** The nodes without a parent, each with what is below it. */
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
    // The exit handler of the whole workflow has a tree of its own.
    const parent = node.name === root || node.name === `${root}.onExit`
      ? undefined
      : parentOf.get(branch) ?? named ?? byId.get(node.boundaryID ?? "");
    if (parent === undefined || parent === branch) roots.push(branch);
    else parent.children.push(branch);
  }
  return roots;
}

/** Lines of the tree: a header, then one line a node; groups of steps are shown by their members. */
export function treeLines(workflow: Workflow, options: TreeOptions): string[] {
  const columns = options.columns ?? "normal";
  const isPlain = options.plain === true;
  const terms: readonly FieldTerm[] = parseNodeFieldSelector(options.selector ?? "");
  const isShown = (node: NodeStatus) =>
    (options.phase === undefined || node.phase === options.phase) && matchesNode(terms, node);
  const marks = isPlain
    ? { more: "|-", last: "`-", down: "| ", fork: "+-", on: "--" }
    : { more: "├─", last: "└─", down: "│ ", fork: "┬─", on: "──" };
  const rows: string[][] = [];
  const row = (label: string, node: NodeStatus) => {
    const ms = durationMs(node, options.now);
    const template = node.templateRef?.template === undefined
      ? node.templateName ?? ""
      : `${node.templateRef.name}/${node.templateRef.template}`;
    const isLeaf = node.type === "Pod" || node.type === "Suspend" || node.type === "HTTP" ||
      node.type === "Plugin" || node.type === "Container";
    rows.push([
      `${label}${paint(icon(node, isPlain), node.phase, options.colour)} ${
        node.displayName ?? node.name
      }`,
      template,
      ...(columns === "short" ? [] : [podName(workflow.metadata.name ?? "", node)]),
      ms === undefined || node.type === "Suspend" || !isLeaf ? "" : span(ms),
      ...(columns === "wide"
        ? [(node.outputs?.artifacts ?? []).map(({ name }) => name).join(",")]
        : []),
      (node.message ?? "").replaceAll("\n", " "),
      ...(columns === "wide"
        ? [resourcesText(node.resourcesDuration), node.hostNodeName ?? ""]
        : []),
    ]);
  };
  // `own` precedes the node, `lead` what is below it.
  const walk = (branch: Branch, own: string, lead: string): void => {
    const { node } = branch;
    const below = branch.children.filter((child) => holdsShown(child, isShown));
    if (node.type === "StepGroup") {
      below.forEach((child, index) => {
        const isLast = index === below.length - 1;
        const first = below.length === 1 ? marks.on : marks.fork;
        const mark = index === 0 ? first : isLast ? marks.last : marks.more;
        walk(child, (index === 0 ? own : lead) + mark, lead + (isLast ? "  " : marks.down));
      });
      return;
    }
    const isRow = isShown(node);
    if (isRow) row(own, node);
    below.forEach((child, index) => {
      const isLast = index === below.length - 1;
      // Below a node that is not shown there is nothing to hang on.
      if (!isRow) walk(child, index === 0 ? own : lead, lead);
      else {
        walk(
          child,
          lead + (isLast ? marks.last : marks.more),
          lead + (isLast ? "  " : marks.down),
        );
      }
    });
  };
  for (const root of branches(workflow)) if (holdsShown(root, isShown)) walk(root, " ", " ");
  const head = ["STEP", "TEMPLATE", "PODNAME", "DURATION", "MESSAGE"];
  if (columns === "short") head.splice(2, 1);
  if (columns === "wide") {
    head.splice(4, 0, "ARTIFACTS");
    head.push("RESOURCESDURATION", "NODENAME");
  }
  return tableLines(head, rows, 2);
}

/** Tells whether the node or one below it is shown. */
function holdsShown({ node, children }: Branch, isShown: (node: NodeStatus) => boolean): boolean {
  return node.type !== "StepGroup" && isShown(node) ||
    children.some((child) => holdsShown(child, isShown));
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
