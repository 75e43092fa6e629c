/** A task whose pod is awaited: what was reported of it, and what its pod shows now. */
import type { TaskSpec } from "../../engine/effect.ts";
import type { Report } from "../port.ts";
import { hasStarted, isReady, pendingMessage, podProgress } from "./outcome.ts";
import type { Pod } from "./outcome.ts";
import { defined } from "../../base/defined.ts";

export class RunningTask {
  readonly task: TaskSpec;
  readonly report: Report;
  /** When it was started, by the monotonic clock. */
  readonly since: number;
  /** Resolves when a main container runs, or when nothing more is awaited of the task. */
  readonly begun: Promise<void>;
  cancelDeadline: () => void = () => {};
  /** Its pod has ended, and its outcome is being put together. */
  isEnding = false;
  /** It was cancelled or is out of time: a pod that comes to be later is ended. */
  isUnwanted = false;
  #isStarted = false;
  #isReady = false;
  #pending: string | undefined;
  #progress: string | undefined;
  readonly #begin: () => void;

  constructor(task: TaskSpec, report: Report, since: number) {
    this.task = task;
    this.report = report;
    this.since = since;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.begun = promise;
    this.#begin = resolve;
  }

  /** True when a main container runs or has run. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Nothing more is awaited. */
  forget(): void {
    this.cancelDeadline();
    this.#begin();
  }

  /** Reports what is new in a state of the pod. */
  see(pod: Pod, labelPrefix: string): void {
    if (hasStarted(pod, this.task)) {
      this.seeProgress(pod, labelPrefix);
      this.#reportStarted(pod);
      return;
    }
    const message = pendingMessage(pod);
    if (message !== undefined) this.pend(message);
  }

  /** Reports why no main container runs yet, if none does, and the reason is new. */
  pend(message: string): void {
    if (this.#isStarted || message === this.#pending) return;
    this.#pending = message;
    this.report({ type: "task-pending", task: this.task.id, message });
  }

  /** Reports the pod's progress, if it is new. */
  seeProgress(pod: Pod, labelPrefix: string): void {
    const progress = podProgress(pod, labelPrefix);
    if (progress === undefined || progress === this.#progress) return;
    this.#progress = progress;
    this.report({ type: "task-progress", task: this.task.id, progress });
  }

  #reportStarted(pod: Pod): void {
    const { id, template } = this.task;
    // Only a daemon's readiness is awaited.
    const ready = template.daemon !== true || isReady(pod);
    if (this.#isStarted && this.#isReady === ready) return;
    this.#isStarted = true;
    this.#isReady = ready;
    this.#begin();
    const { podIP } = pod.status ?? {};
    const { nodeName: hostNodeName } = pod.spec;
    this.report({
      type: "task-started",
      task: id,
      ready,
      ...defined({ podIP, hostNodeName }),
    });
  }
}
