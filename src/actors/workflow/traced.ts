/**
 * A workflow whose spans are wanted: it does what the workflow does, and hands out a span for whatever has ended. The host lets
 * them out once the commit is in. Without tracing, there are none of these.
 */
import { isJsonObject, type Json } from "../../base/json.ts";
import type { Steps } from "../../base/steps.ts";
import { parseTraceparent, type TraceOrigin, traceparent } from "../../base/trace_context.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import type { WorkflowState } from "../../engine/state.ts";
import type { SpanRecord, Traces } from "../../platform/traces/span.ts";
import type { ActorId } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { isArchivedActor } from "../actor_ids.ts";
import type { Answer, HotActor, Taken } from "../hot_actor.ts";
import type { WorkflowCommand } from "../port.ts";
import { WorkflowTrace } from "./workflow_trace.ts";

/** An actor that shows its workflow. */
export interface StatefulActor extends HotActor {
  /** Undefined: it does not exist. */
  readonly state: WorkflowState | undefined;
}

/** The actor, with spans if they are wanted. An archived workflow has had its own. */
export function traced(actor: StatefulActor, traces: Traces | undefined): HotActor {
  if (traces === undefined || isArchivedActor(actor.id)) return actor;
  return new TracedWorkflow(actor, traces);
}

/** Everything that an actor may tell is the inner one's to tell. */
class TracedWorkflow implements Required<Omit<HotActor, "isBare">> {
  readonly id: ActorId;
  readonly #inner: StatefulActor;
  readonly #traces: Traces;
  #trace: WorkflowTrace | undefined;
  /** Spans of what came before a retry or a deletion. */
  readonly #earlier: SpanRecord[] = [];

  constructor(inner: StatefulActor, traces: Traces) {
    this.id = inner.id;
    this.#inner = inner;
    this.#traces = traces;
    this.#begin();
  }

  exists(): boolean {
    return this.#inner.exists();
  }

  receive(body: Json, env: EngineEnv, stored?: Version): Answer | Steps<Answer> | undefined {
    const { state } = this.#inner;
    if (this.#trace !== undefined) {
      this.#trace.now = env.now;
      // What an earlier command of the same batch has ended is about to be gone.
      if (state !== undefined && endsRun(body)) this.#earlier.push(...this.#trace.catchUp(state));
    }
    const answer = this.#inner.receive(body, env, stored);
    if (!isJsonObject(body)) return answer;
    const after = () => this.#after(body as unknown as WorkflowCommand, state, env);
    if (typeof answer !== "object") {
      after();
      return answer;
    }
    return function* () {
      const last = yield* answer;
      after();
      return last;
    }();
  }

  advance(env: EngineEnv): void {
    if (this.#trace !== undefined) this.#trace.now = env.now;
    this.#inner.advance(env);
  }

  prepareTake(): Steps<void> | undefined {
    return this.#inner.prepareTake?.();
  }

  take(): Taken {
    const taken = this.#inner.take();
    const { state } = this.#inner;
    const spans = this.#trace?.take(state, taken) ?? [];
    if (this.#earlier.length > 0) spans.unshift(...this.#earlier.splice(0));
    if (spans.length > 0) taken.spans = spans;
    if (state === undefined) this.#trace = undefined;
    return taken;
  }

  weight(): number {
    return this.#inner.weight();
  }

  rests(): boolean {
    return this.#inner.rests();
  }

  isOver(): boolean {
    return this.#inner.isOver?.() ?? false;
  }

  awaitsLock(): boolean {
    return this.#inner.awaitsLock?.() ?? false;
  }

  isGrowing(): boolean {
    return this.#inner.isGrowing();
  }

  /** Notes what a command means for the trace. */
  #after(command: WorkflowCommand, before: WorkflowState | undefined, env: EngineEnv): void {
    const { state } = this.#inner;
    switch (command.type) {
      case "submit":
        if (state !== undefined && command.trace !== undefined) {
          const origin = this.#kept(state, command.trace);
          if (origin !== undefined) state.header.trace = origin;
        }
        return this.#begin(env.now);
      case "import":
        return this.#begin(env.now);
      case "restore":
        if (state !== undefined) state.header.trace = { run: env.now, isRestored: true };
        return this.#begin(env.now);
      case "control":
        if (state === undefined) return;
        if (command.cause !== undefined) this.#trace?.noteCause(command.cause);
        if (command.request.type !== "retry") return;
        state.header.trace = { ...state.header.trace, run: env.now };
        return this.#begin(env.now);
      case "delete":
        if (state === undefined && before !== undefined) this.#trace?.close(before, env.now);
        return;
    }
  }

  /** Of a workflow whose spans nobody wants only the parent is kept, which says so. */
  #kept(state: WorkflowState, origin: TraceOrigin): TraceOrigin | undefined {
    // As it is written here: a header that could not be read again would make the workflow unreadable.
    const parent = parseTraceparent(origin.parent, origin.state);
    const event = parseTraceparent(origin.event);
    const kept: TraceOrigin = {};
    if (parent !== undefined) kept.parent = traceparent(parent, parent.isSampled);
    if (parent?.state !== undefined) kept.state = parent.state;
    const isWanted = new WorkflowTrace(state, kept, this.#traces).isSampled;
    if (event !== undefined && isWanted) kept.event = traceparent(event, event.isSampled);
    return kept.parent === undefined && kept.event === undefined ? undefined : kept;
  }

  #begin(now = 0): void {
    const { state } = this.#inner;
    if (state === undefined) return;
    this.#trace = new WorkflowTrace(state, state.header.trace ?? {}, this.#traces);
    this.#trace.now = now;
    this.#trace.look(state);
    this.#trace.tell(this.id);
  }
}

/** Tells commands after which nodes, or the end of the workflow, are no longer there to be seen. */
function endsRun(body: Json): boolean {
  if (!isJsonObject(body)) return false;
  const { type, request } = body;
  return type === "delete" || type === "import" ||
    (type === "control" && isJsonObject(request) && request.type === "retry");
}
