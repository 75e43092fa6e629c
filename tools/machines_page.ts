/** Writes `docs/machines.md`: the state machines as pictures, drawn from their definitions. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AnyStateMachine, AnyStateNode } from "xstate";
import { eventWorkerMachine } from "../src/actors/event_worker_machine.ts";
import { shardMachine } from "../src/actors/shard_machine.ts";
import { workflowMachine } from "../src/actors/workflow_machine.ts";

export const MACHINES_PAGE: string = join(import.meta.dirname, "../docs/machines.md");

interface Picture {
  title: string;
  source: string;
  about: string;
  machine: AnyStateMachine;
}

const PICTURES: readonly Picture[] = [
  {
    title: "A workflow",
    source: "workflow_machine.ts",
    about:
      "One for each workflow; its state is stored with it. An event runs a function of the engine, " +
      "and the state follows from what that function left. Events without a state of their own are taken in every state.",
    machine: workflowMachine,
  },
  {
    title: "A shard",
    source: "shard_machine.ts",
    about:
      "One for each shard in each replica: asks for the lease, loads, owns, hands over. Never stored.",
    machine: shardMachine,
  },
  {
    title: "An event worker",
    source: "event_worker_machine.ts",
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

/** The name of a guard that has one; the workflow machine's `is` says no more than the arrow itself. */
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
    if (target === undefined) continue;
    const name = guardName(transition.guard);
    const condition = name === "" || name === "is" ? "" : `[${name}]`;
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

/** The page as Markdown. */
export function machinesPage(): string {
  const lines = [
    "# State machines",
    "",
    "Drawn from `src/actors` by `deno run -A tools/machines_page.ts`; a test keeps the pictures true.",
  ];
  for (const { title, source, about, machine } of PICTURES) {
    lines.push("", `## ${title}`, "", `\`src/actors/${source}\`. ${about}`, "");
    const everywhere = [...machine.root.transitions.keys()].map((event) => `\`${event}\``);
    if (everywhere.length > 0) lines.push(`In every state: ${everywhere.join(", ")}.`, "");
    lines.push(...diagram(machine));
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) await writeFile(MACHINES_PAGE, machinesPage());
