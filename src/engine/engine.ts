/**
 * The engine's surface: what the host, the API and the conformance runner call. Pure: no clock, no randomness, no I/O.
 * A `WorkflowState` is owned by one caller and changed in place; every change is tracked, so that the work and the bytes
 * of a command are proportional to what changed, never to the size of the workflow. When a commit fails, the state is
 * thrown away and loaded again.
 *
 *   createWorkflow / loadWorkflow → WorkflowState
 *   control(state, request, env)  → what a user asked, or a Problem and nothing changed
 *   accept(state, fact, env)      → what an executor, a timer or a lock reported
 *   advance(state, env)           → goes on until nothing more can be done now
 *   takeChanges(state)            → what is to be stored and done, since the last call
 *   viewWorkflow(state)           → the object as clients see it
 *
 * They are in create.ts and codec.ts, control.ts, accept.ts, advance.ts and view.ts; `outstanding` (what to order again
 * after a restart) and `resubmitWorkflow` in files of their names, the lock table in locks.ts. How a round goes:
 * advance.ts looks at every node that something happened to, one file per kind of node decides what follows (steps.ts,
 * dag.ts, retry.ts, leaf.ts, suspend.ts), start.ts begins new nodes, change.ts is the only one that writes them, and
 * wakes who waits for them.
 */
import type { RunContext } from "../expr/run_context.ts";
import type { IndexEntry } from "./index_entry.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import type { Naming } from "../spec/naming.ts";
import type { Effect } from "./effect.ts";
import type { TurnBudget, WorkflowLimits } from "./limits.ts";

/** What surrounds one call: time, names and stored manifests. */
export interface EngineEnv extends Naming {
  /** Epoch ms. Also the time that "finishedAt" and friends show. */
  now: number;
  /** Fresh text of `[a-z0-9]`, for generated names; deterministic from the command in tests. */
  randomSuffix(length: number): string;
  /**
   * Stored manifest as a parsed object; null = does not exist; undefined = not loaded yet. In the last case the engine
   * leaves the work undone and lists the manifest in `Changes.needs`; the caller loads it and calls `advance` again.
   */
  findManifest(kind: ManifestKind, namespace: string, name: string): unknown;
  /** Which keys of the deployment's repository steps may leave. @default {"shared"} */
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default nothing bounds it */
  limits?: WorkflowLimits;
  /**
   * Asked after every few pieces of work. When it says no, `advance` leaves the rest to a later call, which the timer `go-on`
   * asks for; where a turn ends changes nothing about the tree. @default a call does all that can be done
   */
  mayGoOn?(): boolean;
  /** The engine's own: counts what tags bring in, and what expressions cost. */
  meter?: Pick<TurnBudget, "characters" | "steps"> | undefined;
  /** The engine's own: pays for the expressions of the node at hand. See `beginEvaluation`. */
  evaluation?: RunContext | undefined;
}

export interface ManifestRef {
  kind: ManifestKind;
  namespace: string;
  name: string;
}

/** What one or several calls changed. */
export interface Changes {
  /** Parts to store: `h` header, `s` spec and stored templates, `n:<node id>` nodes. */
  put: Record<string, string>;
  drop: string[];
  /** Set when something that lists show has changed. */
  index?: IndexEntry;
  /** In the order they arose. */
  effects: Effect[];
  /** Manifests that must be loaded before `advance` can go on. */
  needs: ManifestRef[];
}
