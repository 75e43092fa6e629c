/** What `sluice doctor` finds: on a healthy server, and when each of the things that it examines is broken. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import { createClient } from "../../../src/client/client.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import type { MissingRight } from "../../../src/kubernetes/needed_rights.ts";
import { startServer } from "../../../src/server.ts";
import type { ServiceDeps, Surroundings } from "../../../src/service/deps.ts";
import { examine, type Finding } from "../../../src/service/doctor.ts";
import { STANDARD_NAMING } from "../../../src/spec/naming.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import type { Durability, Store } from "../../../src/store/port.ts";
import { startRedisServer } from "../../support/redis_server.ts";

const VERSION = "1.2.3";
const NO_PODS = { group: "", resource: "pods", verbs: ["get", "list"], namespace: "here" };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-doctor-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function findings(url: string): Promise<Record<string, string>> {
  const answer = await createClient({ server: url }).call("InfoService_Examine", {});
  const all = answer["findings"] as { check: string; status: string; message: string }[];
  return Object.fromEntries(all.map(({ check, status }) => [check, status]));
}

describe("a running server", () => {
  test("on SQLite everything is good", async () => {
    const store = `sqlite:${join(folder, "good")}`;
    const server = await startServer({ port: 0, store, executor: "none" });
    try {
      expect(await findings(server.url)).toEqual({
        store: "ok",
        durability: "ok",
        archive: "ok",
        clock: "ok",
        replicas: "ok",
        cluster: "skipped",
        artifacts: "ok",
        webhooks: "ok",
        subscriptions: "ok",
      });
    } finally {
      await server.close();
    }
  });

  test("on Redis: less durability than asked for, and artifacts that go nowhere", async () => {
    const redis = await startRedisServer(["--appendonly", "yes"]);
    const artifacts = join(folder, "a-file");
    await writeFile(artifacts, "");
    const options = { port: 0, store: redis.url, executor: "none", logLevel: "silent" } as const;
    const server = await startServer({ ...options, durability: "always", artifacts });
    try {
      const found = async () => {
        const { durability, artifacts, replicas } = await findings(server.url);
        return { durability, artifacts, replicas };
      };
      // On a busy machine the replica's first heartbeats may be late.
      await expect.poll(found, { timeout: 20_000 }).toEqual({
        durability: "failed",
        artifacts: "failed",
        replicas: "ok",
      });
    } finally {
      await server.close();
      await redis.stop();
    }
  });
});

describe("each check", () => {
  interface Trouble {
    store?: Partial<Store>;
    durability?: Durability;
    promised?: Durability;
    machineMs?: number;
    refusal?: string;
    missing?: MissingRight[];
    names?: string[];
    /** What other replicas tell of themselves. */
    others?: { replica: string; facts?: { about: object } }[];
    secret?: Record<string, string>;
    isImpatient?: true;
  }

  /** The findings of a check on a memory store that otherwise says that it is durable. */
  async function found(check: string, trouble: Trouble): Promise<Finding[]> {
    const memory = openMemoryStore();
    for (const name of trouble.names ?? [`here@${VERSION}`]) {
      await memory.membership.heartbeat(name, 60_000);
    }
    if (trouble.secret !== undefined) await putSecret(memory, trouble.secret);
    const store = { ...bound(memory), durability: () => trouble.promised ?? "always" as const };
    const surroundings: Surroundings = {
      durability: trouble.durability ?? "always",
      artifacts: createArtifactStore({
        repository: { type: "folder", path: join(folder, "artifacts") },
        keys: "namespace",
        config: { configMap: () => Promise.resolve(undefined) } as never,
        allowLocalGit: false,
        maxBytes: 1_000,
      }),
      machineTime: () => Date.now() + (trouble.machineMs ?? 0),
      writesRefused: () => trouble.refusal,
      ...(trouble.missing && { missingRights: () => Promise.resolve(trouble.missing ?? []) }),
    };
    const deps = {
      store: { ...store, ...trouble.store },
      clock: trouble.isImpatient ? { ...systemClock, sleep: shortSleep } : systemClock,
      ids: systemIds,
      settings: { build: { version: VERSION }, naming: STANDARD_NAMING },
      host: { survey: () => Promise.resolve([HERE, ...trouble.others ?? []]) },
      surroundings,
    } as unknown as ServiceDeps;
    const caller = { isUnrestricted: true } as never;
    const examined = await examine(deps, caller);
    await memory.close();
    return examined.findings.filter((one) => one.check === check);
  }

  test.each<[what: string, check: string, trouble: Trouble, status: string, advice?: RegExp]>([
    [
      "a store that is gone",
      "store",
      {
        store: { ping: () => Promise.reject(new Error("refused")) },
      },
      "failed",
      /start the store/,
    ],
    [
      "a store that says nothing",
      "store",
      {
        isImpatient: true,
        store: { ping: () => new Promise(() => {}) },
      },
      "failed",
      /can be reached/,
    ],
    ["a full store", "store", { refusal: "OOM" }, "failed", /memory or room/],
    ["a good store", "store", {}, "ok"],
    ["a second may be lost", "durability", { promised: "everysec" }, "failed", /appendfsync/],
    ["a second may be lost as said", "durability", {
      promised: "everysec",
      durability: "everysec",
    }, "ok"],
    ["nothing is kept", "durability", { promised: "none" }, "failed", /sqlite:FOLDER/],
    ["a store that tells nothing", "durability", { promised: "unknown" }, "warning", /managed/],
    ["a clock ahead", "clock", { machineMs: 60_000 }, "warning", /time service/],
    ["a clock behind", "clock", { machineMs: -60_000 }, "warning", /time service/],
    ["an older replica", "replicas", { names: [`a@${VERSION}`, "b@1.2.2"] }, "warning", /update/],
    ["a replica that tells nothing", "replicas", { names: ["a-1-x"] }, "warning", /update/],
    [
      "a replica that does not answer just now",
      "replicas",
      { others: [{ replica: "b" }] },
      "ok",
    ],
    [
      "a replica with another prefix of labels",
      "replicas",
      {
        others: [{
          replica: "b",
          facts: { about: { ...STANDARD_NAMING, labelPrefix: "x.org/" } },
        }],
      },
      "failed",
      /same two/,
    ],
    ["missing rights", "cluster", { missing: [NO_PODS] }, "failed", /rbac.create/],
    ["all rights", "cluster", { missing: [] }, "ok"],
    ["artifacts", "artifacts", {}, "ok"],
    ["a broken sender", "webhooks", { secret: { ci: "type: nonsense" } }, "failed", /repair/],
    ["a good sender", "webhooks", { secret: { ci: "type: github\nsecret: shh" } }, "ok"],
  ])("%s", async (_what, check, trouble, status, advice) => {
    const [finding, ...others] = await found(check, trouble);
    expect(others).toEqual([]);
    expect(finding?.status).toBe(status);
    expect(finding?.advice ?? "").toMatch(advice ?? /^$/);
  });

  test("each missing right is a finding with the rule that grants it", async () => {
    const reviews = { group: "authentication.k8s.io", resource: "tokenreviews" };
    const all = { ...reviews, verbs: ["create"], namespace: "" };
    const [first, second, ...others] = await found("cluster", { missing: [NO_PODS, all] });
    expect(others).toEqual([]);
    expect(first?.message).toBe("the server may not get, list pods in namespace here");
    expect(first?.advice).toContain("a Role there");
    expect(first?.advice).toContain('- {apiGroups: [""], resources: [pods], verbs: [get, list]}');
    expect(second?.message).toContain("tokenreviews.authentication.k8s.io in all namespaces");
    expect(second?.advice).toContain("a ClusterRole");
  });
});

const HERE = { replica: `here@${VERSION}`, facts: { about: { ...STANDARD_NAMING } } };

/** Ten seconds become one. */
function shortSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return systemClock.sleep(ms / 10, signal);
}

/** A store whose members can be replaced one by one. */
function bound(store: Store): Store {
  const { membership, shards, query, manifests, events, blobs } = store;
  return {
    membership,
    shards,
    query,
    manifests,
    events,
    blobs,
    ping: () => store.ping(),
    clear: () => store.clear(),
    close: () => store.close(),
  };
}

async function putSecret(store: Store, stringData: Record<string, string>): Promise<void> {
  const common = { namespace: "here", labels: {} };
  const binding = { metadata: { name: "b", namespace: "here" }, spec: {} };
  await store.manifests.put({
    ...common,
    kind: "WorkflowEventBinding",
    name: "b",
    text: JSON.stringify(binding),
  }, "*");
  const name = "argo-workflows-webhook-clients";
  const secret = { metadata: { name, namespace: "here" }, stringData };
  await store.manifests.put({
    ...common,
    kind: "Secret",
    name,
    text: JSON.stringify(secret),
  }, "*");
}
