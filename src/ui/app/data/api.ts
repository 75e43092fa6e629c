/** The public API, as the pages call it. The browser sends the login itself, in a cookie. */
import { createClient } from "../../../client/client.ts";
import { ClientError } from "../../../client/transport.ts";
import { TEXTS } from "../texts.ts";
import { fetchAndTell } from "./clock.ts";
import { notify } from "./notices.ts";
import { ROOT } from "./root.ts";

/** A warning that many answers bear is shown again after so long, ms. */
const WARN_EVERY_MS = 60_000;
const warnedAt = new Map<string, number>();

/** How many requests without an answer are remembered. */
const MAX_UNANSWERED = 32;
/** Keys of requests that make something and got no answer, by what they are about. */
const unanswered = new Map<string, string>();

export const api = createClient({
  server: location.origin + ROOT.replace(/\/$/, ""),
  fetch: fetchAndTell,
  onWarning: (text) => {
    const now = performance.now();
    if (now - (warnedAt.get(text) ?? -Infinity) < WARN_EVERY_MS) return;
    warnedAt.set(text, now);
    notify(text);
  },
});

/** Why something could not be shown or done. */
export interface Trouble {
  kind: "login" | "forbidden" | "missing" | "unreachable" | "refused" | "server";
  /** The server's own words. */
  message: string;
  /** Another attempt may better it. */
  passes?: boolean;
}

/** No answer, or one that another attempt may better. */
export function isPassing(error: unknown): boolean {
  return error instanceof ClientError &&
    (error.status === 0 || error.status === 429 || (error.status >= 500 && error.status !== 501));
}

/** What an error of a call means for the visitor. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof ClientError)) {
    return { kind: "server", message: error instanceof Error ? error.message : String(error) };
  }
  const { status, message } = error;
  const passes = isPassing(error);
  if (status === 0) {
    return { kind: "unreachable", message: TEXTS.troubles.unreachable.what, passes };
  }
  if (status === 401) return { kind: "login", message };
  if (status === 403) return { kind: "forbidden", message };
  if (status === 404) return { kind: "missing", message };
  return { kind: status >= 500 ? "server" : "refused", message, passes };
}

/** Why something that the visitor asked for was not done, as far as that is known. */
export function refusalOf(error: unknown): string {
  const { kind, message } = troubleOf(error);
  return kind === "unreachable" ? TEXTS.troubles.unreachable.unanswered : message;
}

/**
 * Makes something once: what was sent without an answer may be there, so the same sent once more has the same key, gets that
 * answer, and makes nothing.
 * @param about says what is sent; another one is another request
 */
export async function once<T>(
  about: string,
  create: (idempotencyKey: string) => Promise<T>,
): Promise<T> {
  const key = unanswered.get(about) ?? newKey();
  unanswered.delete(about);
  try {
    return await create(key);
  } catch (error) {
    if (isPassing(error)) remember(about, key);
    throw error;
  }
}

function remember(about: string, key: string): void {
  unanswered.set(about, key);
  const [oldest] = unanswered.keys();
  if (unanswered.size > MAX_UNANSWERED && oldest !== undefined) unanswered.delete(oldest);
}

/** Names one request. `crypto.randomUUID` is missing where the page came without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36))
    .join("-");
}
