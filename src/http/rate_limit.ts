/**
 * A bound on requests a second for each sender, so that one that runs wild leaves room for the others. A request counts
 * for its address until its credential was found good, and then for its identity instead: made-up credentials get nobody
 * more room, and can't take that of others.
 */
import type { Caller } from "../auth/port.ts";
import type { Clock } from "../platform/clock.ts";

export interface RateLimiter {
  /** Counts a request; the headers go on its answer, whether it is allowed or not. */
  take(sender: string): RateVerdict;
  /** Takes back what was counted for a sender. */
  giveBack(sender: string): void;
}

export interface RateVerdict {
  allowed: boolean;
  headers: Record<string, string>;
}

/** Senders that are remembered; the one that was quiet longest is forgotten first. */
const MAX_SENDERS = 10_000;

interface Window {
  /** Epoch second. */
  second: number;
  count: number;
}

/** Allows each sender `perSecond` requests in every second. */
export function createRateLimiter(perSecond: number, clock: Clock): RateLimiter {
  const windows = new Map<string, Window>();
  return {
    take(sender) {
      const second = Math.floor(clock.now() / 1000);
      const known = windows.get(sender);
      const window = known?.second === second ? known : { second, count: 0 };
      window.count++;
      windows.delete(sender);
      windows.set(sender, window);
      if (windows.size > MAX_SENDERS) {
        const [oldest] = windows.keys();
        if (oldest !== undefined) windows.delete(oldest);
      }
      const allowed = window.count <= perSecond;
      return {
        allowed,
        headers: {
          "x-ratelimit-limit": String(perSecond),
          "x-ratelimit-remaining": String(Math.max(0, perSecond - window.count)),
          "x-ratelimit-reset": String(second + 1),
          ...(allowed ? {} : { "retry-after": "1" }),
        },
      };
    },
    giveBack(sender) {
      const window = windows.get(sender);
      if (window !== undefined && window.count > 0) window.count--;
    },
  };
}

/** The request of one sender on its way to an answer. */
export class CountedRequest {
  readonly #limiter: RateLimiter;
  readonly #address: string;
  #verdict: RateVerdict;

  constructor(limiter: RateLimiter, server: unknown) {
    this.#limiter = limiter;
    this.#address = `address ${addressOf(server)}`;
    this.#verdict = limiter.take(this.#address);
  }

  /** The answer that a sender gets who is too fast. */
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

  /** Counts for whoever it turned out to be; without a subject that was proved it stays with the address. */
  identify(
    { identity: { issuer = "", subject }, isAnyone }: Pick<Caller, "identity" | "isAnyone">,
  ): void {
    if (subject === undefined || isAnyone === true) return;
    this.#limiter.giveBack(this.#address);
    this.#verdict = this.#limiter.take(`identity ${issuer} ${subject}`);
  }
}

/** What the server under us says about the other end of the connection, on either runtime. */
export function addressOf(server: unknown): string {
  const { remoteAddr, incoming } = (server ?? {}) as {
    remoteAddr?: { hostname?: string };
    incoming?: { socket?: { remoteAddress?: string } };
  };
  return remoteAddr?.hostname ?? incoming?.socket?.remoteAddress ?? "";
}
