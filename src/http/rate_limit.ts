/**
 * Limits the requests a second of each sender, so that one that runs wild leaves room for the others. A request counts to its
 * address until its credential has been accepted, then to its identity instead. So made-up credentials give nobody more
 * room, and can't use up that of others.
 */
import type { Caller } from "../auth/port.ts";
import { BoundedCache } from "../base/bounded_cache.ts";
import type { Clock } from "../platform/clock.ts";

export interface RateLimiter {
  /** Counts a request. The headers go on its answer, whether it is allowed or not. */
  take(sender: string): RateVerdict;
  /** Takes back what was counted for a sender. */
  giveBack(sender: string): void;
}

export interface RateVerdict {
  allowed: boolean;
  headers: Record<string, string>;
}

/** Most senders that are remembered. The one that has been quiet longest is forgotten first. */
const MAX_SENDERS = 10_000;

interface Window {
  /** Epoch second. */
  second: number;
  count: number;
}

/** Allows each sender `perSecond` requests in every second. */
export function createRateLimiter(perSecond: number, clock: Clock): RateLimiter {
  const windows = new BoundedCache<string, Window>(MAX_SENDERS);
  return {
    take(sender) {
      const second = Math.floor(clock.now() / 1000);
      const known = windows.get(sender);
      const window = known?.second === second ? known : windows.set(sender, { second, count: 0 });
      window.count++;
      const allowed = window.count <= perSecond;
      return {
        allowed,
        headers: {
          "x-ratelimit-limit": String(perSecond),
          "x-ratelimit-remaining": String(Math.max(0, perSecond - window.count)),
          "x-ratelimit-reset": String(second + 1),
          ...(!allowed && { "retry-after": "1" }),
        },
      };
    },
    giveBack(sender) {
      const window = windows.get(sender);
      if (window !== undefined && window.count > 0) window.count--;
    },
  };
}

/** A request that has been counted. */
export class CountedRequest {
  readonly #limiter: RateLimiter;
  readonly #address: string;
  #verdict: RateVerdict;

  constructor(limiter: RateLimiter, server: unknown) {
    this.#limiter = limiter;
    this.#address = `address ${addressOf(server)}`;
    this.#verdict = limiter.take(this.#address);
  }

  /** The answer when the sender is too fast. */
  get refusal(): Response | undefined {
    if (this.#verdict.allowed) return undefined;
    return new Response("Too Many Requests", {
      status: 429,
      headers: { "content-type": "text/plain; charset=UTF-8" },
    });
  }

  get headers(): Record<string, string> {
    return this.#verdict.headers;
  }

  /** Counts it to the identity of its caller. Without a proved subject it stays with the address. */
  identify(
    { identity: { issuer = "", subject }, isAnyone }: Pick<Caller, "identity" | "isAnyone">,
  ): void {
    if (subject === undefined || isAnyone === true) return;
    this.#limiter.giveBack(this.#address);
    this.#verdict = this.#limiter.take(`identity ${issuer} ${subject}`);
  }
}

/** The address of the other end of the connection, as the HTTP server of either runtime gives it. */
export function addressOf(server: unknown): string {
  const { remoteAddr, incoming } = (server ?? {}) as {
    remoteAddr?: { hostname?: string };
    incoming?: { socket?: { remoteAddress?: string } };
  };
  return remoteAddr?.hostname ?? incoming?.socket?.remoteAddress ?? "";
}
