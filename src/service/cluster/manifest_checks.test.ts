import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import { createLogger } from "../../platform/log.ts";
import type { ServiceDeps } from "../deps.ts";
import { ManifestChecks } from "./manifest_checks.ts";

test("an object that goes while its condition is written is not written again", async () => {
  const clock = new ManualClock();
  const answers = [Promise.withResolvers<JsonObject>()];
  let calls = 0;
  const client = { call: () => answers[calls++]?.promise ?? Promise.resolve({}) };
  const checks = new ManifestChecks(
    { clock, log: createLogger("silent") } as unknown as ServiceDeps,
    { client: client as unknown as KubeClient, group: "argoproj.io" },
  );
  const stop = new AbortController();
  const running = checks.run(stop.signal);
  const metadata = { name: "t", namespace: "ns", uid: "u", resourceVersion: "1" };
  checks.malformed("WorkflowTemplate", { metadata }, "templates is no list");
  await clock.advance(300);
  expect(calls).toBe(1);
  checks.forget("WorkflowTemplate", "ns", "t");
  answers[0]?.reject(new Error("connection lost"));
  await clock.advance(60_000);
  expect(calls).toBe(1);
  stop.abort();
  await clock.advance(1_000);
  await running;
});
