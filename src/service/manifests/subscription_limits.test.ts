import { expect, test } from "vitest";
import { ManifestKind } from "../../spec/manifest.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ServiceDeps } from "../deps.ts";
import { requireRoomForSubscription } from "./subscription_limits.ts";

test("one subscription too many of a namespace, or of all, is refused with what to do", async () => {
  const store = openMemoryStore({ now: () => 0 });
  const settings = { subscriptionLimits: { all: 5, perNamespace: 3 } };
  const deps = { store, settings } as unknown as ServiceDeps;
  const add = async (namespace: string, name: string) => {
    await requireRoomForSubscription(deps, namespace);
    const kind = ManifestKind.Subscription;
    await store.manifests.put({ kind, namespace, name, text: "{}", labels: {} }, undefined);
  };
  for (const name of ["x", "y", "z"]) await add("a", name);
  await expect(add("a", "more")).rejects.toMatchObject({
    status: 403,
    message: expect.stringMatching(
      /^namespace "a" has 3 subscriptions already: delete one .*--webhook-namespace-subscriptions$/,
    ),
  });
  for (const name of ["x", "y"]) await add("b", name);
  await expect(add("b", "more")).rejects.toThrow("there are 5 subscriptions already");
});
