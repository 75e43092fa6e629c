/**
 * Commands for shards of other replicas: puts them into mailboxes, several with one call, and waits for the answers that
 * their owners send to this replica.
 */
import type { Json } from "../base/json.ts";
import type { Command, ShardStore } from "../store/port.ts";
import { decodeResult, type Result } from "./result.ts";

interface Letter {
  shard: number;
  command: Command;
  sent: (error: unknown) => void;
}

export class RemoteCalls {
  readonly #store: ShardStore;
  readonly #replica: string;
  readonly #waiting = new Map<string, (result: Result) => void>();
  #letters: Letter[] = [];

  constructor(store: ShardStore, replica: string) {
    this.#store = store;
    this.#replica = replica;
  }

  /** Puts a command into a mailbox; resolves when it is durable there. */
  post(shard: number, command: Command): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = (error: unknown) => error === undefined ? resolve() : reject(error);
      this.#letters.push({ shard, command, sent });
      if (this.#letters.length === 1) queueMicrotask(() => void this.#flush());
    });
  }

  /** Puts a command into a mailbox and hears its result; `forget` when nobody waits any more. */
  call(shard: number, command: Command, settle: (result: Result) => void): { forget(): void } {
    const request = command.id;
    const forget = () => void this.#waiting.delete(request);
    this.#waiting.set(request, settle);
    this.post(shard, { ...command, replyTo: { replica: this.#replica, request } }).catch(
      (error: unknown) => {
        forget();
        settle({ ok: false, error });
      },
    );
    return { forget };
  }

  /** An answer came. */
  hear(request: string, answer: Json): void {
    const settle = this.#waiting.get(request);
    if (!settle) return;
    this.#waiting.delete(request);
    settle(decodeResult(answer));
  }

  async #flush(): Promise<void> {
    const letters = this.#letters;
    this.#letters = [];
    try {
      await this.#store.append(letters.map(({ shard, command }) => ({ shard, command })));
      for (const { sent } of letters) sent(undefined);
    } catch (cause) {
      for (const { sent } of letters) sent(cause ?? new Error("append failed"));
    }
  }
}
