/**
 * The one error type that callers may meet. Every refusal names its code, its HTTP status follows from the code, and
 * the text is meant for the person who sent the request. Anything else that is thrown is a defect of ours.
 */

import { boundedMessage } from "./bounded_message.ts";

/** gRPC status numbers, as the reference's error bodies carry them in `code`. */
export const ProblemCode = {
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;
export type ProblemCode = typeof ProblemCode[keyof typeof ProblemCode];

/** HTTP status of each code (the gRPC gateway's table). */
const HTTP_STATUS: Record<ProblemCode, number> = {
  1: 408,
  2: 500,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 429,
  9: 400,
  10: 409,
  11: 400,
  12: 501,
  13: 500,
  14: 503,
  15: 500,
  16: 401,
};

/** The HTTP status that follows from a code. */
export function problemStatus(code: ProblemCode): number {
  return HTTP_STATUS[code];
}

export interface ProblemOptions {
  /** HTTP status where it differs from the code's own, for example 413 or 422. */
  status?: number;
  /** Seconds after which a repeat may succeed; sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** The request may have been carried out although it failed: its answer was lost. */
  mayBeDone?: boolean;
  cause?: unknown;
}

/** A refusal with a code and a text for the caller, which is bounded (`boundedMessage`). */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly mayBeDone: boolean;

  constructor(code: ProblemCode, message: string, options: ProblemOptions = {}) {
    super(
      boundedMessage(message),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "Problem";
    this.code = code;
    this.status = options.status ?? problemStatus(code);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.mayBeDone = options.mayBeDone === true;
  }
}

/** Tells whether an error is a refusal with this code. */
export function isProblem(error: unknown, code: ProblemCode): error is Problem {
  return error instanceof Problem && error.code === code;
}

/** A refusal of what a request says: status 400. */
export function invalid(message: string): Problem {
  return new Problem(ProblemCode.InvalidArgument, message);
}

/** A refusal because something does not exist: status 404. */
export function notFound(message: string): Problem {
  return new Problem(ProblemCode.NotFound, message);
}

/** A refusal because something exists already: status 409. */
export function alreadyExists(message: string): Problem {
  return new Problem(ProblemCode.AlreadyExists, message);
}

/** A refusal for now: status 503. The caller may try again after so many seconds. */
export function unavailable(message: string, retryAfterSeconds = 1): Problem {
  return new Problem(ProblemCode.Unavailable, message, { retryAfterSeconds });
}
