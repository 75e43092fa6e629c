/** Tells trouble that passes from what will be the same at each attempt. */
import { isProblem, ProblemCode } from "../base/problem.ts";
import { KubeError } from "../kubernetes/kube_client.ts";

/** True for an error of a cluster or a store that can't answer now. */
export function isPassing(error: unknown): boolean {
  if (error instanceof KubeError) return error.isTransient;
  return isProblem(error, ProblemCode.Unavailable);
}
