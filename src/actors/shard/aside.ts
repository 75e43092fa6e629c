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

  /** Takes those of an actor and all behind them. @returns the others */
  takeFrom(commands: readonly QueuedCommand[], actor: ActorId): QueuedCommand[] {
    this.#actors.add(actor);
    return commands.filter((command) => !this.takeBehind(command));
  }

  #add(command: QueuedCommand): void {
    this.#commands.push(command);
    this.#actors.add(command.actor);
    this.#hasMail ||= command.cursor !== undefined;
  }

  /** Asks for the turn of an actor, once for all that wait. @param back its next batch may begin */
  async ask(
    turn: LargeTurn,
    actor: ActorId,
    signal: AbortSignal,
    back: () => void,
  ): Promise<void> {
    if (this.#isAsked) return;
    this.#isAsked = true;
    try {
      await turn.ask(actor, signal);
      this.#isAsked = false;
      back();
    } catch {
      // The shard is gone.
    }
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
