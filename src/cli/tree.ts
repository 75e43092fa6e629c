/** Draws the node tree of a workflow for `get` and `submit --watch`: pure, one line a node. */
import type { NodeStatus, Workflow } from "../spec/manifest.ts";

const ICONS: Record<string, string> = {
  Succeeded: "✔",
  Failed: "✖",
  Error: "⚠",
  Running: "●",
  Pending: "◷",
  Skipped: "○",
  Omitted: "○",
};

/** ANSI colour numbers by phase. */
const COLOURS: Record<string, number> = {
  Succeeded: 32,
  Failed: 31,
  Error: 31,
  Running: 36,
  Pending: 33,
  Skipped: 90,
  Omitted: 90,
};

/** Icon of a phase; a waiting suspend step has its own. */
export function icon(phase: string | undefined, type?: string): string {
  if (type === "Suspend" && phase === "Running") return "ǁ";
  return ICONS[phase ?? ""] ?? "◷";
}

export function paint(text: string, phase: string | undefined, colour: boolean): string {
  const code = COLOURS[phase ?? ""];
  return colour && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
}

/** `1h2m`, `3m4s`, `5s`; rounded down to the two largest units. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const units: [string, number][] = [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]];
  let rest = seconds;
  const parts: string[] = [];
  for (const [name, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 && parts.length < 2) parts.push(`${count}${name}`);
    else if (parts.length > 0) break;
  }
  return parts.join("") || "0s";
}

/** Milliseconds from start to end, or to `now` while it runs; undefined before the start. */
export function durationMs(
  part: { startedAt: string | null; finishedAt: string | null } | undefined,
  now: number,
): number | undefined {
  if (!part?.startedAt) return undefined;
  return (part.finishedAt ? Date.parse(part.finishedAt) : now) - Date.parse(part.startedAt);
}

/** Name of the node that a node hangs under in the picture, derived from names as the engine makes them. */
function parentName(
  node: NodeStatus,
  byName: Map<string, NodeStatus>,
  byId: Map<string, NodeStatus>,
): string | undefined {
  const hook = /^(.*)\.(?:onExit|hooks\.[^.]+)$/.exec(node.name)?.[1];
  if (hook !== undefined && byName.has(hook)) return hook;
  const base = /^(.*)\([^()]*\)$/.exec(node.name)?.[1];
  if (base !== undefined && byName.has(base)) return base;
  return node.boundaryID === undefined ? undefined : byId.get(node.boundaryID)?.name;
}

function byStart(a: NodeStatus, b: NodeStatus): number {
  return (a.startedAt ?? "").localeCompare(b.startedAt ?? "") ||
    a.name.localeCompare(b.name, "en", { numeric: true });
}

/** Lines of the tree: a header, then one line a node; step groups are shown by their members. */
export function treeLines(workflow: Workflow, options: { now: number; colour: boolean }): string[] {
  const nodes = Object.values(workflow.status?.nodes ?? {}).filter((node) =>
    node.type !== "StepGroup"
  );
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const children = new Map<string, NodeStatus[]>();
  const roots: NodeStatus[] = [];
  for (const node of nodes.sort(byStart)) {
    const parent = parentName(node, byName, byId);
    if (parent === undefined || parent === node.name) roots.push(node);
    else children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const rows: {
    label: string;
    phase: string | undefined;
    template: string;
    duration: string;
    message: string;
  }[] = [];
  const walk = (node: NodeStatus, lead: string, own: string) => {
    const ms = durationMs(node, options.now);
    const template = node.templateRef?.template === undefined
      ? node.templateName ?? ""
      : `${node.templateRef.name}/${node.templateRef.template}`;
    rows.push({
      label: `${own}${icon(node.phase, node.type)} ${node.displayName ?? node.name}`,
      phase: node.phase,
      template,
      duration: ms === undefined ? "" : span(ms),
      message: (node.message ?? "").replaceAll("\n", " "),
    });
    const below = children.get(node.name) ?? [];
    below.forEach((child, index) => {
      const last = index === below.length - 1;
      walk(child, lead + (last ? "  " : "│ "), lead + (last ? "└─" : "├─"));
    });
  };
  for (const root of roots) walk(root, " ", "");
  const width = (pick: (row: (typeof rows)[number]) => string, head: string) =>
    Math.max(head.length, ...rows.map((row) => pick(row).length));
  const [a, b, c] = [
    width((r) => r.label, "STEP"),
    width((r) => r.template, "TEMPLATE"),
    width((r) => r.duration, "DURATION"),
  ];
  const head = `${"STEP".padEnd(a)}  ${"TEMPLATE".padEnd(b)}  ${"DURATION".padEnd(c)}  MESSAGE`;
  return [
    head,
    ...rows.map((row) =>
      `${paint(row.label.padEnd(a), row.phase, options.colour)}  ${row.template.padEnd(b)}  ${
        row.duration.padEnd(c)
      }  ${row.message}`
        .trimEnd()
    ),
  ];
}
