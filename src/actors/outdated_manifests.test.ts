import { afterEach, expect, test } from "vitest";
import { Deployment, SHARDS } from "../../test/support/deployment.ts";
import type { Fault } from "../../test/support/fault_store.ts";
import { type TallyAnswer, tallyKind } from "../../test/support/tally_kind.ts";
import { ManifestsChanged } from "../store/manifest_port.ts";
import { shardOf, workflowActorId } from "./actor_ids.ts";
import type { Host } from "./host.ts";
import type { ExecuteOptions } from "./port.ts";

const deployments: Deployment[] = [];
afterEach(() => {
  for (const deployment of deployments.splice(0)) deployment.stop();
});

function deployment(): Deployment {
  const made = new Deployment(undefined, [tallyKind]);
  deployments.push(made);
  return made;
}

function send(host: Host, name: string, type: string, options?: ExecuteOptions) {
  return host.execute("ns", name, { type } as never, options) as unknown as Promise<TallyAnswer>;
}

/** Names of actors in one shard. */
function neighbours(count: number): string[] {
  const names = Array.from({ length: 1_000 }, (_, i) => `w${i}`);
  return names.filter((name) => shardOf(workflowActorId("ns", name), SHARDS) === 0).slice(0, count);
}

test("a command that has used other manifests is sent back, the others of its batch are applied once", async () => {
  const [one = "", two = ""] = neighbours(2);
  let refusals = 0;
  const refuseFirst: Fault = (point, count) => {
    if (point === "before-commit" && count === 1) {
      refusals++;
      throw new ManifestsChanged();
    }
  };
  const host = await deployment().replica("a", refuseFirst);
  const results = await Promise.allSettled([
    send(host, one, "submit", { ifManifests: "1" }),
    send(host, two, "submit"),
    send(host, two, "add"),
  ]);
  expect(refusals).toBe(1);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect((results[0] as PromiseRejectedResult).reason).toBeInstanceOf(ManifestsChanged);
  expect(await send(host, two, "add")).toMatchObject({ count: 2 });
  expect(await send(host, one, "submit")).toMatchObject({ count: 0 });
});

test("two that have used different versions can't be in one commit", async () => {
  const [one = "", two = "", three = ""] = neighbours(3);
  const host = await deployment().replica("a");
  const results = await Promise.allSettled([
    send(host, one, "submit", { ifManifests: "1" }),
    send(host, two, "submit", { ifManifests: "2" }),
    send(host, three, "submit"),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  await send(host, one, "submit", { ifManifests: "2" });
});

test("it is not sent to another replica, which would not look", async () => {
  const world = deployment();
  const [a, b] = [await world.replica("a"), await world.replica("b")];
  const names = Array.from({ length: 100 }, (_, i) => `w${i}`);
  const elsewhere = names.find((name) => b.owns("ns", name)) ?? "";
  await expect(send(a, elsewhere, "submit", { ifManifests: "1" })).rejects.toThrow(
    ManifestsChanged,
  );
  await expect(send(b, elsewhere, "submit", { ifManifests: "1" })).resolves.toBeDefined();
});
