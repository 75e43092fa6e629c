/**
 * Clients of a simulated deployment: they send commands through any replica, give up after a while, and repeat them.
 */
import { isDeepStrictEqual } from "node:util";
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import type { Coverage } from "./coverage.ts";
import type { SimClock } from "./sim_clock.ts";
import type { Replica } from "./replica.ts";

/** How long a client waits for an answer, ms. */
const PATIENCE_MS = 8_000;
const MAX_TRIES = 4;

export type Outcome =
  | { type: "ok"; answer: unknown }
  | { type: "refused"; code: ProblemCode; message: string }
  /** No answer, or one that leaves open whether the command was applied. */
  | { type: "unknown" };

/** One command as its client saw it. */
export interface Op {
  id: number;
  what: string;
  target: string;
  /** It had an idempotency key, so it could be repeated. */
  isKeyed: boolean;
  /** Positions in the order of everything that clients sent and received; `heardAt` is infinite without an answer. */
  calledAt: number;
  heardAt: number;
  outcome: Outcome;
  /** An attempt before the last one has no answer: it may still be applied at any time. */
  isOpen: boolean;
}

export interface ClientDeps {
  clock: SimClock;
  random: () => number;
  coverage: Coverage;
  /** A replica that takes requests; undefined if there is none. */
  pick(): Replica | undefined;
  note(...facts: (string | number)[]): void;
}

export class Client {
  readonly ops: Op[] = [];
  /** What is wrong with the answers themselves. */
  readonly wrong: string[] = [];
  readonly #deps: ClientDeps;
  #order = 0;
  #pending = 0;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
  }

  /** Commands without an answer. */
  get pending(): number {
    return this.#pending;
  }

  /** The id of the next command. */
  get nextId(): number {
    return this.ops.length;
  }

  /** Sends a command; `send` may be called several times if it has a key. */
  start(
    what: string,
    target: string,
    isKeyed: boolean,
    send: (replica: Replica) => Promise<unknown>,
  ): Op {
    const op: Op = {
      id: this.nextId,
      what,
      target,
      isKeyed,
      calledAt: this.#order++,
      heardAt: Infinity,
      outcome: { type: "unknown" },
      isOpen: false,
    };
    this.ops.push(op);
    this.#pending++;
    void this.#run(op, send).then(() => this.#pending--);
    return op;
  }

  async #run(op: Op, send: (replica: Replica) => Promise<unknown>): Promise<void> {
    const { random, coverage, note } = this.#deps;
    for (let turn = 1; turn <= (op.isKeyed ? MAX_TRIES : 1); turn++) {
      if (turn > 1) {
        coverage.add("command: repeated with its key");
        op.isOpen = true;
      }
      op.outcome = await this.#ask(send);
      if (op.outcome.type !== "unknown") break;
    }
    if (op.outcome.type !== "unknown") op.heardAt = this.#order++;
    note(op.id, op.what, op.target, op.outcome.type);
    if (op.outcome.type === "unknown") coverage.add("command: outcome unknown");
    if (op.outcome.type === "refused") coverage.add("command: refused");
    if (op.isKeyed && op.outcome.type === "ok" && random() < 0.3) {
      await this.#again(op, op.outcome.answer, send);
    }
  }

  /** Repeats a command that was applied: the answer must be the same. */
  async #again(op: Op, answer: unknown, send: (replica: Replica) => Promise<unknown>) {
    this.#deps.coverage.add("command: repeated with its key");
    const outcome = await this.#ask(send);
    if (outcome.type === "unknown") return;
    const isSame = outcome.type === "ok" &&
      isDeepStrictEqual(withoutVersion(outcome.answer), withoutVersion(answer));
    if (isSame) this.#deps.coverage.add("command: repeat got the stored answer");
    else {
      this.wrong.push(
        `${op.what} of ${op.target}: answered ${JSON.stringify(answer)}, its repeat ${
          JSON.stringify(outcome)
        }`,
      );
    }
  }

  async #ask(send: (replica: Replica) => Promise<unknown>): Promise<Outcome> {
    const { clock, random } = this.#deps;
    let replica = this.#deps.pick();
    while (replica === undefined) {
      await new Promise<void>((resolve) => clock.after(500, resolve));
      replica = this.#deps.pick();
    }
    const to = replica;
    return await new Promise<Outcome>((resolve) => {
      const cancel = clock.after(PATIENCE_MS, () => resolve({ type: "unknown" }));
      const hear = (outcome: Outcome) => {
        clock.after(random() * 5, () => {
          cancel();
          resolve(outcome);
        });
      };
      to.process.enter(() => {
        send(to).then(
          (answer) => hear({ type: "ok", answer }),
          (cause: unknown) => hear(outcomeOf(cause)),
        );
      });
    });
  }
}

function outcomeOf(cause: unknown): Outcome {
  if (!(cause instanceof Problem)) throw cause;
  const { code, message } = cause;
  const isOpen = code === ProblemCode.Unavailable || code === ProblemCode.DeadlineExceeded;
  return isOpen ? { type: "unknown" } : { type: "refused", code, message };
}

/** The version is that of the moment: a stored answer has none. */
function withoutVersion(answer: unknown): unknown {
  const copy = JSON.parse(JSON.stringify(answer ?? null)) as
    | { version?: unknown; metadata?: { resourceVersion?: unknown } }
    | null;
  delete copy?.version;
  delete copy?.metadata?.resourceVersion;
  return copy;
}
