/** Writes `docs/machines.md`: the state machines as pictures and tables, drawn from their definitions. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AnyStateMachine, AnyStateNode } from "xstate";
import { eventWorkerMachine } from "../src/service/events/worker_machine.ts";
import { shardMachine } from "../src/actors/replicas/shard_machine.ts";
import { workflowMachine } from "../src/actors/workflow/machine.ts";
import {
  type RefusalName,
  REFUSALS,
  REPORTS,
  type StateOfLife,
  VERBS,
} from "../src/engine/life/statechart.ts";

export const MACHINES_PAGE: string = join(import.meta.dirname, "../docs/machines.md");

interface Picture {
  title: string;
  source: string;
  about: string;
  machine: AnyStateMachine;
  /** What follows the picture. */
  more?: () => string[];
}

const PICTURES: readonly Picture[] = [
  {
    title: "A workflow",
    source: "engine/life/statechart.ts",
    about:
      "The chart of a workflow's life. Users send requests (suspend, resume, stop, terminate, retry, set), and the engine " +
      "reports what has happened to the nodes. The chart alone decides which requests are refused, and which state and phase " +
      "follow. A new workflow is pending, unless its manifest makes it suspended, stopping or terminating. The picture leaves " +
      "out arrows from a state to itself.",
    machine: workflowMachine,
    more: lifeTables,
  },
  {
    title: "A shard",
    source: "actors/replicas/shard_machine.ts",
    about:
      "One for each shard in each replica: asks for the lease, loads, owns, hands over. Never stored.",
    machine: shardMachine,
  },
  {
    title: "An event worker",
    source: "service/events/worker_machine.ts",
    about: "`--event-worker-count` of them in each replica. Never stored.",
    machine: eventWorkerMachine,
  },
];

/** What the arrows say about transitions that no event causes. */
function label(descriptor: string): string {
  if (descriptor === "") return "";
  const done = /^xstate\.(done|error)\.actor\.\d+\.[^.]*\.?(.*)$/.exec(descriptor);
  if (done === null) return descriptor;
  return done[1] === "done" ? "done" : "trouble";
}

/** The name of a guard that has one. */
function guardName(guard: unknown): string {
  if (typeof guard === "string") return guard;
  const named = typeof guard === "object" && guard !== null && "type" in guard;
  return named ? String(guard.type) : "";
}

/** Arrows out of one state: from, to, label. */
function arrowsOf(state: AnyStateNode): [string, string, string][] {
  const arrows: [string, string, string][] = [];
  const transitions = [...state.always ?? [], ...[...state.transitions.values()].flat()];
  for (const transition of transitions) {
    const target = transition.target?.[0];
    if (target === undefined || target === state) continue;
    const name = guardName(transition.guard);
    const condition = name === "" ? "" : `[${name}]`;
    const text = [label(transition.eventType), condition].filter((part) => part !== "").join(" ");
    arrows.push([state.key, target.key, text]);
  }
  return arrows;
}

/** The machine as a Mermaid state diagram. Arrows between the same two states become one. */
function diagram(machine: AnyStateMachine): string[] {
  const { root } = machine;
  const first = root.initial.target?.[0]?.key;
  const lines = ["```mermaid", "stateDiagram-v2", `  [*] --> ${first}`];
  for (const state of Object.values(root.states) as AnyStateNode[]) {
    const labels = new Map<string, Set<string>>();
    for (const [, to, text] of arrowsOf(state)) {
      const known = labels.get(to) ?? new Set<string>();
      labels.set(to, known.add(text));
    }
    for (const [to, texts] of labels) {
      const text = [...texts].filter((part) => part !== "").join(", ");
      lines.push(`  ${state.key} --> ${to}${text === "" ? "" : `: ${text}`}`);
    }
    if (state.type === "final") lines.push(`  ${state.key} --> [*]`);
  }
  return [...lines, "```"];
}

type Named = [name: string, state: AnyStateNode];

/** Refusals, in the order of their numbers in the tables. */
const NUMBERED = Object.keys(REFUSALS) as RefusalName[];

/** Where an event leads from a state: outcomes in the order in which their guards are checked. */
function cell(state: AnyStateNode, event: string): string {
  const parts = (state.transitions.get(event) ?? []).map((transition) => {
    const refusal = (transition as { meta?: { refusal?: RefusalName } }).meta?.refusal;
    const target = transition.target?.[0];
    const where = refusal !== undefined
      ? `refused (${NUMBERED.indexOf(refusal) + 1})`
      : target === state
      ? "stays"
      : `**${target?.key}**`;
    const name = guardName(transition.guard);
    return name === "" ? where : `[${name}] ${where}`;
  });
  return parts.join("; ");
}

function table(head: string, states: readonly Named[], events: readonly string[]): string[] {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    row([head, ...events.map((event) => `\`${event}\``)]),
    row(["---", ...events.map(() => "---")]),
    ...states.map(([name, state]) => row([name, ...events.map((event) => cell(state, event))])),
  ];
}

/** Where requests and reports lead from each state of a workflow's life, and which phases the states may show. */
function lifeTables(): string[] {
  const states: Named[] = Object.entries(workflowMachine.root.states);
  const phases = states.map(([name, { meta }]) => {
    const shown = (meta as StateOfLife["meta"]).phases.map((phase) => `\`"${phase}"\``);
    return `| ${name} | ${shown.join(", ")} |`;
  });
  return [
    "Requests of users. `[guard]` before an outcome: it applies only if the guard holds; otherwise the next outcome does. " +
    "Guards are functions in the same file.",
    "",
    ...table("state", states, VERBS),
    "",
    "Refusals:",
    "",
    ...NUMBERED.map((name, at) => {
      const { code, text } = REFUSALS[name];
      return `${at + 1}. ${code}: \`${text}\``;
    }),
    "",
    "Reports of the engine. Empty: the report has no effect in this state.",
    "",
    ...table("state", states, REPORTS),
    "",
    "Phases that a workflow may show in each state:",
    "",
    "| state | phases |",
    "| --- | --- |",
    ...phases,
  ];
}

/** The page as Markdown. */
export function machinesPage(): string {
  const lines = [
    "# State machines",
    "",
    "Made from the machines by `deno run -A tools/machines_page.ts`; a test keeps the page true.",
  ];
  for (const { title, source, about, machine, more } of PICTURES) {
    lines.push("", `## ${title}`, "", `\`src/${source}\`. ${about}`, "", ...diagram(machine));
    if (more !== undefined) lines.push("", ...more());
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) await writeFile(MACHINES_PAGE, machinesPage());
