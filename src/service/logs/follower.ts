/** Lines as they come, also of pods that begin later, until the workflow has ended or is gone. */
import { Problem } from "../../base/problem.ts";
import type { LogLine } from "../../executors/port.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { Version } from "../../store/version.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { mergeByTime } from "./merge.ts";
import type { Pod, PodLine, ReadPod } from "./pods.ts";

/** How much may wait for a slow client: characters, and so many for each line. */
const MAX_WAITING = 2 ** 17;
const LINE_WEIGHT = 100;
/** How long the first lines of several pods wait for each other, so that they come in the order of time. */
const GATHER_MS = 100;
/** Pause before the workflow is looked at again when its changes can't be followed, ms. */
const LOOK_AGAIN_MS = 1_000;
/** Pauses before a pod whose log broke off is read again, ms; and how often that is tried if nothing new comes. */
const READ_AGAIN_MS = 500;
const LONGEST_READ_PAUSE_MS = 30_000;
const MAX_READS = 10;

export interface FollowRequest {
  workflow: { namespace: string; name: string };
  /** Version of the store before the workflow was read: its changes are followed from there on. */
  after: Version;
  /** The pods of the workflow after a change. */
  laterPods: (workflow: Workflow) => Promise<Pod[]>;
  /** The workflow as it is now, and the version of the store before; undefined if it is gone. */
  look: () => Promise<{ workflow: Workflow; after: Version } | undefined>;
  /** Reads a pod until it ends. */
  read: ReadPod;
  /** Reads what a pod has written. */
  readPast: ReadPod;
  signal: AbortSignal;
}

export class LogFollower {
  readonly #deps: ServiceDeps;
  readonly #request: FollowRequest;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waiting: PodLine[] = [];
  /** How much they are. */
  #weight = 0;
  readonly #started = new Set<string>();
  /** Pods that are read, and the watch of the workflow. */
  #active = 0;
  #arrived = Promise.withResolvers<void>();
  #taken = Promise.withResolvers<void>();

  constructor(deps: ServiceDeps, request: FollowRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = AbortSignal.any([request.signal, this.#stop.signal]);
  }

  /**
   * The lines of these pods and of those that begin later. Those of pods that are over come first, in the order of time; the
   * others as they arrive. To be called once.
   */
  async *lines(pods: readonly Pod[]): AsyncIterable<PodLine> {
    const { signal } = this.#request;
    const over = pods.filter(({ isOver }) => isOver);
    for (const { id } of over) this.#started.add(id);
    const running = pods.length - over.length;
    this.#start(pods);
    void this.#watch();
    const wake = () => {
      this.#arrived.resolve();
      this.#taken.resolve();
    };
    signal.addEventListener("abort", wake);
    try {
      yield* mergeByTime(over, (pod) => this.#past(pod));
      if (running > 1) await this.#deps.clock.sleep(GATHER_MS, this.#signal);
      while (!signal.aborted) {
        for (const next of this.#waiting.splice(0).sort((a, b) => a.line.at - b.line.at)) {
          this.#weight -= weightOf(next);
          yield next;
        }
        this.#taken.resolve();
        this.#taken = Promise.withResolvers();
        if (this.#active === 0 && this.#waiting.length === 0) return;
        await this.#arrived.promise;
        this.#arrived = Promise.withResolvers();
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#stop.abort();
      wake();
    }
  }

  #start(pods: readonly Pod[]): void {
    for (const pod of pods) {
      if (this.#started.has(pod.id)) continue;
      this.#started.add(pod.id);
      void this.#read(pod);
    }
  }

  async *#past(pod: Pod): AsyncIterable<LogLine> {
    try {
      yield* this.#request.readPast(pod);
    } catch (error) {
      this.#warn(pod, error);
    }
  }

  async #read(pod: Pod): Promise<void> {
    this.#active++;
    const place = new LogPlace();
    for (let failures = 0; !this.#signal.aborted;) {
      try {
        await this.#readOnce(pod, place);
        break;
      } catch (error) {
        failures = place.hasMoved ? 1 : failures + 1;
        if (failures === 1) this.#warn(pod, error);
        if (!isPassing(error) || failures === MAX_READS) break;
        const pause = Math.min(READ_AGAIN_MS * 2 ** failures, LONGEST_READ_PAUSE_MS);
        await this.#deps.clock.sleep(pause, this.#signal);
      }
    }
    this.#end();
  }

  /** Reads the lines after a place, and moves that. */
  async #readOnce(pod: Pod, place: LogPlace): Promise<void> {
    place.begin();
    for await (const line of this.#request.read(pod)) {
      if (!place.isBehind(line)) continue;
      while (this.#weight >= MAX_WAITING && !this.#signal.aborted) {
        await this.#taken.promise;
      }
      if (this.#signal.aborted) return;
      const next = { pod, line };
      this.#waiting.push(next);
      this.#weight += weightOf(next);
      this.#arrived.resolve();
    }
  }

  #warn({ podName }: Pod, error: unknown): void {
    this.#deps.log.warn({ pod: podName, err: error }, "log of a pod can't be read");
  }

  /** Starts to read pods that begin, until the workflow has ended or is gone. */
  async #watch(): Promise<void> {
    const { workflow, look } = this.#request;
    const { log, clock } = this.#deps;
    let after: Version | undefined = this.#request.after;
    this.#active++;
    while (!this.#signal.aborted) {
      try {
        if (after === undefined) {
          const now = await look();
          if (now === undefined || await this.#hasEnded(now.workflow)) break;
          after = now.after;
        }
        await this.#follow(after);
        break;
      } catch (error) {
        log.warn(
          { ...workflow, err: error },
          "changes of a workflow whose log is read were missed",
        );
        after = undefined;
        await clock.sleep(LOOK_AGAIN_MS, this.#signal);
      }
    }
    this.#end();
  }

  /** Follows the changes after a version until the workflow has ended or is gone, or nobody reads any more. */
  async #follow(after: Version): Promise<void> {
    const { workflow } = this.#request;
    for await (const changes of this.#deps.watches.follow(after, this.#signal, workflow)) {
      for (const change of changes) {
        if (change.type === "DELETED" || await this.#hasEnded(change.workflow)) return;
      }
    }
  }

  /** Starts to read pods that are new. Tells whether there will be no more. */
  async #hasEnded(workflow: Workflow): Promise<boolean> {
    this.#start(await this.#request.laterPods(workflow));
    return (workflow.status?.finishedAt ?? null) !== null;
  }

  #end(): void {
    this.#active--;
    this.#arrived.resolve();
  }
}

/** How far a log has been read, which begins anew with each attempt. */
class LogPlace {
  #at = -Infinity;
  /** Lines of that time. */
  #count = 0;
  /** Lines of that time that are still to be passed over. */
  #known = 0;
  #isNew = true;

  /** A line was new since the last attempt began. */
  hasMoved = false;

  begin(): void {
    this.#known = this.#count;
    this.#isNew = this.#count === 0;
    this.hasMoved = false;
  }

  /** Tells whether a line has not been read before. */
  isBehind({ at }: LogLine): boolean {
    if (!this.#isNew) {
      if (at < this.#at) return false;
      if (at === this.#at && this.#known-- > 0) return false;
      this.#isNew = true;
    }
    this.hasMoved = true;
    if (at === this.#at) this.#count++;
    else [this.#at, this.#count] = [at, 1];
    return true;
  }
}

/** Tells whether a log may be read again: its node or the API server could not be reached, or the connection broke. */
function isPassing(error: unknown): boolean {
  return !(error instanceof Problem) || isTransient(error);
}

function weightOf({ line }: PodLine): number {
  return line.text.length + LINE_WEIGHT;
}
