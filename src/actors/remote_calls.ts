/**
 * Commands for shards of other replicas: puts them into mailboxes, several with one call, and waits for the answers that
 * their owners send to this replica. An answer may get lost, with its sender or on its way: after a second the receipt is
 * looked for that the commit of the command has left in the store.
 */
import type { Json } from "../base/json.ts";
import { unavailable } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Command, ShardStore } from "../store/port.ts";
import { typeOf } from "./batch.ts";
import type { ActorKind } from "./hot_actor.ts";
import { keptAnswer, kindOf } from "./kinds.ts";
import { decodeResult, receiptKey, type Result } from "./result.ts";

/** How long an answer is waited for before its receipt is looked for, and how often, ms. */
const LOOK_EVERY_MS = 1_000;

export interface RemoteCallsDeps {
  store: ShardStore;
  clock: Clock;
  kinds: readonly ActorKind[];
  replica: string;
}

interface Letter {
  shard: number;
  command: Command;
  sent: (error: unknown) => void;
}

interface Waiting {
  shard: number;
  command: Command;
  /** Monotonic, ms. */
  since: number;
  settle: (result: Result) => void;
}

export class RemoteCalls {
  readonly #deps: RemoteCallsDeps;
  readonly #waiting = new Map<string, Waiting>();
  #letters: Letter[] = [];
  #cancelLook: (() => void) | undefined;
  #isStopped = false;

  constructor(deps: RemoteCallsDeps) {
    this.#deps = deps;
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
    const { clock, replica } = this.#deps;
    const request = command.id;
    const forget = () => void this.#waiting.delete(request);
    this.#waiting.set(request, { shard, command, since: clock.monotonic(), settle });
    this.#lookLater();
    this.post(shard, { ...command, replyTo: { replica, request } }).catch(
      (error: unknown) => this.#settle(request, { ok: false, error }),
    );
    return { forget };
  }

  /** An answer came. */
  hear(request: string, answer: Json): void {
    if (this.#waiting.has(request)) this.#settle(request, decodeResult(answer));
  }

  /** Looks for no more receipts. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelLook?.();
  }

  #settle(request: string, result: Result): void {
    const waiting = this.#waiting.get(request);
    this.#waiting.delete(request);
    waiting?.settle(result);
  }

  async #flush(): Promise<void> {
    const letters = this.#letters;
    this.#letters = [];
    try {
      await this.#deps.store.append(letters.map(({ shard, command }) => ({ shard, command })));
      for (const { sent } of letters) sent(undefined);
    } catch (cause) {
      for (const { sent } of letters) sent(cause ?? new Error("append failed"));
    }
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    this.#cancelLook ??= this.#deps.clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const byShard = new Map<number, Waiting[]>();
    for (const waiting of this.#waiting.values()) {
      if (this.#deps.clock.monotonic() - waiting.since < LOOK_EVERY_MS) continue;
      const own = byShard.get(waiting.shard);
      if (own) own.push(waiting);
      else byShard.set(waiting.shard, [waiting]);
    }
    // What can't be read now is looked for the next time.
    await Promise.allSettled([...byShard].map(([shard, calls]) => this.#lookIn(shard, calls)));
    this.#cancelLook = undefined;
    if (this.#waiting.size > 0) this.#lookLater();
  }

  async #lookIn(shard: number, calls: Waiting[]): Promise<void> {
    const { store } = this.#deps;
    const keys = calls.map(({ command }) => receiptKey(command.id));
    const receipts = await store.findAnswers(shard, keys);
    for (const call of calls) {
      const receipt = receipts[receiptKey(call.command.id)];
      if (receipt === undefined) continue;
      const result = receipt.answer === null
        ? await this.#answerTo(call)
        : decodeResult(receipt.answer);
      this.#settle(call.command.id, result);
    }
  }

  /** The answer to a command that was applied: the one kept for its idempotency key, else what is stored now. */
  async #answerTo({ shard, command }: Waiting): Promise<Result> {
    const { store, kinds } = this.#deps;
    const { actor, idempotency } = command;
    if (idempotency) {
      const kept = (await store.findAnswers(shard, [idempotency.key]))[idempotency.key];
      if (kept !== undefined) return { ok: true, answer: keptAnswer(kinds, actor, kept) };
    }
    const stored = await store.loadActor(shard, actor);
    const answers = kindOf(kinds, actor)?.answers;
    if (stored && answers) return { ok: true, answer: answers.view(stored) };
    if (typeOf(command.body) === "delete") return { ok: true, answer: undefined };
    const text = "The request was done, but its answer is lost and the object is gone since";
    return { ok: false, error: unavailable(text) };
  }
}
