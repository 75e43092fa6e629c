/** Routes of subscriptions, which tell other systems of changes of workflows. */
import { getManifest } from "../../service/manifests/reads.ts";
import { SUBSCRIPTION_WRITE, type SubscriptionBody } from "../requests.ts";
import type { Route } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

const SUBSCRIPTIONS = "/api/v1/subscriptions/{namespace}";

/** Every route of subscriptions. */
export const SUBSCRIPTION_ROUTES: readonly Route[] = [
  ...manifestRoutes({
    kind: "Subscription",
    path: SUBSCRIPTIONS,
    service: "SubscriptionService",
    tag: "subscriptions",
    words: "subscription",
    write: SUBSCRIPTION_WRITE,
    objectOf: ({ subscription }: SubscriptionBody) => subscription,
    get: (deps, caller, namespace, name) =>
      getManifest(deps, caller, "Subscription", namespace, name),
    wire: manifestWire,
  }),
];
