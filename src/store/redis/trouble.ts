/** What goes wrong with Redis, in the words of the store: a `Problem` Unavailable that says why. */
import { ClientOfflineError, ErrorReply } from "redis";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";

/** Errors of the server that mean it can't serve now, and what to say about them. */
const REFUSALS: readonly [pattern: RegExp, text: string][] = [
  [/\bLOADING\b/, "Redis is loading its data"],
  [/\bREADONLY\b/, "Redis is read-only: it is a replica, or a fail-over is under way"],
  [/\bOOM\b/, "Redis is out of memory: maxmemory is reached; raise it"],
  [/\bMISCONF\b/, "Redis refuses writes because it cannot save to its disk"],
  [/\bBUSY\b|\bUNKILLABLE\b/, "Redis is busy with a script"],
  [
    /\bCLUSTERDOWN\b|\bTRYAGAIN\b|\bMASTERDOWN\b|\bMOVED\b|\bASK\b/,
    "The Redis cluster is not ready",
  ],
  [/\bNOREPLICAS\b/, "Redis has too few replicas for a write"],
  // Without a password Redis does not even read long commands.
  [
    /\bNOAUTH\b|\bWRONGPASS\b|unauthenticated (multi)?bulk length/,
    "Redis refuses the user or the password of the store",
  ],
  [
    /\bNOPERM\b|user executing the script|ACL failure in script/,
    "Redis does not allow the store's user all that it needs: docs/guarantees.md has the rights",
  ],
  [/max number of clients/, "Redis accepts no more connections: maxclients is reached"],
];

/** Errors of a server to which the address of the store never fits, and what to say about them. */
const MISFITS: readonly [pattern: RegExp, text: string][] = [
  [
    /DB index is out of range|not allowed in cluster mode/,
    "Redis has no database of the number in the address: its setting `databases` says how many there are, and a cluster has only 0",
  ],
  [/cluster support disabled/, "Redis is no cluster: write redis:// in place of redis+cluster://"],
];

/** The error for an address that stays wrong, however often it is tried; undefined for any other trouble. */
export function misfitOf(error: unknown): Problem | undefined {
  const found = MISFITS.find(([pattern]) => pattern.test(errorText(error)));
  return found && new Problem(ProblemCode.FailedPrecondition, found[1]);
}

/** A script stops at the command that its user may not call, and what it wrote before stays. */
const STOPPED_SCRIPT = /user executing the script|ACL failure in script/;

/** Tells whether a failed call was definitely not carried out. */
export function wasRefused(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error;
  if (cause instanceof ErrorReply) return !STOPPED_SCRIPT.test(cause.message);
  return cause instanceof ClientOfflineError;
}

/** Tells whether the user of the store may not do what was asked for. */
export function isForbidden({ cause }: Problem): boolean {
  return cause instanceof ErrorReply && /\bNOPERM\b/.test(cause.message);
}

/** The error for a call that was not answered in time. */
export function lateAnswer(timeoutMs: number): Problem {
  return new Problem(ProblemCode.Unavailable, `Redis did not answer within ${timeoutMs} ms`, {
    retryAfterSeconds: 1,
    mayBeDone: true,
  });
}

/** Fails when the promise has not settled in time. It may still settle later, unnoticed. */
export function bounded<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(lateAnswer(timeoutMs)),
      timeoutMs,
    );
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/**
 * The error of a call as callers of the store see it. An error that no trouble explains is a defect and stays as it is.
 *
 * @param lastTrouble what was last heard about the connection
 */
export function problemOf(error: unknown, lastTrouble = ""): unknown {
  if (error instanceof Problem) return error;
  if (!(error instanceof Error)) return error;
  if (error instanceof ErrorReply) {
    const refusal = refusalOf(error.message);
    return refusal === undefined ? error : withCause(refusal, error);
  }
  // That there is no connection does not say why Redis lets nobody in.
  const refusal = error instanceof ClientOfflineError ? refusalOf(lastTrouble) : undefined;
  return withCause(refusal ?? `Redis cannot be reached: ${errorText(error)}`, error);
}

function refusalOf(text: string): string | undefined {
  return REFUSALS.find(([pattern]) => pattern.test(text))?.[1];
}

function withCause(text: string, cause: Error): Problem {
  return new Problem(ProblemCode.Unavailable, text, {
    retryAfterSeconds: 1,
    mayBeDone: !wasRefused(cause),
    cause,
  });
}
