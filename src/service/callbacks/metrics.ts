/** The metrics of callback URLs. */
import { Problem } from "../../base/problem.ts";
import type { Labels, Metrics } from "../../platform/metrics.ts";
import { CALLBACK_VERBS, type CallbackVerb } from "../../spec/callback.ts";

/** What became of one use of a callback URL. */
export type CallbackResult =
  | "accepted"
  /** The same was done before: it has the same answer and no effect. */
  | "repeated"
  /** The token is none, or not for this verb. */
  | "unknown"
  | "expired"
  /** The outputs do not fit. */
  | "invalid"
  /** The step has ended otherwise, or is not on its way. */
  | "conflict"
  /** The workflow or the step is gone for good. */
  | "over"
  /** It could not be taken now. */
  | "unavailable";

const RESULTS: readonly CallbackResult[] = [
  "accepted",
  "repeated",
  "unknown",
  "expired",
  "invalid",
  "conflict",
  "over",
  "unavailable",
];
/** Results of the refusals of an action, by HTTP status. */
const BY_STATUS: Readonly<Record<number, CallbackResult>> = {
  400: "invalid",
  409: "conflict",
  410: "over",
  422: "conflict",
};

/** Counts uses of callback URLs. */
export type CountCallback = (verb: CallbackVerb, result: CallbackResult) => void;

/** The count of uses in a registry. */
export function createCallbackCount(metrics: Metrics): CountCallback {
  const total = metrics.counter(
    "sluice_callback_uses_total",
    "Uses of callback URLs, by what became of them",
  );
  const labels = new Map<string, Labels>();
  for (const verb of CALLBACK_VERBS) {
    for (const result of RESULTS) labels.set(`${verb} ${result}`, { verb, result });
  }
  return (verb, result) => total.inc(labels.get(`${verb} ${result}`));
}

/** Why a token was refused. */
export function tokenRefusal(error: unknown): CallbackResult {
  const status = error instanceof Problem ? error.status : 500;
  return status === 404 ? "unknown" : status === 410 ? "expired" : "unavailable";
}

/** Why a callback with a good token was refused. */
export function useRefusal(error: unknown): CallbackResult {
  return BY_STATUS[error instanceof Problem ? error.status : 500] ?? "unavailable";
}
