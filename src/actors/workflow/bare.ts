/**
 * A workflow of which only the header is loaded, because it has too many nodes or they cannot be read. It can only be deleted
 * and terminated. It serves one batch and is never kept in memory.
 */
import { errorText } from "../../base/error_text.ts";
import type { Json } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { loadWithoutNodes, takeChanges } from "../../engine/codec.ts";
import { control } from "../../engine/orders/control.ts";
import { deletionWithoutNodes } from "../../engine/cleanup/deletion.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import { complete } from "../../engine/finish.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewWorkflow } from "../../engine/view.ts";
import type { ActorId, StoredActor } from "../../store/port.ts";
import { parseWorkflowActorId } from "../actor_ids.ts";
import type { Answer, HostEffect, HotActor, Taken } from "../hot_actor.ts";
import type { WorkflowCommand } from "../port.ts";
import { answerWith, archiving, checkDeletion, forgetting, heldByFinalizers } from "./deletion.ts";
import type { WorkflowKindOptions } from "./deletion.ts";

export class BareWorkflow implements HotActor {
  readonly id: ActorId;
  readonly isBare = true;
  /** Without nodes; undefined when the header cannot be read either. */
  readonly #state: WorkflowState | undefined;
  readonly #options: WorkflowKindOptions;
  /** Why the nodes are not loaded, for messages. */
  readonly #why: string;
  #isGone = false;
  #effects: HostEffect[] = [];
  #remains: string | undefined;
  #endsTasks = false;

  /** @param cause Why it could not be loaded. Absent: it has too many nodes. */
  constructor(stored: StoredActor, options: WorkflowKindOptions, cause?: unknown) {
    this.id = stored.id;
    this.#options = options;
    this.#why = cause === undefined
      ? "it has too many nodes to be loaded"
      : `it cannot be loaded: ${errorText(cause)}`;
    try {
      this.#state = loadWithoutNodes(stored.parts);
    } catch {
      this.#state = undefined;
    }
  }

  exists(): boolean {
    return !this.#isGone;
  }

  receive(body: Json, env: EngineEnv): Answer | undefined {
    const command = body as unknown as WorkflowCommand;
    if (command.type === "delete" && !this.#isGone) return this.#delete(command, env);
    const isTerminate = command.type === "control" && command.request.type === "terminate";
    if (isTerminate && !this.#isGone) return this.#terminate(command, env);
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `workflow "${this.#name}" can only be terminated or deleted: ${this.#why}`,
    );
  }

  advance(): void {}

  take(): Taken {
    const effects = this.#effects;
    this.#effects = [];
    if (this.#isGone || this.#state === undefined) {
      const remains = this.#remains;
      return {
        put: [],
        drop: [],
        effects,
        needs: [],
        ...(remains === undefined ? {} : { remains }),
      };
    }
    const changes = takeChanges(this.#state);
    return {
      ...changes,
      effects: [...effects, ...changes.effects as HostEffect[]],
      ...(this.#endsTasks ? { endsTasks: true } : {}),
    };
  }

  weight(): number {
    return 0;
  }

  rests(): boolean {
    return true;
  }

  isGrowing(): boolean {
    return false;
  }

  get #name(): string {
    return parseWorkflowActorId(this.id)?.name ?? this.id;
  }

  #delete(
    command: Extract<WorkflowCommand, { type: "delete" }>,
    env: EngineEnv,
  ): Answer {
    const state = this.#state;
    if (state !== undefined) {
      checkDeletion(this.id, state, command, this.#options);
      if (heldByFinalizers(state, command, env)) return answerWith(viewWorkflow(state));
    }
    const [, namespace = "", name = ""] = this.id.split("/");
    const uid = state?.header.metadata.uid ?? command.uid ?? "";
    this.#remains = `${this.id}#${env.randomSuffix(10)}`;
    const kept = state === undefined || command.forGood === true
      ? []
      : archiving(this.id, state, this.#options);
    this.#effects.push(
      ...deletionWithoutNodes({ namespace, name, uid, ...(state && { state }) }, this.#remains),
      ...kept,
      ...(state === undefined ? [] : forgetting(this.id, state, command, kept, this.#options)),
    );
    this.#isGone = true;
    return answerWith(
      state === undefined ? { metadata: { namespace, name }, spec: {} } : viewWorkflow(state),
    );
  }

  /** Ends the workflow by its header. Its nodes stay as they are; the host ends their tasks. */
  #terminate(
    command: Extract<WorkflowCommand, { type: "control" }>,
    env: EngineEnv,
  ): Answer {
    const state = this.#state;
    if (state === undefined) {
      throw new Problem(
        ProblemCode.FailedPrecondition,
        `workflow "${this.#name}" cannot be terminated because its header cannot be read: delete it`,
      );
    }
    // The specs may be unreadable, and are not written.
    control(state, command.request, env);
    state.pending.specs = false;
    complete({ state, env }, "Failed", `Stopped with strategy 'Terminate'; ${this.#why}`);
    const { namespace = "", name = "", uid = "" } = state.header.metadata;
    this.#effects.push({
      type: "release-all-locks",
      id: `release-all/${uid}`,
      namespace,
      workflow: name,
      uid,
    });
    this.#endsTasks = true;
    return answerWith(viewWorkflow(state));
  }
}
