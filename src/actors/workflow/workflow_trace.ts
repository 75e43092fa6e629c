/** The spans of one workflow: which nodes it has seen, and a span for each that ends. */
import {
  parseTraceparent,
  type RemoteSpan,
  type TraceOrigin,
  traceparent,
} from "../../base/trace_context.ts";
import { hasEnded, isTask, type NodeRecord } from "../../engine/records.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { ownTraceId, spanIdOf } from "../../platform/traces/ids.ts";
import type { SpanRecord, Traces } from "../../platform/traces/span.ts";
import { NODE_PART_PREFIX } from "../../store/port.ts";
import type { Taken } from "../hot_actor.ts";
import {
  createdAtOf,
  nodeAttributes,
  nodeError,
  nodeName,
  waitDetail,
  workflowAttributes,
  workflowError,
} from "./span_text.ts";

/** Where a node is. One that waits for a lock has a number that is not negative: since when it does, epoch ms. */
const ENDED = -1;
const OPEN = -2;
/** Its task has not begun. */
const PENDING = -3;

/** Part of a workflow's first span. */
const WORKFLOW = "workflow";

export class WorkflowTrace {
  readonly traceId: string;
  readonly isSampled: boolean;
  /** Of the command at work, epoch ms. */
  now = 0;
  readonly #uid: string;
  readonly #origin: TraceOrigin;
  readonly #run: number;
  readonly #traces: Traces;
  readonly #parent: RemoteSpan | undefined;
  /** Only of a workflow whose spans are wanted. */
  readonly #nodes = new Map<string, number>();
  #hasBegun = true;
  #isOver = true;
  /** What the request at work was caused by. */
  #cause: RemoteSpan | undefined;
  #spans: SpanRecord[] = [];

  constructor({ header }: WorkflowState, origin: TraceOrigin, traces: Traces) {
    const { uid = "" } = header.metadata;
    const parent = parseTraceparent(origin.parent, origin.state);
    this.#uid = uid;
    this.#origin = origin;
    this.#run = origin.run ?? 0;
    this.#traces = traces;
    this.#parent = parent;
    this.traceId = parent?.traceId ?? ownTraceId(uid);
    this.isSampled = traces.isSampled(this.traceId, parent);
  }

  /** Sees a workflow as it is stored, or as it begins: what has ended by now has had its span. */
  look({ header, nodes }: WorkflowState): void {
    if (!this.isSampled) return;
    this.#hasBegun = header.startedAt !== undefined;
    this.#isOver = header.finishedAt !== undefined;
    this.#nodes.clear();
    for (const node of nodes.values()) this.#nodes.set(node.id, placeOf(node));
  }

  /** Tells log lines about the actor, and about tasks, which trace they belong to. */
  tell(actor: string): void {
    const { traceId, isSampled } = this;
    this.#traces.note([actor, this.#uid], { traceId, run: this.#run, isSampled });
  }

  /** What the next spans that end were caused by, as a `traceparent`. */
  noteCause(cause: string): void {
    this.#cause = parseTraceparent(cause);
  }

  /** Spans of what has ended; undefined: nothing has. Gives tasks that start their context. */
  take(state: WorkflowState | undefined, { put, drop, effects }: Taken): SpanRecord[] | undefined {
    for (const effect of effects) {
      if (effect.type !== "start-task") continue;
      const { task } = effect;
      task.traceparent = traceparent(this.#of(task.nodeId), this.isSampled);
      if (this.#parent?.state !== undefined) task.tracestate = this.#parent.state;
    }
    if (!this.isSampled) return undefined;
    if (state !== undefined) {
      for (const key of drop) this.#nodes.delete(key.slice(NODE_PART_PREFIX.length));
      for (const { key } of put) {
        if (key === "h") this.#noteHeader(state);
        else if (key.startsWith(NODE_PART_PREFIX)) {
          const node = state.nodes.get(key.slice(NODE_PART_PREFIX.length));
          if (node !== undefined) this.#note(state, node);
        }
      }
    }
    this.#cause = undefined;
    if (this.#spans.length === 0) return undefined;
    const spans = this.#spans;
    this.#spans = [];
    return spans;
  }

  /** Spans of what has ended since the last look. */
  catchUp(state: WorkflowState): SpanRecord[] {
    if (!this.isSampled) return [];
    for (const node of state.nodes.values()) this.#note(state, node);
    this.#noteHeader(state);
    return this.#spans.splice(0);
  }

  /** Ends what is open: the workflow was deleted. */
  close(state: WorkflowState, now: number): void {
    if (!this.isSampled || this.#isOver) return;
    for (const node of state.nodes.values()) {
      if (!hasEnded(node)) this.#add(this.#nodeSpan(state, node, now, "deleted"));
    }
    this.#add(this.#rootSpan(state, now, "deleted"));
    this.#isOver = true;
  }

  /** Spans of everything that ended between two times, from what is stored. */
  between(state: WorkflowState, earliest: number, latest: number): SpanRecord[] {
    if (!this.isSampled) return [];
    const { finishedAt } = state.header;
    for (const node of state.nodes.values()) {
      const at = node.finishedAt ?? 0;
      if (!hasEnded(node) || at < earliest || at > latest || node.isImported === true) continue;
      this.#add(this.#nodeSpan(state, node, at));
    }
    if (finishedAt !== undefined && finishedAt >= earliest && finishedAt <= latest) {
      this.#add(this.#rootSpan(state, finishedAt));
    }
    return this.#spans;
  }

  #note(state: WorkflowState, node: NodeRecord): void {
    const before = this.#nodes.get(node.id);
    const place = placeOf(node);
    if (place === before) return;
    // While it waits for its lock, it waits since the first time that it was seen.
    if (place >= 0 && before !== undefined && before >= 0) return;
    this.#nodes.set(node.id, place);
    if (before !== undefined && before >= 0) this.#noteLock(state, node, before);
    if (before === PENDING && place !== PENDING) this.#notePending(state, node);
    if (place === ENDED) {
      this.#add(this.#nodeSpan(state, node, node.finishedAt ?? this.now));
    }
  }

  #noteHeader(state: WorkflowState): void {
    const { header } = state;
    if (!this.#hasBegun && header.startedAt !== undefined) {
      this.#hasBegun = true;
      const since = createdAtOf(header);
      if (header.lock !== undefined && since < header.startedAt) {
        const attributes = { ...this.#who(state), "sluice.wait.reason": "lock" };
        this.#add(this.#wait("lock", this.#root, since, header.startedAt, attributes));
      }
    }
    const isOver = header.finishedAt !== undefined;
    if (isOver && !this.#isOver) this.#add(this.#rootSpan(state, header.finishedAt ?? this.now));
    this.#isOver = isOver;
  }

  /** A node has its lock, or has given up. What was waited for is beside the node, which begins when it has the lock. */
  #noteLock(state: WorkflowState, node: NodeRecord, since: number): void {
    const until = hasEnded(node) ? node.finishedAt : node.startedAt;
    this.#add(this.#wait(
      `lock/${node.id}`,
      this.#above(node),
      since,
      until ?? this.now,
      {
        ...this.#who(state),
        "sluice.node.id": node.id,
        "sluice.wait.reason": "lock",
        ...waitDetail(node),
      },
    ));
  }

  /** A task has begun, or has ended without that. */
  #notePending(state: WorkflowState, node: NodeRecord): void {
    const { startedAt = this.now } = node;
    const until = hasEnded(node) ? node.finishedAt ?? this.now : this.now;
    // Who begins at once has not waited.
    if (until <= startedAt) return;
    this.#add(this.#wait(`pending/${node.id}`, this.#of(node.id), startedAt, until, {
      ...this.#who(state),
      "sluice.node.id": node.id,
      "sluice.wait.reason": "pending",
    }));
  }

  #wait(
    part: string,
    parent: RemoteSpan,
    start: number,
    end: number,
    attributes: SpanRecord["attributes"],
  ): SpanRecord {
    const reason = String(attributes["sluice.wait.reason"]);
    return { ...this.#of(`wait/${part}`), parent, name: `wait ${reason}`, start, end, attributes };
  }

  #nodeSpan(state: WorkflowState, node: NodeRecord, end: number, why?: string): SpanRecord {
    const { showsValues } = this.#traces;
    const error = why ?? nodeError(node, showsValues);
    const isWait = node.type === "Suspend";
    const attributes = {
      ...this.#who(state),
      ...nodeAttributes(node, showsValues),
      ...(isWait && { "sluice.wait.reason": "suspend" }),
    };
    const span: SpanRecord = {
      ...this.#of(node.id),
      parent: this.#above(node),
      name: nodeName(node),
      start: Math.min(node.startedAt ?? end, end),
      end,
      attributes,
    };
    if (node.type === "HTTP") span.kind = "client";
    if (error !== undefined) span.error = error;
    if (isWait && this.#cause !== undefined) span.links = [this.#cause];
    return span;
  }

  #rootSpan(state: WorkflowState, end: number, why?: string): SpanRecord {
    const { header } = state;
    const { showsValues } = this.#traces;
    const error = why ?? workflowError(header, showsValues);
    const start = this.#run === 0 ? createdAtOf(header) : header.startedAt ?? end;
    const parent = this.#run === 0 || this.#origin.isRestored === true
      ? this.#parent
      : this.#ref(spanIdOf(this.#uid, WORKFLOW));
    const event = this.#run === 0 ? parseTraceparent(this.#origin.event) : undefined;
    return {
      ...this.#root,
      ...(parent !== undefined && { parent }),
      name: "workflow",
      start: Math.min(start, end),
      end,
      attributes: { ...this.#who(state), ...workflowAttributes(state, showsValues) },
      ...(error !== undefined && { error }),
      ...(event !== undefined && { links: [event] }),
    };
  }

  #who({ header: { metadata } }: WorkflowState): SpanRecord["attributes"] {
    return {
      "sluice.namespace": metadata.namespace ?? "",
      "sluice.workflow.name": metadata.name ?? "",
    };
  }

  #add(span: SpanRecord): void {
    this.#spans.push(span);
  }

  /** The span that a node belongs to: of the node that waits for it, or of the workflow. */
  #above({ owner }: NodeRecord): RemoteSpan {
    return owner === undefined ? this.#root : this.#of(owner);
  }

  get #root(): RemoteSpan {
    return this.#of(WORKFLOW);
  }

  #of(part: string): RemoteSpan {
    return this.#ref(spanIdOf(this.#uid, part, this.#run));
  }

  #ref(spanId: string): RemoteSpan {
    return { traceId: this.traceId, spanId, isSampled: this.isSampled };
  }
}

function placeOf(node: NodeRecord): number {
  if (hasEnded(node)) return ENDED;
  if (node.synchronizationStatus?.waiting !== undefined) return node.startedAt ?? 0;
  return node.phase === "Pending" && isTask(node.type) ? PENDING : OPEN;
}
