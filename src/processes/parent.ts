/**
 * Runs several processes of the same server behind one port. The parent serves no request: it starts them, starts one again
 * that ended, tells them to stop, and gathers their metrics.
 */
import type { Clock } from "../platform/clock.ts";
import { CHILD_VARIABLE } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import { headLines, labelText, PROCESS_LABEL, valueLine } from "../base/prometheus_text.ts";
import { Child, type ChildEvents } from "./child.ts";
import type { ToParent } from "./messages.ts";
import { joinPages, type ProcessPage } from "./metrics_page.ts";
import { seatText } from "./seat.ts";
import { Supervision } from "./supervision.ts";

/** How long a process may take to send its metrics, ms. */
const PAGE_MS = 1_000;
/** How often a process that serves is asked whether it is there, ms. */
const PING_MS = 5_000;
/** One that has not answered so many times in a row is killed: it takes connections that nobody serves. */
const MOST_SILENT = 6;
/** How much longer than its drain timeout a process may take to end, ms. */
const OVERTIME_MS = 5_000;

export interface ParentOptions {
  /** Number of processes. */
  count: number;
  /** For the sockets of the processes; nobody else may enter it. */
  folder: string;
  /** Program and arguments of each. */
  command: readonly string[];
  /** How long a process may take to end, ms. */
  drainTimeoutMs: number;
  clock: Clock;
  log: Logger;
  /** Aborts when all are to stop. */
  stop: AbortSignal;
}

/** Runs the processes until they are told to stop, or none can be started; resolves with the exit status. */
export function runProcesses(options: ParentOptions): Promise<number> {
  return new Promise((resolve) => new Parent(options, resolve).start());
}

/** One of the processes, by its number. */
interface Place {
  child: Child | undefined;
  /** How often it was started. */
  starts: number;
  /** Monotonic, ms. */
  startedAt: number;
  /** Pings in a row that it has not answered; undefined before it serves. */
  silent: number | undefined;
  /** By which name, and at which socket, the others know it. */
  known: { name: string; socket: string } | undefined;
}

class Parent {
  readonly #options: ParentOptions;
  readonly #end: (status: number) => void;
  readonly #supervision = new Supervision();
  readonly #places = new Map<number, Place>();
  /** Pages of metrics that are waited for, by the number of the question. */
  readonly #pages = new Map<number, (page: ProcessPage) => void>();
  #questions = 0;

  constructor(options: ParentOptions, end: (status: number) => void) {
    this.#options = options;
    this.#end = end;
  }

  start(): void {
    const { count, stop } = this.#options;
    for (let number = 1; number <= count; number++) {
      this.#places.set(number, {
        child: undefined,
        starts: 0,
        startedAt: 0,
        silent: undefined,
        known: undefined,
      });
      this.#startOne(number);
    }
    this.#pingLater();
    if (stop.aborted) this.#stop();
    else stop.addEventListener("abort", () => this.#stop());
  }

  #startOne(number: number): void {
    const { command, clock, log, folder } = this.#options;
    const place = this.#places.get(number);
    if (place === undefined || this.#supervision.isStopping) return;
    const events: ChildEvents = {
      onMessage: (message) => this.#hear(number, message),
      onEnd: (status) => this.#ended(number, place, status),
    };
    this.#supervision.started(number);
    place.startedAt = clock.monotonic();
    place.silent = undefined;
    const env = { [CHILD_VARIABLE]: seatText(number, place.starts++, folder) };
    place.child = new Child(command, env, events);
    log.info({ process: number, pid: place.child.pid }, "process started");
  }

  #ended(number: number, place: Place, status: number): void {
    const { clock, log } = this.#options;
    place.child = undefined;
    this.#tellGone(place);
    const livedMs = clock.monotonic() - place.startedAt;
    const decision = this.#supervision.ended(number, status, livedMs);
    switch (decision.type) {
      case "restart": {
        const { pauseMs } = decision;
        log.error({ process: number, status, pauseMs }, "process ended; it is started again");
        clock.after(pauseMs, () => this.#startOne(number));
        this.#tellReady();
        break;
      }
      case "give-up":
        log.error({ process: number, status }, "process ended before any was ready: giving up");
        this.#releaseAll();
        break;
      case "wait":
        break;
      case "end":
        this.#end(decision.status);
    }
  }

  /**
   * Asks those that serve, again and again, whether they are there. Pings are counted, not the time: if the machine stood
   * still, so did the processes.
   */
  #pingLater(): void {
    const { clock, log } = this.#options;
    clock.after(PING_MS, () => {
      if (this.#supervision.isStopping) return;
      for (const [number, place] of this.#places) {
        if (place.child === undefined || place.silent === undefined) continue;
        if (place.silent++ < MOST_SILENT) place.child.send({ type: "ping" });
        else {
          log.error({ process: number }, "process does not answer: killed");
          place.child.kill();
        }
      }
      this.#pingLater();
    }, true);
  }

  /** Tells the others, so that they need not wait until its leases run out. */
  #tellGone(place: Place): void {
    const { known } = place;
    place.known = undefined;
    if (known === undefined) return;
    for (const { child } of this.#places.values()) child?.send({ type: "gone", name: known.name });
  }

  #stop(): void {
    if (this.#supervision.stop()) this.#end(0);
    else this.#releaseAll();
  }

  #releaseAll(): void {
    const { clock, drainTimeoutMs, log } = this.#options;
    for (const { child } of this.#places.values()) child?.release();
    clock.after(drainTimeoutMs + OVERTIME_MS, () => {
      for (const [number, { child }] of this.#places) {
        if (child === undefined) continue;
        log.error({ process: number }, "process did not end in time: killed");
        child.kill();
      }
    });
  }

  #hear(number: number, message: ToParent): void {
    const place = this.#places.get(number);
    if (place?.silent !== undefined) place.silent = 0;
    switch (message.type) {
      case "pong":
        return;
      case "ready":
        if (place !== undefined) place.silent = 0;
        this.#supervision.ready(number);
        return this.#tellReady();
      case "join":
        return this.#introduce(number, message);
      case "page":
        return this.#pages.get(message.id)?.({ process: number, text: message.text });
      case "ask-metrics":
        return void this.#gather().then((text) => {
          place?.child?.send({ type: "metrics", id: message.id, text });
        });
    }
  }

  /** The processes share a port, so one tells that it is ready only when all of them are. */
  #tellReady(): void {
    if (!this.#supervision.areReady) return;
    for (const { child } of this.#places.values()) child?.send({ type: "all-ready" });
  }

  /** Lets the others know a process, and it them. */
  #introduce(number: number, { name, socket }: { name: string; socket: string }): void {
    const newcomer = this.#places.get(number);
    if (newcomer === undefined) return;
    newcomer.known = { name, socket };
    for (const place of this.#places.values()) {
      const others = [...this.#places.values()].filter((other) => other !== place)
        .flatMap(({ known }) => known ?? []);
      const sockets = Object.fromEntries(others.map((known) => [known.name, known.socket]));
      place.child?.send({ type: "neighbours", sockets });
    }
  }

  /** The metrics of all processes that tell theirs in time, and of the parent. */
  #gather(): Promise<string> {
    const id = ++this.#questions;
    const pages: ProcessPage[] = [];
    return new Promise((resolve) => {
      const finish = () => {
        cancel();
        this.#pages.delete(id);
        pages.sort((a, b) => a.process - b.process);
        resolve(joinPages(pages) + this.#ownLines(new Set(pages.map((page) => page.process))));
      };
      const cancel = this.#options.clock.after(PAGE_MS, finish);
      this.#pages.set(id, (page) => {
        pages.push(page);
        if (pages.length === this.#places.size) finish();
      });
      for (const { child } of this.#places.values()) child?.send({ type: "ask-page", id });
    });
  }

  #ownLines(answered: ReadonlySet<number>): string {
    const labels = (number: number) => labelText([[PROCESS_LABEL, String(number)]]);
    const up = "sluice_process_up";
    const starts = "sluice_process_starts_total";
    const lines = [
      ...headLines(up, "1 for a process whose metrics are on this page", "gauge"),
      ...[...this.#places.keys()].map((number) =>
        valueLine(up, labels(number), answered.has(number) ? 1 : 0)
      ),
      ...headLines(starts, "How often a process was started", "counter"),
      ...[...this.#places].map(([number, place]) =>
        valueLine(starts, labels(number), place.starts)
      ),
    ];
    return lines.map((line) => `${line}\n`).join("");
  }
}
