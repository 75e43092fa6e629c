/**
 * One workflow in memory: the machine of its life around the engine's state, and the translation between commands and
 * the machine's events. Decides nothing itself.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import { alreadyExists, notFound, Problem, ProblemCode } from "../base/problem.ts";
import { loadWorkflow, takeChanges } from "../engine/codec.ts";
import type { Fact } from "../engine/command.ts";
import { createWorkflow } from "../engine/create.ts";
import { deletionEffects } from "../engine/deletion.ts";
import type { EngineEnv } from "../engine/engine.ts";
import { lockHolder } from "../engine/lock_holder.ts";
import type { WorkflowState } from "../engine/state.ts";
import { rfc3339 } from "../engine/time_text.ts";
import { viewWorkflow } from "../engine/view.ts";
import { ARCHIVED_NAME_LABEL, ARCHIVING_STATUS_LABEL, type Workflow } from "../spec/manifest.ts";
import {
  type ActorId,
  type IndexEntry,
  NODE_PART_PREFIX,
  type StoredActor,
  type Version,
} from "../store/port.ts";
import { archivedActorId, isArchivedActor, parseWorkflowActorId } from "./actor_ids.ts";
import { unknownCommand } from "./batch.ts";
import type { ActorKind, Answer, HostEffect, HotActor, Taken } from "./hot_actor.ts";
import type { WorkflowCommand } from "./port.ts";
import {
  lifeAt,
  type LifeEvent,
  type LifeSnapshot,
  LifeState,
  lifeStateOf,
  nextLife,
  type Turn,
} from "./workflow_machine.ts";

/** Nodes that weigh as much as a small workflow. */
const NODES_PER_WEIGHT = 10;

const FACTS: ReadonlySet<string> = new Set<Fact["type"]>([
  "task-started",
  "task-progress",
  "task-pending",
  "task-ended",
  "timer-fired",
  "locks-granted",
  "locks-waiting",
  "locks-failed",
  "wake",
]);

class WorkflowActor implements HotActor {
  readonly id: ActorId;
  #life: LifeSnapshot | undefined;
  #state: WorkflowState | undefined;
  /** Parts of a replaced object that the new one doesn't write over. */
  #leftOver: string[] = [];
  /** Facts that could not be taken in yet. */
  readonly #openFacts: Fact[] = [];
  /** Effects of the removal, or of what came before it. */
  #lastEffects: HostEffect[] = [];

  readonly #options: WorkflowKindOptions;

  constructor(id: ActorId, stored: StoredActor | undefined, options: WorkflowKindOptions) {
    this.id = id;
    this.#options = options;
    if (stored) this.#adopt(loadWorkflow(stored.parts));
  }

  exists(): boolean {
    return this.#state !== undefined;
  }

  receive(body: Json, env: EngineEnv): Answer | undefined {
    if (isJsonObject(body) && FACTS.has(String(body["type"]))) {
      if (this.#state) {
        this.#send(this.#state, { type: "fact", fact: body as unknown as Fact }, env);
      } else this.#giveBack(body as unknown as Fact);
      return undefined;
    }
    const command = body as unknown as WorkflowCommand;
    switch (command.type) {
      case "submit":
        if (this.#state) throw alreadyExists(this.#text("already exists"));
        return this.#view(this.#create(command.workflow, env, command.isChecked));
      case "import":
        return this.#import(command.workflow, env);
      case "restore":
        return this.#restore(command, env);
      case "control":
        return this.#control(this.#existing(), command, env);
      case "delete":
        return this.#delete(this.#existing(), command, env);
      default:
        throw unknownCommand(body);
    }
  }

  advance(env: EngineEnv): void {
    const state = this.#state;
    if (!state) return;
    for (const fact of this.#openFacts.splice(0)) this.#accept(state, fact, env);
    this.#send(state, { type: "goOn" }, env);
  }

  take(): Taken {
    const extra = this.#lastEffects;
    const drop = this.#leftOver;
    this.#lastEffects = [];
    this.#leftOver = [];
    const state = this.#state;
    if (!state) return { put: {}, drop, effects: extra, needs: [] };
    const changes = takeChanges(state);
    const effects = changes.effects.map((effect): HostEffect =>
      effect.type === "delete-workflow"
        ? {
          type: "send",
          id: effect.id,
          to: this.id,
          body: { type: "delete", uid: state.header.metadata.uid ?? "" },
        }
        : effect
    );
    const index = changes.index && this.#indexEntry(changes.index);
    return {
      ...changes,
      ...(index === undefined ? {} : { index }),
      drop: [...drop, ...changes.drop],
      effects: [...extra, ...effects],
    };
  }

  /** One of the archive is listed by the name of its actor, and found by the name that it had. */
  #indexEntry(index: IndexEntry): IndexEntry {
    if (!isArchivedActor(this.id)) return index;
    const name = this.id.split("/")[2] ?? "";
    return { ...index, name, labels: { ...index.labels, [ARCHIVED_NAME_LABEL]: index.name } };
  }

  weight(): number {
    return 1 + Math.floor((this.#state?.nodes.size ?? 0) / NODES_PER_WEIGHT);
  }

  rests(): boolean {
    return (this.#state?.runtime.activePods ?? 0) === 0;
  }

  /** Locks that were granted to a workflow that is gone are free again. */
  #giveBack(fact: Fact): void {
    if (fact.type !== "locks-granted") return;
    const { holder } = fact;
    this.#lastEffects.push({ type: "release-locks", id: `release/${holder}`, holder });
  }

  /** A fact that needs a manifest first has no effect yet: it is taken in again when the actor goes on. */
  #accept(state: WorkflowState, fact: Fact, env: EngineEnv): void {
    const before = state.pending.needs;
    state.pending.needs = new Map();
    this.#send(state, { type: "fact", fact }, env);
    if (state.pending.needs.size > 0) this.#openFacts.push(fact);
    for (const [key, ref] of before) state.pending.needs.set(key, ref);
  }

  #create(workflow: Workflow, env: EngineEnv, isChecked = false): WorkflowState {
    const state = createWorkflow(workflow, env, isChecked);
    this.#adopt(state);
    return state;
  }

  #import(workflow: Workflow, env: EngineEnv): Answer {
    const before = this.#state;
    const state = this.#create(workflow, env);
    for (const id of before?.nodes.keys() ?? []) {
      if (!state.nodes.has(id)) this.#leftOver.push(NODE_PART_PREFIX + id);
    }
    return this.#view(state);
  }

  /** All of it or nothing: a retry that is refused leaves no workflow behind. */
  #restore(
    { workflow, ...control }: Extract<WorkflowCommand, { type: "restore" }>,
    env: EngineEnv,
  ): Answer {
    if (this.#state) {
      const { name } = this.#state.header.metadata;
      throw alreadyExists(`Workflow already exists on cluster, use argo retry ${name} instead`);
    }
    const state = this.#create(workflow, env);
    try {
      return this.#control(state, { ...control, type: "control" }, env);
    } catch (error) {
      this.#life = undefined;
      this.#state = undefined;
      throw error;
    }
  }

  #control(
    state: WorkflowState,
    { request, labels }: Extract<WorkflowCommand, { type: "control" }>,
    env: EngineEnv,
  ): Answer {
    this.#send(state, { type: request.type, request }, env);
    if (labels) relabel(state, labels);
    return this.#view(state);
  }

  #delete(
    state: WorkflowState,
    { uid, force, forGood }: Extract<WorkflowCommand, { type: "delete" }>,
    env: EngineEnv,
  ): Answer {
    if (uid !== undefined && uid !== state.header.metadata.uid) {
      throw new Problem(ProblemCode.Aborted, this.#text(`has another uid than "${uid}"`));
    }
    const { metadata } = state.header;
    if (force !== true && (metadata.finalizers ?? []).length > 0) {
      // As in Kubernetes: it stays until nothing holds it any more.
      metadata.deletionTimestamp ??= rfc3339(env.now);
      state.pending.header = true;
      return this.#view(state);
    }
    const view = this.#view(state);
    this.#lastEffects.push(
      ...releases(state),
      ...deletionEffects(state),
      ...(forGood === true ? [] : archiving(this.id, state, this.#options)),
    );
    this.#life = undefined;
    this.#state = undefined;
    return view;
  }

  /** Gives the state to a machine in the state of life that was stored, or that the engine's state amounts to. */
  #adopt(state: WorkflowState): void {
    this.#state = state;
    const { machine } = state.header;
    const value = LifeState.find((one) => one === machine) ?? lifeStateOf(state);
    this.#life = lifeAt(value, state);
    this.#keepLife(state);
  }

  /** @throws what the engine threw */
  #send(state: WorkflowState, event: EventOf, env: EngineEnv): void {
    const turn: Turn = { env };
    if (this.#life) this.#life = nextLife(this.#life, { ...event, turn } as LifeEvent);
    if (turn.error !== undefined) throw turn.error;
    this.#keepLife(state);
  }

  /** The machine's state value is stored with the header. */
  #keepLife(state: WorkflowState): void {
    const value = this.#life?.value;
    if (state.header.machine === value) return;
    state.header.machine = value;
    state.pending.header = true;
  }

  #existing(): WorkflowState {
    if (!this.#state) throw notFound(this.#text("not found"));
    return this.#state;
  }

  #text(what: string): string {
    return `workflows.argoproj.io "${parseWorkflowActorId(this.id)?.name ?? this.id}" ${what}`;
  }

  /** The view shares what lies below its first levels with the state: there the engine replaces and never changes. */
  #view(state: WorkflowState): Answer {
    const view = viewWorkflow(state);
    const workflow = { ...view, metadata: { ...view.metadata } };
    return (version: Version | undefined) => {
      if (version !== undefined) workflow.metadata.resourceVersion = version;
      return workflow;
    };
  }
}

/** Events without what surrounds them. */
type EventOf = LifeEvent extends infer E ? E extends LifeEvent ? Omit<E, "turn"> : never : never;

/** Keeps a finished workflow in the archive when it is deleted, if it is to be kept. */
function archiving(
  id: ActorId,
  state: WorkflowState,
  { isKept }: WorkflowKindOptions,
): HostEffect[] {
  const { metadata, finishedAt } = state.header;
  const { namespace = "", name = "", uid = "", labels = {} } = metadata;
  if (isArchivedActor(id) || uid === "" || finishedAt === undefined) return [];
  if (isKept?.(labels) !== true) return [];
  const workflow = viewWorkflow(state);
  const { finalizers: _finalizers, deletionTimestamp: _deletion, ...kept } = workflow.metadata;
  const body = {
    type: "import",
    workflow: {
      ...workflow,
      metadata: { ...kept, labels: { ...labels, [ARCHIVING_STATUS_LABEL]: "Persisted" } },
    },
  };
  return [{
    type: "send",
    id: `archive/${uid}`,
    to: archivedActorId(namespace, name, uid),
    body: body as unknown as Json,
  }];
}

/** Releases of all locks that a workflow has or waits for. */
function releases(state: WorkflowState): HostEffect[] {
  const { header, nodes } = state;
  const holders = header.lock ? [lockHolder(state, header.lock.round ?? 0)] : [];
  for (const { lock, order, id } of nodes.values()) {
    if (lock) holders.push(lockHolder(state, order, id));
  }
  return holders.map((holder) => ({ type: "release-locks", id: `release/${holder}`, holder }));
}

function withVersion(workflow: Workflow, resourceVersion: Version): Workflow {
  return { ...workflow, metadata: { ...workflow.metadata, resourceVersion } };
}

function relabel(state: WorkflowState, labels: Record<string, string | null>): void {
  const { metadata } = state.header;
  const merged = { ...metadata.labels };
  for (const [key, value] of Object.entries(labels)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  if (Object.keys(merged).length > 0) metadata.labels = merged;
  else delete metadata.labels;
  state.pending.header = true;
  state.pending.index = true;
}

export interface WorkflowKindOptions {
  /** Tells by its labels whether a finished workflow stays in the archive when it is deleted. @default none does */
  isKept?: (labels: Record<string, string>) => boolean;
}

/** The kind of actors that are workflows. */
export function createWorkflowKind(options: WorkflowKindOptions = {}): ActorKind {
  return {
    prefix: "wf/",
    silent: false,
    creates: (body) => isJsonObject(body) && body["type"] === "submit",
    hydrate: (id, stored) => new WorkflowActor(id, stored, options),
    answers: {
      withVersion: (answer, version) => withVersion(answer as unknown as Workflow, version),
      view: ({ parts, version }) => withVersion(viewWorkflow(loadWorkflow(parts)), version),
    },
  };
}

/** Workflows that are gone when they are deleted. */
export const workflowKind: ActorKind = createWorkflowKind();
