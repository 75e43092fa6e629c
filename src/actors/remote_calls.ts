/**
 * Commands for shards of other replicas: hands them to owners on the same machine, puts the others into mailboxes, several
 * with one call, and waits for the answers that the owners send to this replica. An answer may get lost, with its sender or
 * on its way: after a second the receipt is looked for that the commit of the command has left in the store. A command
 * that was lost with a neighbour is looked for sooner, and goes to the mailbox when its shard has another owner and there
 * is no receipt.
 */
import type { Json } from "../base/json.ts";
import { unavailable } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Command, ShardStore } from "../store/port.ts";
import { typeOf } from "./command_body.ts";
import type { ActorKind } from "./hot_actor.ts";
import { keptAnswer, kindOf } from "./kinds.ts";
import { handOver, type Neighbours } from "./neighbours.ts";
import type { AboutOwner } from "./replicas/replica_channel.ts";
import { decodeResult, receiptKey, type Result } from "./result.ts";

/** How long an answer is waited for before its receipt is looked for, and how often, ms. */
const LOOK_EVERY_MS = 1_000;
/** The same after a command was lost with a neighbour, which may have ended; each pause is twice the one before. */
const FIRST_LOOK_MS = 50;

export interface RemoteCallsDeps {
  store: ShardStore;
  clock: Clock;
  kinds: readonly ActorKind[];
  replica: string;
  /** Absent: there are none. */
  neighbours?: Neighbours;
  /** The replica that should own a shard. */
  ownerOf(shard: number): string | undefined;
  /** Asks the owner of a shard to say so: see {@link RemoteCalls.owned}. Questions are numbered upwards. */
  askOwner(shard: number, question: number): void;
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
  /** The neighbour with which the command was lost, and the last question about owners before that. */
  lost?: { owner: string; question: number };
  /** Another replica owns the shard since: the lost command can't be applied any more. */
  isFenced?: boolean;
}

export class RemoteCalls {
  readonly #deps: RemoteCallsDeps;
  readonly #waiting = new Map<string, Waiting>();
  #letters: Letter[] = [];
  /** Number of the last question about owners. */
  #question = 0;
  #cancelLook: (() => void) | undefined;
  /** Before the next look. */
  #pauseMs = LOOK_EVERY_MS;
  #isLooking = false;
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
    const own = { ...command, replyTo: { replica, request } };
    this.#waiting.set(request, { shard, command: own, since: clock.monotonic(), settle });
    this.#lookLater();
    if (!this.#handOver(shard, own)) this.#mail(shard, own);
    return { forget };
  }

  /** A replica says that it owns a shard, in answer to a question. */
  owned({ replica, shard, question }: AboutOwner): void {
    for (const call of this.#waiting.values()) {
      if (call.shard !== shard || call.lost === undefined) continue;
      if (call.lost.owner !== replica && question > call.lost.question) call.isFenced = true;
    }
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

  /** False when no neighbour owns the shard. */
  #handOver(shard: number, command: Command): boolean {
    const { neighbours, ownerOf } = this.#deps;
    const owner = neighbours && ownerOf(shard);
    if (neighbours === undefined || owner === undefined) return false;
    return handOver(neighbours, owner, { shard, command }, (result) => {
      const call = this.#waiting.get(command.id);
      if (call === undefined) return;
      if (result === "not-taken") this.#mail(shard, command);
      else if (result === "lost") {
        call.lost = { owner, question: this.#question };
        this.#lookSoon();
      } else this.hear(command.id, result);
    });
  }

  #mail(shard: number, command: Command): void {
    this.post(shard, command).catch(
      (error: unknown) => this.#settle(command.id, { ok: false, error }),
    );
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
    this.#cancelLook ??= this.#deps.clock.after(this.#pauseMs, () => void this.#look());
  }

  #lookSoon(): void {
    this.#pauseMs = FIRST_LOOK_MS;
    if (this.#isLooking) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#lookLater();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LOOK_EVERY_MS);
    const byShard = new Map<number, Waiting[]>();
    for (const waiting of this.#waiting.values()) {
      const isLate = this.#deps.clock.monotonic() - waiting.since >= LOOK_EVERY_MS;
      if (!isLate && waiting.lost === undefined) continue;
      const own = byShard.get(waiting.shard);
      if (own) own.push(waiting);
      else byShard.set(waiting.shard, [waiting]);
    }
    // What can't be read now is looked for the next time.
    await Promise.allSettled([...byShard].map(([shard, calls]) => this.#lookIn(shard, calls)));
    this.#cancelLook = undefined;
    this.#isLooking = false;
    if (this.#waiting.size > 0) this.#lookLater();
  }

  async #lookIn(shard: number, calls: Waiting[]): Promise<void> {
    const { store, askOwner } = this.#deps;
    // Known before the receipts are read: none can be written any more.
    const fenced = calls.filter(({ isFenced }) => isFenced);
    const keys = calls.map(({ command }) => receiptKey(command.id));
    const receipts = await store.findAnswers(shard, keys);
    for (const call of calls) {
      const receipt = receipts[receiptKey(call.command.id)];
      if (receipt === undefined) {
        if (fenced.includes(call)) this.#mailAgain(call);
        continue;
      }
      const result = receipt.answer === null
        ? await this.#answerTo(call)
        : decodeResult(receipt.answer);
      this.#settle(call.command.id, result);
    }
    if (calls.some(({ lost }) => lost !== undefined)) askOwner(shard, ++this.#question);
  }

  #mailAgain(call: Waiting): void {
    delete call.lost;
    delete call.isFenced;
    this.#mail(call.shard, call.command);
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
