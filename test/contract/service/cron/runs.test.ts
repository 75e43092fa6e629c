/** What cron workflows make in the course of time, and what their status then says; on a clock that the test moves. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CronRunner } from "../../../../src/actors/cron_runner.ts";
import type { Host } from "../../../../src/actors/host.ts";
import { unrestrictedCaller } from "../../../../src/auth/caller.ts";
import { deleteOwned } from "../../../../src/service/dependents.ts";
import { startCronRunner } from "../../../../src/service/cron/runs.ts";
import { DeletedOwners } from "../../../../src/service/deleted_owners.ts";
import type { DeleteRequest } from "../../../../src/service/deletions.ts";
import type { ServiceDeps } from "../../../../src/service/deps.ts";
import { getManifest } from "../../../../src/service/manifests/reads.ts";
import {
  changeManifest,
  createManifest,
  deleteManifest,
} from "../../../../src/service/manifests/writes.ts";
import { submitWorkflow } from "../../../../src/service/workflows/submit.ts";
import {
  type CronWorkflow,
  type CronWorkflowSpec,
  type CronWorkflowStatus,
  ManifestKind,
  type ObjectMeta,
  type OwnerReference,
} from "../../../../src/spec/manifest.ts";
import { rowOf } from "../../archive/archive_setting.ts";
import { Deployment } from "../../../support/deployment.ts";
import { MemoryArchive } from "../../../support/memory_archive.ts";
import { serviceDeps } from "../../../support/service_deps.ts";

const KIND = ManifestKind.CronWorkflow;
const caller = unrestrictedCaller();
let deployment: Deployment;
let host: Host;
let deps: ServiceDeps;
let runner: CronRunner;
let stop: AbortController;

beforeEach(async () => {
  deployment = new Deployment(() => undefined);
  const { store, clock } = deployment;
  host = await deployment.replica("a");
  deps = {
    ...serviceDeps(deployment, host, clock),
    deletedOwners: new DeletedOwners(store, clock),
  };
  runner = startCronRunner(deps, "a");
  stop = new AbortController();
  void deleteOwned(deps, "a", stop.signal);
});

afterEach(async () => {
  stop.abort();
  const stopped = runner.stop();
  await deployment.clock.advance(1);
  await stopped;
  deployment.stop();
});

/** A cron workflow `c` of every minute, at second 0 of the clock, whose workflows wait until they are ended. */
async function create(spec: Partial<CronWorkflowSpec>): Promise<void> {
  const workflowSpec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
  await createManifest<CronWorkflow>(deps, caller, KIND, "default", {
    metadata: { name: "c" },
    spec: { schedules: ["* * * * *"], workflowSpec, ...spec },
  });
}

const change = (spec: Partial<CronWorkflowSpec>) =>
  changeManifest<CronWorkflow>(deps, KIND, "default", "c", (cron) => ({
    ...cron,
    spec: { ...cron.spec, ...spec },
  }));

async function pass(seconds: number): Promise<void> {
  await deployment.clock.advance(seconds * 1_000);
  await deployment.clock.advance(1);
}

const end = (name: string, type: "resume" | "stop" = "resume") =>
  host.execute("default", name, { type: "control", request: { type } });

/** Names of the workflows, in the order of their creation. */
async function made(): Promise<string[]> {
  const { items } = await deployment.store.query.list({ kind: "wf", limit: 0, parts: [] });
  return items.map(({ index }) => index).sort((a, b) => a.createdAt - b.createdAt)
    .map(({ name }) => name);
}

async function status(): Promise<CronWorkflowStatus | undefined> {
  return (await getManifest<CronWorkflow>(deps, caller, KIND, "default", "c")).status;
}

const nameAt = (minute: number) => `c-${Date.UTC(2030, 0, 1, 0, minute) / 1_000}`;
const activeNames = async () => ((await status())?.active ?? []).map(({ name }) => name);

test("what Forbid held back runs as soon as it may, if startingDeadlineSeconds lets it", async () => {
  await create({ concurrencyPolicy: "Forbid", startingDeadlineSeconds: 50 });
  await pass(210);
  expect(await made()).toEqual([nameAt(1)]);
  await end(nameAt(1));
  await pass(3);
  // Of the two that were held back the later one; 00:02 is too long ago.
  expect(await made()).toEqual([nameAt(1), nameAt(3)]);
  await end(nameAt(3));
  await pass(3);
  expect(await made()).toHaveLength(2);
});

test("without startingDeadlineSeconds, what was held back is gone", async () => {
  await create({ concurrencyPolicy: "Forbid" });
  await pass(125);
  await end(nameAt(1));
  await pass(30);
  expect(await made()).toEqual([nameAt(1)]);
});

test("what was due while it was suspended runs when it is resumed in time", async () => {
  await create({ startingDeadlineSeconds: 100 });
  await pass(70);
  await change({ suspend: true });
  await pass(130);
  await change({ suspend: false });
  await pass(3);
  expect(await made()).toEqual([nameAt(1), nameAt(3)]);
});

test("a workflow that somebody submits from it is one of its runs", async () => {
  await create({ stopStrategy: { expression: "cronworkflow.succeeded >= 1" } });
  await pass(10);
  await submitWorkflow(deps, caller, {
    namespace: "default",
    resourceKind: "CronWorkflow",
    resourceName: "c",
    options: { name: "by-hand" },
  });
  await pass(3);
  expect(await activeNames()).toEqual(["by-hand"]);
  await end("by-hand");
  await pass(3);
  expect(await status()).toMatchObject({ active: null, succeeded: 1, failed: 0, phase: "Stopped" });
});

test("a workflow that has the name of a run already is that run", async () => {
  await create({});
  await pass(10);
  await submitWorkflow(deps, caller, {
    namespace: "default",
    resourceKind: "CronWorkflow",
    resourceName: "c",
    options: { name: nameAt(1) },
  });
  await pass(60);
  expect(await made()).toEqual([nameAt(1)]);
  expect(await status()).toMatchObject({ failed: 0, conditions: null });
});

test("a run that is refused counts as failed, once, until one is made", async () => {
  await create({ when: "a b", stopStrategy: { expression: "cronworkflow.failed >= 3" } });
  await pass(125);
  const message =
    "run policy error: Cannot transition token types from VARIABLE [a] to VARIABLE [b]";
  const refused = [{ type: "SubmissionError", status: "True", message }];
  expect(await status()).toMatchObject({ failed: 2, succeeded: 0, conditions: refused });
  await change({ when: "1 == 1" });
  await pass(60);
  expect(await status()).toMatchObject({ failed: 2, conditions: null, phase: "Active" });
});

test("a spec that is valid again is not called wrong, even while nothing runs", async () => {
  await create({ stopStrategy: { expression: "1 +" } });
  await pass(65);
  expect(await status()).toMatchObject({ conditions: [{ type: "SpecError" }] });
  await change({ stopStrategy: { expression: "1 == 2" }, suspend: true });
  await pass(60);
  expect(await status()).toMatchObject({ failed: 0, conditions: null });
});

const remove = (request: DeleteRequest = {}) =>
  deleteManifest(deps, caller, KIND, "default", "c", request);

const submitByHand = (name: string, more: Partial<ObjectMeta> = {}) =>
  host.execute("default", name, {
    type: "submit",
    workflow: {
      metadata: {
        ...{ name, namespace: "default", uid: `uid-${name}` },
        labels: { "workflows.argoproj.io/cron-workflow": "c" },
        ...more,
      },
      spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
    },
  });

async function ownReference(): Promise<OwnerReference> {
  const { metadata } = await getManifest<CronWorkflow>(deps, caller, KIND, "default", "c");
  const { name = "", uid = "" } = metadata;
  return { apiVersion: "argoproj.io/v1alpha1", kind: "CronWorkflow", name, uid };
}

const notes = async () =>
  (await deployment.store.manifests.list(ManifestKind.DeletedOwner, { limit: 0 })).items.length;

test.each<[string, Partial<CronWorkflowSpec>]>([
  ["has stopped for good", { stopStrategy: { expression: "true" } }],
  ["is wrong", { workflowSpec: { entrypoint: "missing", templates: [] } }],
])("one that %s is not written at each of its times", async (_, spec) => {
  await create({});
  await change(spec);
  await pass(70);
  const version = async () =>
    (await getManifest<CronWorkflow>(deps, caller, KIND, "default", "c")).metadata.resourceVersion;
  const before = await version();
  expect(await status()).toMatchObject(
    spec.stopStrategy ? { phase: "Stopped" } : { conditions: [{ type: "SpecError" }] },
  );
  await pass(180);
  expect(await version()).toBe(before);
});

test("the workflows of a deleted cron workflow go with it, whether they have ended or not", async () => {
  await create({});
  await pass(125);
  await end(nameAt(1));
  expect(await made()).toEqual([nameAt(1), nameAt(2)]);
  await remove();
  await pass(1);
  expect(await made()).toEqual([]);
  await pass(180);
  expect(await notes()).toBe(0);
});

test.each<DeleteRequest>([
  { propagationPolicy: "Orphan" },
  { orphanDependents: true },
])("they stay when the deletion asks for it: %o", async (request) => {
  await create({});
  await pass(65);
  await remove(request);
  await pass(180);
  expect(await made()).toEqual([nameAt(1)]);
  expect(await notes()).toBe(0);
});

test.each<DeleteRequest>([
  { propagationPolicy: "Foreground" },
  { propagationPolicy: "Background" },
  { orphanDependents: false },
])("they go when the deletion asks for it: %o", async (request) => {
  await create({});
  await pass(65);
  await remove(request);
  await pass(1);
  expect(await made()).toEqual([]);
});

test("what belongs to nothing, or to something else too, stays; also if the cron workflow comes back", async () => {
  await create({});
  await pass(10);
  const own = await ownReference();
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "m", uid: "another" };
  await submitByHand("free");
  await submitByHand("shared", { ownerReferences: [own, other] });
  await submitByHand("others", { ownerReferences: [{ ...own, uid: "an-earlier-one" }] });
  await submitByHand("own", { ownerReferences: [own] });
  await remove();
  await create({});
  await pass(70);
  expect((await made()).sort()).toEqual([nameAt(1), "free", "others", "shared"]);
});

test("a run that was being made while its cron workflow was deleted goes too", async () => {
  await create({});
  await pass(10);
  const own = await ownReference();
  await remove();
  await pass(1);
  await submitByHand("late", { ownerReferences: [own] });
  await pass(31);
  expect(await made()).toEqual([]);
});

test("a workflow with a finalizer shows that it is to be deleted", async () => {
  await create({ workflowMetadata: { finalizers: ["example.com/hold"] } });
  await pass(65);
  await remove();
  await pass(180);
  const { metadata } = await deployment.workflow(nameAt(1));
  expect(metadata.deletionTimestamp).toBe("2030-01-01T00:01:05Z");
});

test("another replica deletes what a crash has left", async () => {
  await create({});
  await pass(65);
  const { uid = "" } = await ownReference();
  stop.abort();
  const dead = new DeletedOwners(deployment.store, deployment.clock);
  await dead.note({ namespace: "default", name: "c", uid, orphans: false });
  await deployment.store.manifests.remove(KIND, "default", "c");
  expect(await made()).toEqual([nameAt(1)]);
  const next = new AbortController();
  const deletedOwners = new DeletedOwners(deployment.store, deployment.clock);
  void deleteOwned({ ...deps, deletedOwners }, "a", next.signal);
  await pass(1);
  next.abort();
  expect(await made()).toEqual([]);
});

test("an owner whose workflows cannot be deleted holds up no other, and is tried again", async () => {
  stop.abort();
  const deletedOwners = new DeletedOwners(deployment.store, deployment.clock);
  for (const name of ["bad", "good"]) {
    const owner = { kind: "Workflow", name, uid: `uid-${name}` } as const;
    await submitByHand(`of-${name}`, {
      ownerReferences: [{ apiVersion: "argoproj.io/v1alpha1", ...owner }],
    });
    await deletedOwners.note({ ...owner, namespace: "default", orphans: false });
  }
  let fails = true;
  const execute: Host["execute"] = (namespace, name, ...rest) =>
    fails && name === "of-bad"
      ? Promise.reject(new TypeError("a defect"))
      : host.execute(namespace, name, ...rest);
  const next = new AbortController();
  void deleteOwned({ ...deps, deletedOwners, host: { execute } as Host }, "a", next.signal);
  await pass(1);
  expect(await made()).toEqual(["of-bad"]);
  fails = false;
  await pass(31);
  expect(await made()).toEqual([]);
  next.abort();
});

test("a deletion that was noted and did not happen deletes nothing", async () => {
  await create({});
  await pass(65);
  const { uid = "" } = await ownReference();
  await deps.deletedOwners?.note({ namespace: "default", name: "c", uid, orphans: false });
  deps.deletedOwners?.removed();
  await pass(180);
  expect(await made()).toContain(nameAt(1));
  expect(await notes()).toBe(0);
});

test("more workflows than are deleted at once", async () => {
  await create({});
  await pass(10);
  const own = await ownReference();
  for (let at = 0; at < 120; at++) await submitByHand(`own-${at}`, { ownerReferences: [own] });
  await remove();
  await pass(1);
  expect(await made()).toEqual([]);
});

test("runs of an earlier cron workflow of the name are not counted, held against it or removed", async () => {
  await create({});
  await pass(65);
  await end(nameAt(1));
  await pass(60);
  await remove({ propagationPolicy: "Orphan" });
  await create({ concurrencyPolicy: "Forbid", successfulJobsHistoryLimit: 0 });
  await pass(60);
  await end(nameAt(3));
  await pass(2);
  expect(await made()).toEqual([nameAt(1), nameAt(2)]);
  expect(await status()).toMatchObject({ active: null, succeeded: 1 });
});

test("a run that is in the archive before anybody has looked is counted by its end", async () => {
  const archive = new MemoryArchive();
  deps.history = { live: deployment.store, archive, trouble: () => undefined };
  await create({});
  await pass(65);
  const [active] = (await status())?.active ?? [];
  await archive.put([rowOf(String(active?.["uid"]), { phase: "Succeeded" })]);
  await host.execute("default", nameAt(1), { type: "delete" });
  await pass(2);
  expect(await status()).toMatchObject({ active: null, succeeded: 1, failed: 0 });
});

test("the limits of the history leave what a backfill has done", async () => {
  await create({ successfulJobsHistoryLimit: 0, suspend: true });
  for (
    const options of [
      { name: "past", labels: "workflows.argoproj.io/backfill=c" },
      { name: "other", labels: "a=b" },
    ]
  ) {
    const source = { resourceKind: "CronWorkflow", resourceName: "c" };
    await submitWorkflow(deps, caller, { namespace: "default", ...source, options });
  }
  await pass(2);
  for (const name of ["past", "other"]) await end(name);
  await pass(2);
  expect(await made()).toEqual(["past"]);
  expect(await status()).toMatchObject({ active: null, succeeded: 2 });
});
