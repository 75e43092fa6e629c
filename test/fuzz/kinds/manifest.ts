/**
 * Manifests: read, checked, created over the API, run on a host with scripted steps, listed and deleted; those that stay
 * small also on simulated time, forgotten and loaded again after every commit.
 */
import fc from "fast-check";
import { Problem } from "../../../src/base/problem.ts";
import { Simulation } from "../../../src/simulation/simulation.ts";
import { lintManifests } from "../../../src/spec/lint.ts";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { parseDocuments } from "../../../src/spec/parse.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { startInstance } from "../../support/api_server.ts";
import { ScriptedExecutor } from "../../support/scripted_executor.ts";
import { manifestText } from "../grammar/manifests.ts";
import { type FuzzKind, Undeclared } from "../kind.ts";
import { beginSpan, skipSpan } from "../loop_watch.ts";
import { joinPieces, type Piece } from "../pieces.ts";

/** How long a workflow is watched at most, ms. */
const WATCH_MS = 300;
/** It has come to rest when nothing changed for so long, ms. */
const REST_MS = 6;
/** Only workflows with fewer nodes, that come to rest, are simulated: there everything happens in one turn. */
const MAX_SIMULATED = 300;
/** Times at which the simulated clock stops. */
const MAX_MOVES = 40;

type Outcome = "Succeeded" | "Failed" | "Error";

export const MANIFEST: FuzzKind<{ text: Piece[]; outcomes: Outcome[] }> = {
  inputs: fc.record({
    text: manifestText,
    outcomes: fc.array(fc.constantFrom<Outcome>("Succeeded", "Succeeded", "Failed", "Error"), {
      minLength: 1,
      maxLength: 5,
    }),
  }),
  maxBlockMs: 250,
  outcomes: ["unreadable", "invalid", "Running", "Succeeded", "Failed", "Error"],
  async open() {
    let outcomes: Outcome[] = ["Succeeded"];
    let started = 0;
    const executor = new ScriptedExecutor(() => ({
      phase: outcomes[started++ % outcomes.length] ?? "Succeeded",
      outputs: { result: "[1,2]", parameters: [{ name: "o", value: "3" }] },
    }));
    const { fetch, service } = await startInstance({
      // Full after a tenth of the inputs, so that what is held stays as much from then on.
      store: openMemoryStore({ feedLength: 200 }),
      gatekeeper: { server: true, authenticators: [] },
      executors: [executor],
    });

    async function ask(method: string, path: string, body?: string): Promise<[number, string]> {
      const response = await fetch(
        new Request(`http://localhost/api/v1/workflows/a${path}`, {
          method,
          ...(body === undefined ? {} : { body }),
        }),
      );
      const { status } = response;
      const answer = await response.text();
      if (status >= 500) {
        throw new Undeclared(`${method} ${path}: ${status} ${answer.slice(0, 500)}`);
      }
      return [status, answer];
    }

    /** Waits until nothing changes any more; false when it goes on. */
    async function rest(): Promise<boolean> {
      const until = performance.now() + WATCH_MS;
      let last = await service.store.query.version();
      let changedAt = performance.now();
      while (performance.now() < until && performance.now() - changedAt < REST_MS) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        const version = await service.store.query.version();
        if (version !== last) changedAt = performance.now();
        last = version;
      }
      return performance.now() - changedAt >= REST_MS;
    }

    return {
      async run({ text, outcomes: given }) {
        const values = read(joinPieces(text));
        if (typeof values === "string") return values;
        beginSpan();
        const [result] = lintManifests(values);
        beginSpan();
        outcomes = given;
        started = 0;
        const [status, answer] = await ask("POST", "", JSON.stringify({ workflow: values[0] }));
        if (status !== 200) return result?.errors.length === 0 ? "refused" : "invalid";
        const { name } = (JSON.parse(answer) as Workflow).metadata;
        const hasRested = await rest();
        const [, seen] = await ask("GET", `/${encodeURIComponent(name ?? "")}`);
        await ask("GET", "");
        await ask("PUT", `/${encodeURIComponent(name ?? "")}/terminate`, "{}");
        await ask("DELETE", `/${encodeURIComponent(name ?? "")}?force=true`);
        const { status: state, ...workflow } = JSON.parse(seen) as Workflow;
        beginSpan();
        const isSmall = Object.keys(state?.nodes ?? {}).length <= MAX_SIMULATED;
        if (hasRested && isSmall) {
          simulate(workflow, given);
          // On simulated time everything happens in one turn.
          skipSpan();
        }
        return state?.phase || "Running";
      },
    };
  },
};

function read(text: string): unknown[] | string {
  try {
    const values = parseDocuments(text).map(({ value }) => value);
    return values.length === 0 ? "unreadable" : values.slice(0, 3);
  } catch (error) {
    if (error instanceof Problem && error.status === 400) return "unreadable";
    throw error;
  }
}

function simulate(workflow: Workflow, outcomes: readonly Outcome[]): void {
  const simulation = new Simulation({
    rules: outcomes.map((outcome, at) => ({ attempt: at + 1, outcome })),
    isForgetful: true,
    isLikeExecutors: true,
    limits: { nodes: MAX_SIMULATED, bytes: 2 ** 20 },
  });
  try {
    simulation.submit({ ...workflow, metadata: { ...workflow.metadata, name: "w" } });
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return;
    throw error;
  }
  simulation.settle();
  for (let move = 0; move < MAX_MOVES && !simulation.isComplete(); move++) {
    const next = simulation.nextAt();
    if (next === undefined) break;
    simulation.moveTo(next);
    simulation.settle();
    if (simulation.allStartsOf("w") > MAX_SIMULATED) break;
  }
  simulation.view("w");
}
