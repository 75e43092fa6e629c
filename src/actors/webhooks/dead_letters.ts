/**
 * The actor of a subscription's dead letters: deliveries that were given up. It keeps the newest of them, each for a while,
 * and hands them out again when somebody asks for a replay. Changes that are no workflow's go through it as well.
 */
import { partTexts } from "../../base/part_text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { invalid } from "../../base/problem.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import type { ActorId, StoredActor } from "../../store/port.ts";
import { unknownCommand } from "../command_body.ts";
import type { ActorKind, HostEffect, HotActor, Taken } from "../hot_actor.ts";
import { DEAD_LETTERS_PREFIX, isDelivery, type WebhookDelivery } from "./delivery.ts";

/** A delivery that was given up. */
export interface DeadLetter {
  delivery: WebhookDelivery;
  /** Why. */
  reason: string;
  attempts: number;
  /** When, epoch ms. */
  buriedAt: number;
}

/** What the actor understands. All of it may be repeated. */
export type DeadLettersCommand =
  | { type: "bury"; delivery: WebhookDelivery; reason: string; attempts: number }
  /** Tries them again; without ids all. */
  | { type: "replay"; ids?: string[] }
  /** Hands out a delivery that was made elsewhere. */
  | { type: "post"; delivery: WebhookDelivery };

export interface DeadLetterBounds {
  /** Most letters of a subscription. The oldest go first. */
  maxCount: number;
  /** How long one is kept, ms. */
  maxAgeMs: number;
}

/** Most characters of all letters of a subscription. */
export const MAX_LETTERS_SIZE = 16 * 1024 * 1024;
const PART = "d:";
/** There is one as long as the actor has letters. */
const SWEEP_TIMER = "sweep";
const CHARACTERS_PER_WEIGHT = 8_192;

/** The letters of a stored actor, oldest first. Those that can't be read are left out. */
export function deadLettersOf(stored: StoredActor | undefined): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (const [key, text] of Object.entries(stored?.parts ?? {})) {
    const letter = key.startsWith(PART) ? readLetter(text) : undefined;
    if (letter !== undefined) letters.push(letter);
  }
  return letters.sort((a, b) => a.buriedAt - b.buriedAt || (a.delivery.at - b.delivery.at));
}

function readLetter(text: string): DeadLetter | undefined {
  const value = parseOrUndefined(text);
  if (!isJsonObject(value) || !isDelivery(value["delivery"])) return undefined;
  return typeof value["buriedAt"] === "number" ? value as unknown as DeadLetter : undefined;
}

class DeadLettersActor implements HotActor {
  readonly id: ActorId;
  readonly #bounds: DeadLetterBounds;
  /** By the id of the delivery, oldest first. */
  readonly #letters = new Map<string, { letter: DeadLetter; size: number }>();
  #size = 0;
  #taken: { put: Record<string, string>; drop: Set<string>; effects: HostEffect[] };

  constructor(id: ActorId, stored: StoredActor | undefined, bounds: DeadLetterBounds) {
    this.id = id;
    this.#bounds = bounds;
    this.#taken = { put: {}, drop: new Set(), effects: [] };
    const readable = deadLettersOf(stored);
    for (const letter of readable) this.#keep(letter, JSON.stringify(letter).length);
    const known = new Set(readable.map(({ delivery }) => PART + delivery.id));
    for (const key of Object.keys(stored?.parts ?? {})) {
      if (!known.has(key)) this.#taken.drop.add(key);
    }
  }

  exists(): boolean {
    return true;
  }

  receive(body: Json, env: EngineEnv): undefined {
    if (!isJsonObject(body)) throw unknownCommand(body);
    switch (body["type"]) {
      case "bury":
        return this.#bury(body, env.now);
      case "replay":
        return this.#replay(body["ids"], env.now);
      case "post": {
        const { delivery } = body;
        if (!isDelivery(delivery)) throw invalid("a stored delivery is damaged");
        return this.#post(delivery);
      }
      case "timer-fired":
        return this.#sweep(env.now);
      default:
        throw unknownCommand(body);
    }
  }

  advance(): void {}

  take(): Taken {
    const { put, drop, effects } = this.#taken;
    this.#taken = { put: {}, drop: new Set(), effects: [] };
    return { put: partTexts(put), drop: [...drop], effects, needs: [] };
  }

  weight(): number {
    return 1 + Math.floor(this.#size / CHARACTERS_PER_WEIGHT);
  }

  isGrowing(): boolean {
    return false;
  }

  rests(): boolean {
    return true;
  }

  #bury({ delivery, reason, attempts }: JsonObject, now: number): undefined {
    if (!isDelivery(delivery)) throw invalid("a stored dead letter is damaged");
    const { since: _, ...kept } = delivery;
    const letter: DeadLetter = {
      delivery: kept as WebhookDelivery,
      reason: String(reason).slice(0, 1_024).toWellFormed(),
      attempts: Number(attempts),
      buriedAt: now,
    };
    const text = JSON.stringify(letter);
    if (this.#letters.size === 0) this.#setTimer(now);
    this.#drop(letter.delivery.id);
    this.#keep(letter, text.length);
    const key = PART + letter.delivery.id;
    this.#taken.put[key] = text;
    this.#taken.drop.delete(key);
    while (this.#letters.size > this.#bounds.maxCount || this.#size > MAX_LETTERS_SIZE) {
      this.#dropOldest();
    }
  }

  #replay(ids: Json | undefined, now: number): undefined {
    const chosen = Array.isArray(ids) ? new Set(ids) : undefined;
    for (const [id, { letter }] of this.#letters) {
      if (chosen !== undefined && !chosen.has(id)) continue;
      this.#drop(id);
      this.#post({ ...letter.delivery, since: now });
    }
  }

  #post(delivery: WebhookDelivery): undefined {
    this.#taken.effects.push({ type: "post-webhook", id: delivery.id, delivery });
  }

  #sweep(now: number): undefined {
    for (const [id, { letter }] of this.#letters) {
      if (letter.buriedAt > now - this.#bounds.maxAgeMs) break;
      this.#drop(id);
    }
    if (this.#letters.size > 0) this.#setTimer(now);
  }

  #setTimer(now: number): void {
    const [oldest] = this.#letters.values();
    const at = (oldest?.letter.buriedAt ?? now) + this.#bounds.maxAgeMs;
    this.#taken.effects.push({ type: "set-timer", id: SWEEP_TIMER, at: Math.max(at, now + 1) });
  }

  #keep(letter: DeadLetter, size: number): void {
    this.#letters.set(letter.delivery.id, { letter, size });
    this.#size += size;
  }

  #dropOldest(): void {
    const [id] = this.#letters.keys();
    if (id !== undefined) this.#drop(id);
  }

  #drop(id: string): void {
    const known = this.#letters.get(id);
    if (known === undefined) return;
    this.#letters.delete(id);
    this.#size -= known.size;
    delete this.#taken.put[PART + id];
    this.#taken.drop.add(PART + id);
  }
}

/** The actor kind of dead letters of subscriptions. */
export function createDeadLettersKind(bounds: DeadLetterBounds): ActorKind {
  return {
    prefix: DEAD_LETTERS_PREFIX,
    silent: true,
    creates: () => false,
    hydrate: (id, stored) => new DeadLettersActor(id, stored, bounds),
  };
}
