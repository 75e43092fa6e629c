/**
 * Sends events with k6 while replica pods are deleted one after another and an upgrade rolls, then checks the ledger.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Workflow } from "../../src/spec/manifest.ts";
import { runBeside } from "./cluster.ts";
import { needProgram } from "./programs.ts";
import type { Release } from "./release.ts";
import { must, type Transcript, until } from "./transcript.ts";

export interface EventsSetting {
  /** Events per second. */
  rate: number;
  /** Shortest length of the load. */
  seconds: number;
}

interface Summary {
  metrics: Record<string, { count?: number; "p(99)"?: number; med?: number }>;
}

/** Runs the step; returns the ledger in words. @throws {Error} if an event was lost or made two workflows */
export function eventsWhileReplicasGo(
  release: Release,
  setting: EventsSetting,
  transcript: Transcript,
): Promise<string> {
  return eventsDuring(() => trouble(release, transcript), release, setting, transcript);
}

/** Sends events as long as something else takes; returns the ledger in words. @throws {Error} if one was lost or made two workflows */
export async function eventsDuring(
  act: () => Promise<void>,
  release: Release,
  { rate, seconds }: EventsSetting,
  transcript: Transcript,
): Promise<string> {
  const { namespace } = release;
  await release.call("POST", `/api/v1/workflow-templates/${namespace}`, {
    template: {
      metadata: { name: "hold" },
      spec: {
        entrypoint: "main",
        arguments: { parameters: [{ name: "n", value: "" }] },
        templates: [{ name: "main", suspend: {} }],
      },
    },
  });
  await release.call("POST", `/api/v1/workflow-event-bindings/${namespace}`, {
    binding: {
      metadata: { name: "ledger" },
      spec: {
        event: { selector: 'discriminator == "ledger"' },
        submit: {
          workflowTemplateRef: { name: "hold" },
          arguments: { parameters: [{ name: "n", valueFrom: { event: "payload.n" } }] },
        },
      },
    },
  });
  let isTrouble = true;
  const troubled = act().finally(() => (isTrouble = false));
  troubled.catch(() => {});
  const rounds: Round[] = [];
  const from = performance.now();
  // As long as the caller asked for, and at least until the fault is over.
  while (isTrouble || performance.now() - from < seconds * 1000) {
    const offset = rounds.reduce((sum, { accepted }) => sum + accepted, 0);
    rounds.push(await postRound(release, rate, offset, transcript));
  }
  await troubled;
  const accepted = rounds.reduce((sum, round) => sum + round.accepted, 0);
  const repeated = rounds.reduce((sum, round) => sum + round.repeated, 0);
  const made = await until("workflow for each event", 90, async () => {
    const counts = await workflowsByNumber(release);
    return counts.size >= accepted ? counts : undefined;
  });
  const lost = Array.from({ length: accepted }, (_, n) => String(n)).filter((n) => !made.has(n));
  const twice = [...made].filter(([, count]) => count > 1);
  must(lost.length === 0, `Lost: ${lost.join(" ")}`);
  must(twice.length === 0, `Twice: ${twice.map(([n]) => n).join(" ")}`);
  const worst = (pick: (round: Round) => number) => Math.max(...rounds.map(pick)).toFixed(0);
  return `${accepted} events accepted at ${rate}/s (answers of the worst ${ROUND_SECONDS} s: p50 ${
    worst(({ p50 }) => p50)
  } ms, p99 ${
    worst(({ p99 }) => p99)
  } ms), ${repeated} of them at a later attempt; ${made.size} workflows: 0 lost, 0 twice`;
}

/** Result of one k6 run. */
interface Round {
  accepted: number;
  repeated: number;
  /** Latencies of answers, ms. */
  p50: number;
  p99: number;
}

const ROUND_SECONDS = 20;

/** Posts the numbers from `offset` on for a while; every one of them is accepted in the end. */
async function postRound(
  release: Release,
  rate: number,
  offset: number,
  transcript: Transcript,
): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-ledger-"));
  try {
    const file = join(folder, "summary.json");
    const script = "test/cluster/ledger.k6.ts";
    const told = await runBeside(
      [needProgram("k6"), "run", "--quiet", "--summary-export", file, script],
      {
        BASE: release.url,
        NAMESPACE: release.namespace,
        TOKEN: release.token,
        RATE: String(rate),
        OFFSET: String(offset),
        DURATION: `${ROUND_SECONDS}s`,
      },
    );
    for (const line of told.split("\n").filter((text) => text.includes(" attempt "))) {
      transcript.say(`  ${line.trim()}`);
    }
    const { metrics } = JSON.parse(readFileSync(file, "utf8")) as Summary;
    const accepted = metrics["ledger_accepted"]?.count ?? 0;
    must(accepted > 0, "No event was accepted");
    const { "p(99)": p99 = 0, med: p50 = 0 } = metrics["http_req_duration"] ?? {};
    return { accepted, repeated: metrics["ledger_repeated"]?.count ?? 0, p50, p99 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deletes two replicas one after the other, kills one, then rolls an upgrade. */
async function trouble(release: Release, transcript: Transcript): Promise<void> {
  for (const [index, { metadata }] of (await release.replicas()).entries()) {
    transcript.say(`  replica ${index + 1} deleted`);
    await release.deletePod(metadata.name);
    await release.ready();
  }
  const [first] = await release.replicas();
  must(first !== undefined, "no replica");
  transcript.say("  a replica killed");
  await release.deletePod(first.metadata.name, true);
  await release.ready();
  transcript.say("  upgrade rolls");
  await release.upgrade("podAnnotations.roll=two");
  transcript.say("  upgrade done");
}

/** Counts the workflows for each number. */
async function workflowsByNumber(release: Release): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let token = "";
  do {
    const query = new URLSearchParams({
      "listOptions.limit": "1000",
      "listOptions.continue": token,
      "listOptions.labelSelector": "workflows.argoproj.io/workflow-event-binding=ledger",
      fields: "metadata,items.spec.arguments",
    });
    const { items, metadata } = await release.call<{
      items: Workflow[] | null;
      metadata: { continue?: string };
    }>("GET", `/api/v1/workflows/${release.namespace}?${query}`);
    for (const { spec } of items ?? []) {
      const n = String(spec.arguments?.parameters?.find(({ name }) => name === "n")?.value);
      counts.set(n, (counts.get(n) ?? 0) + 1);
    }
    token = metadata.continue ?? "";
  } while (token !== "");
  return counts;
}
