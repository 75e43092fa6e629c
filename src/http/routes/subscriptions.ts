/** Routes of subscriptions, which tell other systems of changes of workflows. */
import type { DeadLetter } from "../../actors/webhooks/dead_letters.ts";
import type { JsonObject } from "../../base/json.ts";
import { closed, list, string, struct, type StructSchema } from "../../spec/schema/schema.ts";
import { listDeadLetters, replayDeadLetters } from "../../service/events/dead_letters.ts";
import { getManifest } from "../../service/manifests/reads.ts";
import { SUBSCRIPTION_BODIES, type SubscriptionBody } from "../requests.ts";
import { type Call, param, type Route, unary } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

const SUBSCRIPTIONS = "/api/v1/subscriptions/{namespace}";
const LETTERS = `${SUBSCRIPTIONS}/{name}/dead-letters`;

interface ReplayBody {
  ids?: string[];
}
/** Refuses unknown members: if a misspelt list were ignored, all dead letters would be replayed. */
const REPLAY: StructSchema = closed(struct("ReplayDeadLettersRequest", () => ({
  namespace: string,
  name: string,
  ids: list(string),
}), "event"));

/** Every route of subscriptions. */
export const SUBSCRIPTION_ROUTES: readonly Route[] = [
  ...manifestRoutes({
    kind: "Subscription",
    path: SUBSCRIPTIONS,
    service: "SubscriptionService",
    tag: "subscriptions",
    words: "subscription",
    bodies: SUBSCRIPTION_BODIES,
    objectOf: ({ subscription }: SubscriptionBody) => subscription,
    get: (deps, caller, namespace, name) =>
      getManifest(deps, caller, "Subscription", namespace, name),
    wire: manifestWire,
  }),
  unary({
    method: "GET",
    path: LETTERS,
    operation: "SubscriptionService_ListDeadLetters",
    tag: "subscriptions",
    summary: "List the deliveries of a subscription that were given up, newest first",
    query: { limit: "int64" },
    run: async (call) => {
      const { name, namespace } = placeOf(call);
      const limit = call.query.limit ?? 0;
      const letters = await listDeadLetters(call.service, call.caller, namespace, name, limit);
      return { metadata: {}, items: letters.map(letterWire) };
    },
  }),
  unary<ReplayBody>({
    method: "POST",
    path: `${LETTERS}/replay`,
    operation: "SubscriptionService_ReplayDeadLetters",
    tag: "subscriptions",
    summary: "Deliver dead letters of a subscription again: those with the given ids, or all",
    body: REPLAY,
    run: async (call) => {
      const { name, namespace } = placeOf(call);
      const { ids } = call.body;
      const replayed = await replayDeadLetters(call.service, call.caller, namespace, name, ids);
      return { replayed };
    },
  }),
];

function placeOf(call: Call): { namespace: string; name: string } {
  return { namespace: param(call, "namespace"), name: param(call, "name") };
}

function letterWire({ delivery, reason, attempts, buriedAt }: DeadLetter): JsonObject {
  const { id, change, at, data } = delivery;
  return {
    id,
    change,
    at: new Date(at).toISOString(),
    deadSince: new Date(buriedAt).toISOString(),
    attempts,
    reason,
    data,
  };
}
