/**
 * What proves a pod's calls: a token for its task, and a signature under what the server wrote on the pod. Both follow from the
 * deployment's secret, so any replica checks them without asking anybody.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** Secret of one task, from the deployment's. */
export function taskToken(secret: string, taskId: string): string {
  return createHmac("sha256", secret).update(taskId).digest("base64url");
}

/** True for the token of this task. */
export function isTaskToken(secret: string, taskId: string, token: string): boolean {
  return isSame(taskToken(secret, taskId), token);
}

/** Signature of what a pod carries for its task: nobody else can make one, and it fits no other task. */
export function factsSignature(secret: string, taskId: string, facts: string): string {
  return createHmac("sha256", secret).update(`facts\0${taskId}\0${facts}`).digest("base64url");
}

/** True for the signature of these facts. */
export function isFactsSignature(
  secret: string,
  taskId: string,
  facts: string,
  signature: string,
): boolean {
  return isSame(factsSignature(secret, taskId, facts), signature);
}

/** Compares without telling by time where they differ. */
function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
