/** The archive beside the store, for requests that make sense only with one. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { History, ServiceDeps } from "../deps.ts";

/** @throws {Problem} FailedPrecondition without `--archive-store` */
export function requireHistory({ history }: Pick<ServiceDeps, "history">): History {
  if (history !== undefined) return history;
  throw new Problem(
    ProblemCode.FailedPrecondition,
    "this server has no archive beside its store: --archive-store names one",
  );
}
