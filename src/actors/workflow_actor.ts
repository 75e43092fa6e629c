/**
 * One workflow in memory: the machine of its life around the engine's state, and the translation between commands and
 * the machine's events. Decides nothing itself.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import { alreadyExists, notFound, Problem, ProblemCode } from "../base/problem.ts";
import {
  loadSteps,
  loadWithoutNodes,
  loadWorkflow,
  ORDERS_PART,
  RETRY_PART,
  takeChanges,
} from "../engine/codec.ts";
import type { Fact } from "../engine/command.ts";
import { createWorkflow } from "../engine/create.ts";
import { deletionEffects, deletionWithoutNodes, MAX_NODES_TO_VISIT } from "../engine/deletion.ts";
import { claimsFact, isFact } from "../engine/fact_form.ts";
import { prepareRetry } from "../engine/manual_retry.ts";
import { asideHeader, putAside } from "../engine/put_aside.ts";
import type { EngineEnv } from "../engine/engine.ts";
import { lockHolder } from "../engine/lock_holder.ts";
import type { WorkflowState } from "../engine/state.ts";
import { type ViewOptions, viewSteps, viewWorkflow } from "../engine/view.ts";
import { Turns } from "../platform/turns.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../spec/manifest.ts";
import {
  type ActorId,
  type IndexEntry,
  type LoadBounds,
  NODE_PART_PREFIX,
  type StoredActor,
  type Version,
} from "../store/port.ts";
import { isArchivedActor, parseWorkflowActorId } from "./actor_ids.ts";
import { BareWorkflow } from "./bare_workflow.ts";
import { unknownCommand } from "./batch.ts";
import type { ActorKind, Answer, HostEffect, HotActor, Taken } from "./hot_actor.ts";
import type { WorkflowCommand } from "./port.ts";
import {
  answerWith,
  archiving,
  checkDeletion,
  heldByFinalizers,
  keptLabel,
  textAbout,
  type WorkflowKindOptions,
} from "./workflow_deletion.ts";
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
/** Characters of its parts that do. */
const CHARACTERS_PER_WEIGHT = 8_192;
/** One with more nodes, or more characters, is not loaded to be terminated. */
const MAX_NODES = 100_000;
const MAX_SIZE = 2 ** 28;
/** One with more characters is deleted without a look at its nodes. */
const MAX_SIZE_TO_VISIT = 2 ** 22;

/**
 * Weight from which an answer to a command shows no nodes, 10,000 nodes or 8 MB: an answer may be kept, and sent to another
 * replica, as one text. A read shows them all.
 */
const MAX_SHOWN_WEIGHT = 1_000;

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
  /** Under what name the nodes stay when it is gone. */
  #remains: string | undefined;

  readonly #options: WorkflowKindOptions;

  constructor(id: ActorId, state: WorkflowState | undefined, options: WorkflowKindOptions) {
    this.id = id;
    this.#options = options;
    if (state) this.#adopt(state);
  }

  exists(): boolean {
    return this.#state !== undefined;
  }

  receive(body: Json, env: EngineEnv): Answer | Steps<Answer> | undefined {
    if (claimsFact(body)) {
      if (!isFact(body)) throw unknownCommand(body);
      if (this.#state) this.#send(this.#state, { type: "fact", fact: body }, env);
      else this.#giveBack(body);
      return undefined;
    }
    const command = commandOf(body);
    switch (command.type) {
      case "submit":
        if (this.#state) throw alreadyExists(this.#text("already exists"));
        return this.#view(this.#create(command.workflow, env, command.isChecked));
      case "import":
        return this.#import(command.workflow, env);
      case "restore":
        return atOnceIfSmall(sizeOf(command.workflow), this.#restore(command, env));
      case "control": {
        const state = this.#existing();
        return atOnceIfSmall(state.nodes.size, this.#control(state, command, env));
      }
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
    const remains = this.#remains;
    this.#lastEffects = [];
    this.#leftOver = [];
    this.#remains = undefined;
    const state = this.#state;
    if (!state) {
      const left = remains === undefined ? {} : { remains };
      return { put: {}, drop, effects: extra, needs: [], ...left };
    }
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
    if (!this.#state) return 1;
    const { nodes, sizes } = this.#state;
    return 1 + Math.floor(
      Math.max(nodes.size / NODES_PER_WEIGHT, sizes.total / CHARACTERS_PER_WEIGHT),
    );
  }

  rests(): boolean {
    return (this.#state?.runtime.activePods ?? 0) === 0 && !this.isGrowing();
  }

  isGrowing(): boolean {
    return this.#state?.header.isCut === true;
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

  #import(workflow: Workflow, env: EngineEnv): Answer | Steps<Answer> {
    const before = this.#state;
    if (before?.retrying !== undefined) this.#leftOver.push(RETRY_PART);
    if (before?.orders !== undefined) this.#leftOver.push(ORDERS_PART);
    const state = this.#create(workflow, env);
    for (const id of before?.nodes.keys() ?? []) {
      if (!state.nodes.has(id)) this.#leftOver.push(NODE_PART_PREFIX + id);
    }
    return this.#view(state);
  }

  /** All of it or nothing: a retry that is refused leaves no workflow behind. */
  *#restore(
    { workflow, ...control }: Extract<WorkflowCommand, { type: "restore" }>,
    env: EngineEnv,
  ): Steps<Answer> {
    if (this.#state) {
      const { name } = this.#state.header.metadata;
      throw alreadyExists(`Workflow ${name} is still there: retry it instead of its archived copy`);
    }
    const state = this.#create(workflow, env);
    try {
      return yield* this.#control(state, { ...control, type: "control" }, env);
    } catch (error) {
      this.#life = undefined;
      this.#state = undefined;
      throw error;
    }
  }

  *#control(
    state: WorkflowState,
    { request, labels }: Extract<WorkflowCommand, { type: "control" }>,
    env: EngineEnv,
  ): Steps<Answer> {
    if (state.header.isAside === true) {
      throw new Problem(
        ProblemCode.FailedPrecondition,
        this.#text(`was ${state.header.message ?? "put aside"}; delete it, or submit it again`),
      );
    }
    const prepared = request.type === "retry"
      ? { prepared: yield* prepareRetry(state, request) }
      : {};
    yield;
    this.#send(state, { type: request.type, request, ...prepared }, env);
    if (labels) relabel(state, labels);
    yield;
    return answerWith(yield* viewSteps(state, this.#shown()));
  }

  #delete(
    state: WorkflowState,
    command: Extract<WorkflowCommand, { type: "delete" }>,
    env: EngineEnv,
  ): Answer | Steps<Answer> {
    checkDeletion(this.id, state, command, this.#options);
    if (heldByFinalizers(state, command, env)) return this.#view(state);
    const answer = answerWith(viewWorkflow(state, { withoutNodes: true }));
    this.#lastEffects.push(
      ...this.#leave(state, command.uid, env),
      ...(command.forGood === true ? [] : archiving(this.id, state, this.#options)),
    );
    this.#life = undefined;
    this.#state = undefined;
    return answer;
  }

  /** What removes the workflow; the nodes of a large one, and of one whose nodes were not read, are seen to later. */
  #leave(state: WorkflowState, knownUid: string | undefined, env: EngineEnv): HostEffect[] {
    if (state.header.isAside !== true && state.nodes.size <= MAX_NODES_TO_VISIT) {
      return [...releases(state), ...deletionEffects(state)];
    }
    const [, namespace = "", name = ""] = this.id.split("/");
    const uid = state.header.metadata.uid ?? knownUid ?? "";
    this.#remains = `${this.id}#${env.randomSuffix(10)}`;
    return deletionWithoutNodes({ namespace, name, uid, state }, this.#remains);
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
    const kept = keptLabel(this.id, state, this.#options);
    if (kept !== undefined) relabel(state, kept);
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
    return textAbout(this.id, this.#options, what);
  }

  #view(state: WorkflowState): Answer | Steps<Answer> {
    return atOnceIfSmall(state.nodes.size, viewed(state, this.#shown()));
  }

  /** What of the workflow an answer shows. */
  #shown(): ViewOptions {
    return { withoutNodes: this.weight() > MAX_SHOWN_WEIGHT };
  }
}

function* viewed(state: WorkflowState, options: ViewOptions): Steps<Answer> {
  return answerWith(yield* viewSteps(state, options));
}

/** Does work about so many nodes at once, unless they are many. */
function atOnceIfSmall<T>(nodes: number, steps: Steps<T>): T | Steps<T> {
  return nodes > STEP_SIZE ? steps : runToEnd(steps);
}

function sizeOf({ status }: Workflow): number {
  return Object.keys(status?.nodes ?? {}).length;
}

/** Events without what surrounds them. */
type EventOf = LifeEvent extends infer E ? E extends LifeEvent ? Omit<E, "turn"> : never : never;

/** Releases of all locks that a workflow has or waits for. */
function releases(state: WorkflowState): HostEffect[] {
  const { header, nodes } = state;
  const holders = header.lock ? [lockHolder(state, header.lock.round ?? 0)] : [];
  for (const { lock, order, id } of nodes.values()) {
    if (lock) holders.push(lockHolder(state, order, id));
  }
  return holders.map((holder) => ({ type: "release-locks", id: `release/${holder}`, holder }));
}

/** A stored workflow; of one that was put aside only what is sure to be readable. */
function load({ parts }: StoredActor): WorkflowState {
  return asideHeader(parts["h"]) === undefined ? loadWorkflow(parts) : loadWithoutNodes(parts);
}

function viewStored(parts: StoredActor["parts"]): Workflow {
  const isLarge = Object.keys(parts).length > NODES_PER_WEIGHT * MAX_SHOWN_WEIGHT;
  return isLarge
    ? viewWorkflow(loadWithoutNodes(parts), { withoutNodes: true })
    : viewWorkflow(loadWorkflow(parts));
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

/** @throws {Problem} InvalidArgument when it is none: an entry of a mailbox may be damaged */
function commandOf(body: Json): WorkflowCommand {
  if (!isJsonObject(body)) throw unknownCommand(body);
  const { type, request, workflow } = body;
  const isWhole = (type !== "control" && type !== "restore" || isJsonObject(request)) &&
    (type !== "submit" && type !== "import" && type !== "restore" || isManifest(workflow));
  if (!isWhole) throw unknownCommand(body);
  return body as unknown as WorkflowCommand;
}

function isManifest(value: Json | undefined): boolean {
  return isJsonObject(value) && isJsonObject(value.metadata) && isJsonObject(value.spec);
}

/** What must be known of a workflow to delete or to terminate it; undefined for commands that need all of it. */
function enoughFor(
  body: Json,
  { maxNodes = MAX_NODES }: WorkflowKindOptions,
): LoadBounds | undefined {
  if (!isJsonObject(body)) return undefined;
  const { type, request } = body;
  if (type === "delete") {
    return { maxNodes: MAX_NODES_TO_VISIT, maxSize: MAX_SIZE_TO_VISIT };
  }
  const isTerminate = type === "control" && isJsonObject(request) && request.type === "terminate";
  return isTerminate ? { maxNodes, maxSize: MAX_SIZE } : undefined;
}

/** The kind of actors that are workflows. */
export function createWorkflowKind(options: WorkflowKindOptions = {}): ActorKind {
  return {
    prefix: "wf/",
    silent: false,
    creates: (body) => isJsonObject(body) && body["type"] === "submit",
    mayRefuse: (body) => !claimsFact(body),
    putAside: (id, { parts }, reason, { now, labelPrefix }) => {
      const { namespace = "", name = "" } = parseWorkflowActorId(id) ?? {};
      const { put, index, effects } = putAside(parts, reason, {
        namespace,
        name,
        now,
        labelPrefix,
      });
      return { put, drop: [], index, effects: effects as HostEffect[], needs: [] };
    },
    hydrate: (id, stored) => new WorkflowActor(id, stored && load(stored), options),
    async hydrateInTurns(stored) {
      const state = asideHeader(stored.parts["h"]) === undefined
        ? await new Turns().run(loadSteps(stored.parts))
        : load(stored);
      return new WorkflowActor(stored.id, state, options);
    },
    enough: (body) => enoughFor(body, options),
    hydrateBare: (stored, cause) => new BareWorkflow(stored, options, cause),
    answers: {
      withVersion: (answer, version) => withVersion(answer as unknown as Workflow, version),
      view: ({ parts, version }) => withVersion(viewStored(parts), version),
    },
  };
}

/** Workflows that are gone when they are deleted. */
export const workflowKind: ActorKind = createWorkflowKind();
