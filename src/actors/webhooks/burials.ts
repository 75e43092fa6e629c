/**
 * Deliveries on their way to the dead letters. The letters of a subscription keep the newest only, so no more of them wait
 * here than have room there: what is older would be pushed out anyway.
 */
import type { Json } from "../../base/json.ts";
import type { Clock } from "../../platform/clock.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { ActorId } from "../../store/port.ts";
import { type DeadLettersCommand, MAX_LETTERS_SIZE } from "./dead_letters.ts";
import { deadLettersId, type HeldPost } from "./delivery.ts";
import type { Entry } from "./target.ts";

/** Deliveries under way at once, and those of one subscription: workflows wait behind them. */
const MAX_AT_ONCE = 256;
const MAX_OF_ONE = 16;

/** A delivery that a shard holds. */
export interface HeldEntry extends Entry, Pick<HeldPost, "deliver"> {
  /** Counts the deliveries that this replica takes. */
  number: number;
  /** Tells the shard that it need not be done again. */
  done(): void;
}

export interface BurialDeps {
  clock: Clock;
  ids: Ids;
  log: Logger;
}

/** Those of one subscription. */
interface Grave {
  /** Oldest first. */
  waiting: { entry: HeldEntry; end: () => void }[];
  /** Characters of those that wait. */
  size: number;
  underWay: number;
}

export class Burials {
  readonly #deps: BurialDeps;
  readonly #maxCount: number;
  readonly #places = new FairLimiter(MAX_AT_ONCE);
  readonly #graves = new Map<ActorId, Grave>();

  /** @param maxCount most dead letters of a subscription */
  constructor(deps: BurialDeps, maxCount: number) {
    this.#deps = deps;
    this.#maxCount = Math.max(1, maxCount);
  }

  /** Moves a delivery to the dead letters, however long that takes. Resolves when it is done with; never rejects. */
  bury(entry: HeldEntry): Promise<void> {
    const { namespace, name } = entry.delivery.subscription;
    const id = deadLettersId(namespace, name);
    let grave = this.#graves.get(id);
    if (grave === undefined) this.#graves.set(id, grave = { waiting: [], size: 0, underWay: 0 });
    const { waiting } = grave;
    const ended = new Promise<void>((end) => waiting.push({ entry, end }));
    grave.size += entry.size;
    this.#pump(id, grave);
    while (
      waiting.length > this.#maxCount || (waiting.length > 1 && grave.size > MAX_LETTERS_SIZE)
    ) {
      const oldest = this.#next(grave);
      if (oldest?.entry.isHeld() === true) oldest.entry.done();
      oldest?.end();
    }
    return ended;
  }

  #next(grave: Grave): Grave["waiting"][number] | undefined {
    const next = grave.waiting.shift();
    grave.size -= next?.entry.size ?? 0;
    return next;
  }

  #pump(id: ActorId, grave: Grave): void {
    while (grave.underWay < MAX_OF_ONE) {
      const next = this.#next(grave);
      if (next === undefined) break;
      grave.underWay++;
      void this.#move(id, next.entry).then(() => {
        next.end();
        grave.underWay--;
        this.#pump(id, grave);
      });
    }
    if (grave.underWay === 0) this.#graves.delete(id);
  }

  async #move(id: ActorId, entry: HeldEntry): Promise<void> {
    const { clock, ids, log } = this.#deps;
    const { delivery, reason, attempts } = entry;
    const { namespace, name } = delivery.subscription;
    const command: DeadLettersCommand = { type: "bury", delivery, reason, attempts };
    const body = command as unknown as Json;
    for (let attempt = 0; entry.isHeld(); attempt++) {
      try {
        await this.#places.run(id, () => entry.deliver(`bury/${delivery.id}`, id, body));
        return entry.done();
      } catch (cause) {
        if (attempt % 10 === 0) {
          log.warn({ namespace, subscription: name, err: cause }, "dead letter not kept yet");
        }
        await clock.sleep(Math.min(30_000, 100 * 2 ** attempt) * (0.5 + ids.fraction()));
      }
    }
  }
}
