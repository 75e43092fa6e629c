/** What the sender of a command is told, here and on the wire between replicas. */
import type { Json, JsonObject } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";

export type Result = { ok: true; answer: object | undefined } | { ok: false; error: unknown };

/** The result as JSON, for `reply`. */
export function encodeResult(result: Result): Json {
  if (result.ok) return { answer: (result.answer ?? null) as Json };
  const problem = toProblem(result.error);
  const wire: JsonObject = { code: problem.code, message: problem.message, status: problem.status };
  if (problem.retryAfterSeconds !== undefined) wire["retry"] = problem.retryAfterSeconds;
  return { problem: wire };
}

/** The result that another replica has sent. */
export function decodeResult(wire: Json): Result {
  const { answer, problem } = wire as {
    answer?: object | null;
    problem?: { code: ProblemCode; message: string; status: number; retry?: number };
  };
  if (!problem) return { ok: true, answer: answer ?? undefined };
  const options = problem.retry === undefined ? {} : { retryAfterSeconds: problem.retry };
  return {
    ok: false,
    error: new Problem(problem.code, problem.message, { status: problem.status, ...options }),
  };
}

/**
 * Key under which the outcome of a command is stored for the replica that waits for the answer: null when it was applied,
 * else the refusal as `encodeResult` writes it. Idempotency keys of callers look different.
 */
export function receiptKey(request: string): string {
  return `@${request}`;
}

/** The command was certainly not applied, because its shard moved: it may be sent again. */
export class Moved extends Error {
  constructor() {
    super("The shard moved to another replica");
    this.name = "Moved";
  }
}

/** A defect of ours as the caller sees it: without its text, which goes to the log. */
export function toProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(ProblemCode.Internal, "Internal error; the server's log has the details", {
      cause: error,
    });
}
