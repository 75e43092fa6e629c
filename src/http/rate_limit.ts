/** A bound on requests a second for each sender, so that one that runs wild leaves room for the others. */
import { hashText } from "../actors/actor_ids.ts";
import type { Clock } from "../platform/clock.ts";

export interface RateLimiter {
  /** Counts a request; the headers go on its answer, whether it is allowed or not. */
  take(sender: string): { allowed: boolean; headers: Record<string, string> };
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
  };
}

/** Who sends a request: its credential (only a hash of it is kept), else its address. */
export function senderOf(request: Request, env: unknown): string {
  const credential = request.headers.get("authorization") ?? request.headers.get("cookie") ?? "";
  if (credential !== "") return `credential ${hashText(credential)}`;
  const { remoteAddr, incoming } = (env ?? {}) as {
    remoteAddr?: { hostname?: string };
    incoming?: { socket?: { remoteAddress?: string } };
  };
  return `address ${remoteAddr?.hostname ?? incoming?.socket?.remoteAddress ?? ""}`;
}
