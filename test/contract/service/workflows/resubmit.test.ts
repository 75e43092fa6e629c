/** The name of a memoized resubmit, which is made before the workflow is stored. */
import { expect, test } from "vitest";
import type { Caller } from "../../../../src/auth/port.ts";
import { resubmitFrom } from "../../../../src/service/workflows/resubmit.ts";
import { Deployment } from "../../../support/deployment.ts";
import { settle } from "../../../support/manual_clock.ts";
import { serviceDeps } from "../../../support/service_deps.ts";

const CALLER: Caller = {
  identity: { subject: "tester" },
  isUnrestricted: true,
  can: () => Promise.resolve(true),
} as unknown as Caller;

test("a memoized resubmit has the name of a shard that its replica owns", async () => {
  const deployment = new Deployment();
  const host = await deployment.replica("a");
  await deployment.replica("b");
  for (let i = 0; i < 20 && host.owned > 6; i++) {
    await deployment.clock.advance(1_000);
    await settle();
  }
  expect(host.owned).toBeLessThan(7);
  const deps = serviceDeps(deployment, host);
  const old = {
    metadata: { name: "old-1", generateName: "old-", namespace: "default" },
    spec: { entrypoint: "m", templates: [{ name: "m", suspend: {} }] },
    status: { phase: "Failed", startedAt: null, finishedAt: null, nodes: {} },
  } as const;
  for (let i = 0; i < 12; i++) {
    const made = await resubmitFrom(deps, CALLER, structuredClone(old) as never, {
      memoized: true,
    });
    const { name = "" } = made.metadata;
    expect(name).toMatch(/^old-[a-z0-9]{5}$/);
    expect(host.owns("default", name)).toBe(true);
  }
  deployment.stop();
});
