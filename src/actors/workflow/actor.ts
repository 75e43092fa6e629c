/**
 * One workflow in memory. It holds the engine's state and calls the function of the engine that a command needs. It decides
 * nothing itself.
 */
import { isJsonObject, type Json } from "../../base/json.ts";
import type { Steps } from "../../base/steps.ts";
import { alreadyExists, notFound } from "../../base/problem.ts";
import { loadSteps, ORDERS_PART, RETRY_PART, takeChanges, textSteps } from "../../engine/codec.ts";
import { accept } from "../../engine/accept.ts";
import { advance } from "../../engine/advance.ts";
import type { Fact } from "../../engine/command.ts";
import { useCallback } from "../../engine/orders/callback.ts";
import { control } from "../../engine/orders/control.ts";
import { createSteps } from "../../engine/create.ts";
import { atOnceIfSmall, sizeOf } from "./at_once.ts";
import { stateAfter } from "../../engine/life/life.ts";
import { claimsFact, isFact } from "../../engine/stored/fact_form.ts";
import { prepareRetry } from "../../engine/orders/manual_retry.ts";
import { recallPast } from "../../engine/past.ts";
import { asideHeader, putAside } from "../../engine/life/put_aside.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { type ViewOptions, viewSteps, viewWorkflow } from "../../engine/view.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../../spec/manifest.ts";
import { type ActorId, type IndexEntry, NODE_PART_PREFIX } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { isArchivedActor, parseWorkflowActorId } from "../actor_ids.ts";
import { BareWorkflow } from "./bare.ts";
import { unknownCommand } from "../command_body.ts";
import { commandOf, enoughFor } from "./commands.ts";
import { load, named, viewStored, withVersion } from "./stored_view.ts";
import {
  checkMove,
  type DeleteArchivedCommand,
  deletedFromArchive,
  type LeaveCommand,
  movingAway,
} from "./moving.ts";
import type { ActorKind, Answer, HostEffect, HotActor, Taken } from "../hot_actor.ts";
import type { WorkflowCommand } from "../port.ts";
import {
  answerWith,
  archiving,
  checkDeletion,
  type Departure,
  departure,
  forgetting,
  heldByFinalizers,
  keptLabel,
  textAbout,
  type WorkflowKindOptions,
} from "./deletion.ts";
import { relabel } from "./relabel.ts";
import { traced } from "./traced.ts";

/** So many nodes weigh as much as a small workflow. */
const NODES_PER_WEIGHT = 10;
/** So many characters of stored parts do, too. */
const CHARACTERS_PER_WEIGHT = 8_192;

/**
 * From this weight on (10,000 nodes or 8 MB) the answer to a command shows no nodes, because an answer may be kept, and sent
 * to another replica, as one text. A read shows them all.
 */
const MAX_SHOWN_WEIGHT = 1_000;

class WorkflowActor implements HotActor {
  readonly id: ActorId;
  #state: WorkflowState | undefined;
  /** Parts of the object before an import that the new one does not overwrite. */
  #leftOver: string[] = [];
  /** Facts that wait for a manifest. */
  readonly #openFacts: Fact[] = [];
  /** Effects that are not the engine's: of a deletion, and of facts that came after one. */
  #lastEffects: HostEffect[] = [];
  /** The name under which the nodes of a deleted workflow stay until they are swept away. */
  #remains: string | undefined;
  /** It went into the archive. */
  #isMoved = false;

  readonly #options: WorkflowKindOptions;

  constructor(id: ActorId, state: WorkflowState | undefined, options: WorkflowKindOptions) {
    this.id = id;
    this.#options = options;
    this.#state = state;
  }

  get state(): WorkflowState | undefined {
    return this.#state;
  }

  exists(): boolean {
    return this.#state !== undefined;
  }

  receive(body: Json, env: EngineEnv, stored?: Version): Answer | Steps<Answer> | undefined {
    if (claimsFact(body)) {
      if (!isFact(body)) throw unknownCommand(body);
      if (this.#state) this.#accept(this.#state, body, env);
      else this.#giveBack(body);
      return undefined;
    }
    const command = commandOf(body);
    switch (command.type) {
      case "submit": {
        if (this.#state) throw alreadyExists(this.#text("already exists"));
        return atOnceIfSmall(sizeOf(command.workflow), this.#submit(command, env));
      }
      case "import":
        return atOnceIfSmall(sizeOf(command.workflow), this.#import(command.workflow, env));
      case "restore":
        return atOnceIfSmall(sizeOf(command.workflow), this.#restore(command, env));
      case "control": {
        const state = this.#existing();
        return atOnceIfSmall(state.nodes.size, this.#control(state, command, env));
      }
      case "callback": {
        const state = this.#existing();
        const isRepeat = useCallback(state, command.use, env);
        const answer = viewWorkflow(state, { withoutNodes: true });
        return answerWith(isRepeat ? Object.assign(answer, { isRepeat }) : answer);
      }
      case "reindex": {
        const state = this.#existing();
        state.pending.index = true;
        return answerWith(viewWorkflow(state, { withoutNodes: true }));
      }
      case "delete":
        return this.#delete(this.#existing(), command, env);
      case "delete-archived":
        return atOnceIfSmall(sizeOf(command.workflow), this.#deleteArchived(command, env));
      case "leave":
        return this.#move(this.#existing(), command, stored);
      default:
        throw unknownCommand(body);
    }
  }

  advance(env: EngineEnv): void {
    const state = this.#state;
    if (!state) return;
    for (const fact of this.#openFacts.splice(0)) this.#accept(state, fact, env);
    advance(state, env);
    this.#labelKept(state);
  }

  prepareTake(): Steps<void> | undefined {
    return this.#state && textSteps(this.#state);
  }

  take(): Taken {
    const extra = this.#lastEffects;
    const drop = this.#leftOver;
    const remains = this.#remains;
    this.#lastEffects = [];
    this.#leftOver = [];
    this.#remains = undefined;
    const isMoved = this.#isMoved;
    this.#isMoved = false;
    const state = this.#state;
    if (!state) {
      const left: Partial<Taken> = {
        ...(remains !== undefined && { remains }),
        ...(isMoved && { isMoved }),
      };
      return { put: [], drop, effects: extra, needs: [], ...left };
    }
    // Intentionally changed in place, because it is made for each command.
    const taken = takeChanges(state);
    if (taken.index !== undefined) taken.index = this.#indexEntry(taken.index);
    if (drop.length > 0) taken.drop.unshift(...drop);
    const isDeleted = taken.effects.some(({ type }) => type === "delete-workflow");
    if (extra.length === 0 && !isDeleted) return taken as Taken;
    const uid = state.header.metadata.uid ?? "";
    for (const effect of taken.effects) {
      extra.push(
        effect.type === "delete-workflow"
          ? { type: "send", id: effect.id, to: this.id, body: { type: "delete", uid } }
          : effect,
      );
    }
    return Object.assign(taken, { effects: extra });
  }

  /** An archived workflow is listed under the name of its actor, and found by the name that it had. */
  #indexEntry(index: IndexEntry): IndexEntry {
    if (!isArchivedActor(this.id)) return index;
    const name = this.id.split("/")[2] ?? "";
    return { ...index, name, labels: { ...index.labels, [ARCHIVED_NAME_LABEL]: index.name } };
  }

  weight(): number {
    if (!this.#state) return 1;
    const { nodes, sizes } = this.#state;
    const share = Math.max(nodes.size / NODES_PER_WEIGHT, sizes.total / CHARACTERS_PER_WEIGHT);
    return 1 + Math.floor(share);
  }

  rests(): boolean {
    return (this.#state?.runtime.activeTasks ?? 0) === 0 && !this.isGrowing();
  }

  awaitsLock(): boolean {
    const { header, runtime } = this.#state ?? {};
    return header?.lock?.isHeld === false || (runtime?.lockers?.size ?? 0) > 0;
  }

  isOver(): boolean {
    return this.#state?.header.finishedAt !== undefined;
  }

  isGrowing(): boolean {
    return this.#state?.header.isCut === true;
  }

  /** Releases locks that were granted to a workflow that no longer exists. */
  #giveBack(fact: Fact): void {
    if (fact.type !== "locks-granted") return;
    const { holder } = fact;
    this.#lastEffects.push({ type: "release-locks", id: `release/${holder}`, holder });
  }

  /** A fact that needs a missing manifest has no effect yet: it is taken in again when the actor goes on. */
  #accept(state: WorkflowState, fact: Fact, env: EngineEnv): void {
    if (!accept(state, fact, env)) this.#openFacts.push(fact);
    this.#labelKept(state);
  }

  *#create(workflow: Workflow, env: EngineEnv, isChecked = false): Steps<WorkflowState> {
    return this.#state = yield* createSteps(workflow, env, isChecked);
  }

  *#submit(
    { workflow, isChecked, isBrief }: Extract<WorkflowCommand, { type: "submit" }>,
    env: EngineEnv,
  ): Steps<Answer> {
    const state = yield* this.#create(workflow, env, isChecked);
    return isBrief === true ? answerWith(named(state)) : yield* viewed(state, this.#shown());
  }

  *#import(workflow: Workflow, env: EngineEnv): Steps<Answer> {
    const before = this.#state;
    const state = yield* this.#create(workflow, env);
    if (before?.retrying !== undefined) this.#leftOver.push(RETRY_PART);
    if (before?.orders !== undefined) this.#leftOver.push(ORDERS_PART);
    for (const id of before?.nodes.keys() ?? []) {
      if (!state.nodes.has(id)) this.#leftOver.push(NODE_PART_PREFIX + id);
    }
    return yield* viewed(state, this.#shown());
  }

  /** All or nothing: a refused retry leaves no workflow behind. */
  *#restore(
    { workflow, past, ...control }: Extract<WorkflowCommand, { type: "restore" }>,
    env: EngineEnv,
  ): Steps<Answer> {
    if (this.#state) {
      const { name } = this.#state.header.metadata;
      throw alreadyExists(`Workflow ${name} is still there: retry it instead of its archived copy`);
    }
    const state = yield* this.#create(workflow, env);
    if (past !== undefined) recallPast(state, past);
    try {
      return yield* this.#control(state, { ...control, type: "control" }, env);
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  *#control(
    state: WorkflowState,
    { request, labels, isBrief = false }: Extract<WorkflowCommand, { type: "control" }>,
    env: EngineEnv,
  ): Steps<Answer> {
    // Refused early: to find out what a retry does may take long.
    stateAfter(state, request, env);
    const prepared = request.type === "retry" ? yield* prepareRetry(state, request) : undefined;
    yield;
    control(state, request, env, prepared);
    this.#labelKept(state);
    if (labels) relabel(state, labels);
    yield;
    return answerWith(yield* viewSteps(state, isBrief ? { withoutNodes: true } : this.#shown()));
  }

  #delete(
    state: WorkflowState,
    command: Extract<WorkflowCommand, { type: "delete" }>,
    env: EngineEnv,
  ): Answer | Steps<Answer> {
    checkDeletion(this.id, state, command, this.#options);
    if (heldByFinalizers(state, command, env)) return this.#view(state);
    const answer = answerWith(viewWorkflow(state, { withoutNodes: true }));
    const kept = command.forGood === true ? [] : archiving(this.id, state, this.#options);
    this.#lastEffects.push(
      // A lock that was granted too late, and is given back by an earlier command of the same batch.
      ...state.pending.effects.filter(({ type }) => type === "release-locks") as HostEffect[],
      ...this.#depart(departure(this.id, state, command.uid, env)),
      ...kept,
      ...forgetting(this.id, state, command, kept, this.#options),
    );
    this.#state = undefined;
    return answer;
  }

  /** Leaves the store for the archive, if the archive has it as it is. */
  #move(state: WorkflowState, command: LeaveCommand, stored?: Version): Answer {
    checkMove(this.id, state, command, stored, this.#options);
    this.#lastEffects.push(...this.#depart(movingAway(this.id, state)));
    this.#isMoved = true;
    this.#state = undefined;
    // The answer is kept for a while.
    return answerWith({ metadata: {}, spec: {} });
  }

  /** Deletes a workflow that only the archive has. It stays here as a deleted one, if it is to be kept. */
  *#deleteArchived(command: DeleteArchivedCommand, env: EngineEnv): Steps<Answer> {
    if (!this.#state) {
      const state = yield* this.#create(command.workflow, env);
      const deleted = deletedFromArchive(state, command, this.#options);
      this.#lastEffects.push(...deleted.effects);
      if (!deleted.isKept) this.#state = undefined;
    }
    return answerWith({ metadata: {}, spec: {} });
  }

  #depart({ effects, remains }: Departure): HostEffect[] {
    this.#remains = remains;
    return effects;
  }

  /** Labels a finished workflow that the archive will keep, so that clients know. */
  #labelKept(state: WorkflowState): void {
    const kept = keptLabel(this.id, state, this.#options);
    if (kept !== undefined) relabel(state, kept);
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

  /** How much of the workflow an answer shows. */
  #shown(): ViewOptions {
    return { withoutNodes: this.weight() > MAX_SHOWN_WEIGHT };
  }
}

function* viewed(state: WorkflowState, options: ViewOptions): Steps<Answer> {
  return answerWith(yield* viewSteps(state, options));
}

/** The actor kind of workflows. */
export function createWorkflowKind(options: WorkflowKindOptions = {}): ActorKind {
  return {
    prefix: "wf/",
    silent: false,
    creates: (body) => isJsonObject(body) && body["type"] === "submit",
    mayRefuse: (body) => !claimsFact(body),
    putAside: (id, { parts }, reason, { now, labelPrefix, areChangesNoted = false }) => {
      const { namespace = "", name = "" } = parseWorkflowActorId(id) ?? {};
      const { put, index, effects } = putAside(parts, reason, {
        namespace,
        name,
        now,
        labelPrefix,
        areChangesNoted,
      });
      return { put, drop: [], index, effects: effects as HostEffect[], needs: [] };
    },
    hydrate: (id, stored) =>
      traced(new WorkflowActor(id, stored && load(stored), options), options.traces),
    *hydrateInTurns(stored) {
      const state = asideHeader(stored.parts["h"]) === undefined
        ? yield* loadSteps(stored.parts)
        : load(stored);
      return traced(new WorkflowActor(stored.id, state, options), options.traces);
    },
    enough: (body) => enoughFor(body, options),
    hydrateBare: (stored, cause) => new BareWorkflow(stored, options, cause),
    answers: {
      withVersion: (answer, version) => withVersion(answer as unknown as Workflow, version),
      view: ({ parts, version }) => withVersion(viewStored(parts), version),
    },
  };
}

/** Workflows without an archive. */
export const workflowKind: ActorKind = createWorkflowKind();
