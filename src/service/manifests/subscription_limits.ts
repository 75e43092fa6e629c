/** Bounds the number of subscriptions: each is looked at for every change of its namespace. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";

const KIND = ManifestKind.Subscription;

/**
 * Checks that one more subscription may be stored. Two that come at the same moment may exceed a limit by one.
 * @throws {Problem} ResourceExhausted (403)
 */
export async function requireRoomForSubscription(
  { store, settings: { subscriptionLimits } }: ServiceDeps,
  namespace: string,
): Promise<void> {
  if (subscriptionLimits === undefined) return;
  const { all, perNamespace } = subscriptionLimits;
  const within = await store.manifests.list(KIND, { namespace, limit: perNamespace });
  if (within.items.length >= perNamespace) {
    throw tooMany(
      `namespace "${namespace}" has ${perNamespace} subscriptions already`,
      "--webhook-namespace-subscriptions",
    );
  }
  const known = await store.manifests.list(KIND, { limit: all });
  if (known.items.length >= all) {
    throw tooMany(`there are ${all} subscriptions already`, "--webhook-subscriptions");
  }
}

function tooMany(what: string, flag: string): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `${what}: delete one that is no longer used, let one subscription cover several cases with an expression, or ask for a larger ${flag}`,
    { status: 403 },
  );
}
