/** One process that the parent has started, seen from the parent. */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import type { ToParent, ToProcess } from "./messages.ts";

/** Status of a process that could not be started. */
const NOT_STARTED = 127;
/** What shells add to the number of the signal that ended a process. */
const BY_SIGNAL = 128;

export interface ChildEvents {
  onMessage(message: ToParent): void;
  /** @param status its exit status; 128 and more: the number of a signal above that */
  onEnd(status: number): void;
}

export class Child {
  readonly #process: ChildProcess;
  #isGone = false;

  constructor(command: readonly string[], env: Record<string, string>, events: ChildEvents) {
    const [file = "", ...args] = command;
    this.#process = spawn(file, args, {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...env },
    });
    const end = (status: number) => {
      if (this.#isGone) return;
      this.#isGone = true;
      events.onEnd(status);
    };
    this.#process.on("message", (message) => events.onMessage(message as ToParent));
    this.#process.once("error", () => end(NOT_STARTED));
    this.#process.once("exit", (code, signal) => end(code ?? BY_SIGNAL + numberOf(signal)));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** A message to a process that is about to end may get lost. */
  send(message: ToProcess): void {
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** Asks it to end: it drains when the channel is closed, as it would if the parent were gone. */
  release(): void {
    if (this.#process.connected) this.#process.disconnect();
  }

  kill(): void {
    // Intentionally not `#process.kill`: on Deno it works only once, and hides the exit status.
    if (!this.#isGone && this.pid > 0) process.kill(this.pid, "SIGKILL");
  }
}

function numberOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : constants.signals[signal];
}
