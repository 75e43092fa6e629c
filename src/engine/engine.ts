/**
 * The engine decides what follows when something happens to a workflow. It is pure: no clock, no randomness, no I/O. This file
 * has what its callers, the host, the API and the simulation, share with it:
 *
 *   createWorkflow (create.ts), loadWorkflow (codec.ts)  make a `WorkflowState`
 *   control (orders/control.ts)  carries out what a user asks, or throws a Problem and changes nothing
 *   useCallback (orders/callback.ts)  the same for a callback
 *   accept (accept.ts)      takes in what an executor, a timer or a lock reports
 *   advance (advance.ts)    does everything that can be done now, or as much as a turn allows
 *   takeChanges (codec.ts)  gives what must be stored and done since the last call
 *   viewWorkflow (view.ts)  gives the object that clients see
 *
 * A `WorkflowState` belongs to one caller and is changed in place. Every change is tracked, so the work and the bytes of a
 * command are proportional to what changed, not to the size of the workflow. After a failed commit the state is thrown away
 * and loaded again.
 *
 * What is in memory: records.ts (what is stored), live.ts (what is derived for a node), runtime.ts (for the workflow), state.ts
 * (all of it), turn.ts (a state during one call).
 *
 * The way of a call of `advance`: begin.ts, then nodes/look.ts looks at every node that something has happened to. One file of
 * nodes/ for each kind of node decides what follows; nodes/start.ts begins new nodes; scope/ finds their templates and fills in
 * variables; change.ts, and no other file, changes the records of nodes and wakes those that wait. finish.ts ends the workflow;
 * life/ holds its statechart.
 */
import type { PartText } from "../base/part_text.ts";
import type { RunContext } from "../expr/values/run_context.ts";
import type { IndexEntry } from "./index_entry.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import type { Naming } from "../spec/naming.ts";
import type { Effect } from "./effect.ts";

/** The most that one workflow may hold. */
export interface WorkflowLimits {
  /** Nodes. */
  nodes: number;
  /** Size of its stored parts in characters; an ASCII character is one byte. */
  bytes: number;
}

/** Counts what a call costs. */
export interface Meter {
  /** Characters that tags brought in. */
  characters: number;
  /** Steps of expressions since the last look at the clock. */
  steps: number;
}

/** Where an expression stands that must give the same each time. See `scope/place.ts`. */
export interface EvaluationPlace {
  /** Epoch ms. */
  readonly at: number;
  /** The next random number in [0, 1). */
  random(): number;
  /** Goes on to another node of the same time, such as the next element of a loop. */
  moveTo(name: string): void;
}

/** What a call gets from its caller: time, names and stored manifests. */
export interface EngineEnv extends Naming {
  /** Epoch ms. Also the time that `finishedAt` and other members show. */
  now: number;
  /** A new random text of `[a-z0-9]`, for generated names. */
  randomSuffix(length: number): string;
  /**
   * A stored manifest as a parsed object; null when it does not exist; undefined when it is not loaded. Then the engine leaves
   * the work undone and lists the manifest in `Changes.needs`; the caller loads it and calls `advance` again.
   */
  findManifest(kind: ManifestKind, namespace: string, name: string): unknown;
  /** Which keys steps may use in the repository of the deployment. @default {"shared"} */
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default no limits */
  limits?: WorkflowLimits;
  /** Somebody may want to be told of changes: they are emitted as effects of type `notice`. @default {false} */
  areChangesNoted?: boolean;
  /** Whoever creates a workflow has checked it with the manifests that `findManifest` gives. */
  isChecked?: boolean;
  /**
   * Asked after every few pieces of work. When it is false, `advance` leaves the rest to a later call, for which the timer
   * `go-on` asks. The tree does not depend on where turns end. @default a call does everything that can be done
   */
  mayGoOn?(): boolean;
  /** For the engine only: counts what tags bring in and what expressions cost. */
  meter?: Meter | undefined;
  /** For the engine only: the budget of the expressions of the present node. See `beginEvaluation`. */
  evaluation?: RunContext | undefined;
  /** For the engine only: the place of the present expressions, where they must give the same when they are evaluated again. */
  place?: EvaluationPlace | undefined;
}

export interface ManifestRef {
  kind: ManifestKind;
  namespace: string;
  name: string;
}

/** What one or more calls have changed. */
export interface Changes {
  /** Parts to store, by the keys that `codec.ts` lists. */
  put: PartText[];
  drop: string[];
  /** Present when something that lists show has changed. */
  index?: IndexEntry;
  /** In the order in which they arose. */
  effects: Effect[];
  /** Manifests that must be loaded before `advance` can go on. */
  needs: ManifestRef[];
}
