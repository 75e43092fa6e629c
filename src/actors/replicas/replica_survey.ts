/** Asks all live replicas how they are. Nothing is stored: what a replica says is true when it says it. */
import type { Json } from "../../base/json.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ReplicaFacts, ReplicaReport } from "../port.ts";
import type { ReplicaChannel } from "./replica_channel.ts";

/** How long answers are waited for, ms. A replica that needs longer has a blocked event loop, or is gone. */
const PATIENCE_MS = 1_500;

export interface ReplicaSurveyDeps {
  clock: Pick<Clock, "monotonic" | "sleep">;
  /** Name of this replica. */
  replica: string;
  /** Live replicas, as of the last look. */
  replicas(): readonly string[];
  /** What this replica says. */
  describe(): ReplicaFacts;
  /** Brings questions and answers to other replicas. Both may get lost. */
  channel: Pick<ReplicaChannel, "askHow" | "tellHow">;
}

interface Question {
  askedAt: number;
  reports: Map<string, ReplicaReport>;
  missing: Set<string>;
  whenComplete: () => void;
}

export class ReplicaSurvey {
  readonly #deps: ReplicaSurveyDeps;
  readonly #open = new Map<number, Question>();
  #last = 0;

  constructor(deps: ReplicaSurveyDeps) {
    this.#deps = deps;
  }

  /** Asks all, this one included; in the order of their names. */
  async ask(): Promise<ReplicaReport[]> {
    const { clock, replica, replicas, describe, channel } = this.#deps;
    const names = [...new Set([...replicas(), replica])].sort();
    const others = names.filter((name) => name !== replica);
    const number = ++this.#last;
    const complete = new AbortController();
    const question: Question = {
      askedAt: clock.monotonic(),
      reports: new Map([[replica, { replica, facts: describe(), answeredAfterMs: 0 }]]),
      missing: new Set(others),
      whenComplete: () => complete.abort(),
    };
    this.#open.set(number, question);
    for (const other of others) channel.askHow(other, number);
    if (others.length > 0) await clock.sleep(PATIENCE_MS, complete.signal);
    this.#open.delete(number);
    return names.map((name) => question.reports.get(name) ?? { replica: name });
  }

  /** Answers another replica that asks. */
  answer(replica: string, number: number): void {
    const { describe, channel } = this.#deps;
    channel.tellHow(replica, number, describe() as unknown as Json);
  }

  /** A replica has answered. */
  hear(replica: string, number: number, facts: Json): void {
    const question = this.#open.get(number);
    if (question?.missing.delete(replica) !== true) return;
    question.reports.set(replica, {
      replica,
      facts: facts as unknown as ReplicaFacts,
      answeredAfterMs: Math.round(this.#deps.clock.monotonic() - question.askedAt),
    });
    if (question.missing.size === 0) question.whenComplete();
  }
}
