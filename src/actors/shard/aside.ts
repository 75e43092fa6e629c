/**
 * Commands of a shard that wait until a large actor may be loaded, while all others go on. Those of one actor stay in their
 * order, and so do those from the mailbox: a commit says up to which one that was read.
 */
import type { ActorId } from "../../store/port.ts";
import type { LargeTurn } from "../large_turn.ts";
import type { QueuedCommand } from "./actor_batch.ts";

/** So many keep further timers of the shard in the store: a large actor may have ten thousands that are due. */
const MANY = 256;

export class Aside {
  #commands: QueuedCommand[] = [];
  readonly #actors = new Set<ActorId>();
  #hasMail = false;
  #isAsked = false;

  get size(): number {
    return this.#commands.length;
  }

  get isFull(): boolean {
    return this.#commands.length >= MANY;
  }

  /** The oldest. */
  get first(): QueuedCommand | undefined {
    return this.#commands[0];
  }

  /** Takes a command that has to wait behind others. False: it need not. */
  takeBehind(command: QueuedCommand): boolean {
    const isBehind = this.#actors.has(command.actor) ||
      (this.#hasMail && command.cursor !== undefined);
    if (isBehind) this.#add(command);
    return isBehind;
  }

  /** Takes those of actors and all behind them. @returns the others */
  takeFrom(commands: readonly QueuedCommand[], actors: Iterable<ActorId>): QueuedCommand[] {
    for (const actor of actors) this.#actors.add(actor);
    return commands.filter((command) => !this.takeBehind(command));
  }

  #add(command: QueuedCommand): void {
    this.#commands.push(command);
    this.#actors.add(command.actor);
    this.#hasMail ||= command.cursor !== undefined;
  }

  /** Asks for the turn of the actor that waits first, once for all that wait. @param back its next batch may begin */
  async ask(turn: LargeTurn, signal: AbortSignal, back: () => void): Promise<void> {
    const { first } = this;
    if (this.#isAsked || first === undefined) return;
    this.#isAsked = true;
    const granted = () => {
      this.#isAsked = false;
      back();
    };
    // If it fails, the shard is gone.
    await turn.ask(first.actor, signal, granted).catch(() => {});
  }

  /** Nothing waits any more. */
  takeAll(): QueuedCommand[] {
    const commands = this.#commands;
    this.#commands = [];
    this.#actors.clear();
    this.#hasMail = false;
    return commands;
  }
}
