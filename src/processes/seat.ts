/** The place of this process among several that a parent started: how they know each other. */
import process from "node:process";
import { CHILD_VARIABLE } from "../platform/config.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { Link } from "./link.ts";
import { joinPages } from "./metrics_page.ts";
import type { ToParent, ToProcess } from "./messages.ts";

/** How long the metrics of the others are waited for, ms. */
const METRICS_MS = 2_000;

/** What a process says to its parent, and hears from it. */
export interface ParentChannel {
  send(message: ToParent): void;
  /** Hears every message. */
  onMessage(hear: (message: ToProcess) => void): void;
  /** Hears that the parent wants no more of this process, or is gone. */
  onClose(hear: () => void): void;
  close(): void;
}

export class Seat {
  /** Number of this process, from 1. */
  readonly number: number;
  /** It takes the place of one that ended, while the others go on serving. */
  readonly isReplacement: boolean;
  /** Takes questions of the other processes, and asks them, by the names under which they joined. */
  readonly link = new Link();
  readonly #socket: string;
  readonly #channel: ParentChannel;
  readonly #clock: Clock;
  readonly #left = new AbortController();
  readonly #allReady = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, (text: string) => void>();
  #ownPage: () => string = () => "";
  #asked = 0;

  /** @param text as the parent wrote it, see {@link seatText} */
  constructor(text: string, channel: ParentChannel, clock: Clock = systemClock) {
    const [number = "", starts = "", ...folder] = text.split("/");
    this.number = Number(number);
    this.isReplacement = Number(starts) > 0;
    this.#socket = `${folder.join("/")}/${number}-${starts}`;
    this.#channel = channel;
    this.#clock = clock;
    channel.onMessage((message) => this.#hear(message));
    channel.onClose(() => this.#left.abort());
  }

  /** Aborts when the parent wants this process to end, or is gone. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Resolves when no process refuses requests because it is still starting. */
  get allReady(): Promise<void> {
    return this.#allReady.promise;
  }

  /** Tells the parent that this process serves requests. */
  ready(): void {
    this.#channel.send({ type: "ready" });
  }

  /** Begins to listen to the other processes, and lets them know this one by a name. */
  async join(name: string): Promise<void> {
    await this.link.listen(this.#socket);
    this.#channel.send({ type: "join", name, socket: this.#socket });
  }

  /** Says no more: an open channel would keep the process alive. */
  leave(): void {
    this.link.close();
    this.#channel.close();
  }

  /** @param page gives the metrics of this process */
  showMetrics(page: () => string): void {
    this.#ownPage = page;
  }

  /** The metrics of all processes; those of this one alone when the parent does not answer. */
  metricsPage(): Promise<string> {
    const id = ++this.#asked;
    return new Promise((resolve) => {
      const finish = (text: string) => {
        cancel();
        this.#waiting.delete(id);
        resolve(text);
      };
      const alone = () => finish(joinPages([{ process: this.number, text: this.#ownPage() }]));
      const cancel = this.#clock.after(this.#left.signal.aborted ? 0 : METRICS_MS, alone);
      this.#waiting.set(id, finish);
      this.#channel.send({ type: "ask-metrics", id });
    });
  }

  #hear(message: ToProcess): void {
    switch (message.type) {
      case "metrics":
        return this.#waiting.get(message.id)?.(message.text);
      case "all-ready":
        return this.#allReady.resolve();
      case "neighbours":
        return this.link.meet(message.sockets);
      case "gone":
        return this.link.gone(message.name);
      case "ping":
        return this.#channel.send({ type: "pong" });
      case "ask-page":
        return this.#channel.send({ type: "page", id: message.id, text: this.#ownPage() });
    }
  }
}

/**
 * What a parent writes into the environment of a process.
 *
 * @param starts how often a process of this number was started before
 * @param folder for the sockets of the processes
 */
export function seatText(number: number, starts: number, folder: string): string {
  return `${number}/${starts}/${folder}`;
}

/** The seat of this process; undefined where no parent started it. */
export function takeSeat(env: Record<string, string | undefined>): Seat | undefined {
  const text = env[CHILD_VARIABLE];
  return text === undefined || text === "" ? undefined : new Seat(text, runtimeChannel());
}

/** The channel that the runtime opens between a process and the one that started it. */
function runtimeChannel(): ParentChannel {
  return {
    send(message) {
      // What cannot be said because the parent is gone needs not be said.
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onMessage: (hear) => void process.on("message", (message) => hear(message as ToProcess)),
    onClose: (hear) => void process.on("disconnect", hear),
    close() {
      if (process.connected) process.disconnect();
    },
  };
}
