/** Workflows that belong to a workflow go with it, in the background, however that is deleted; on real servers. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedisServer } from "../../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

const STORES: Record<string, () => Promise<{ flags: string[]; stop(): Promise<unknown> }>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), "sluice-owned-"));
    return {
      flags: [`--store=sqlite:${folder}`, "--keep-finished=1s"],
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  },
  async redis() {
    const redis = await startRedisServer();
    return { flags: [`--store=${redis.url}`], stop: () => redis.stop() };
  },
};

describe.each(Object.entries(STORES))("on %s", (name, open) => {
  let store: Awaited<ReturnType<typeof open>>;
  let server: ServerProcess;

  beforeAll(async () => {
    store = await open();
    server = await startServer([...store.flags, "--executor=none"]);
  });
  afterAll(async () => {
    await server?.stop();
    await store?.stop();
  });

  // deno-lint-ignore no-explicit-any -- answers of any shape
  async function call(method: string, path: string, body?: unknown): Promise<any> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
    return { status: response.status, ...(await response.json()) };
  }

  type Owner = { kind: string; name: string; uid: string };

  async function submit(name: string, owners: Owner[], more: object = {}): Promise<Owner> {
    const ownerReferences = owners.map((owner) => ({
      apiVersion: "argoproj.io/v1alpha1",
      ...owner,
    }));
    const made = await call("POST", "/workflows/default", {
      workflow: {
        metadata: { name, labels: { team: "a" }, ...(owners.length > 0 && { ownerReferences }) },
        spec: { entrypoint: "m", templates: [{ name: "m", suspend: {} }], ...more },
      },
    });
    expect(made.status).toMatchObject({ startedAt: null });
    return { kind: "Workflow", name, uid: made.metadata.uid };
  }

  const isThere = async (name: string) =>
    (await call("GET", `/workflows/default/${name}`)).status !== 404;
  const gone = (...names: string[]) =>
    until(async () => !(await Promise.all(names.map(isThere))).includes(true));

  test("those of a deleted workflow, and theirs in turn", async () => {
    const owner = await submit("owner", []);
    const child = await submit("child", [owner]);
    await submit("grandchild", [child]);
    const other = await submit("other", []);
    await submit("of-both", [owner, other]);
    await submit("of-a-pod", [owner, { kind: "Pod", name: "p", uid: "u" }]);
    await submit("stranger", [{ ...owner, uid: "another" }]);
    await call("DELETE", "/workflows/default/owner");
    await gone("child", "grandchild");
    for (const name of ["of-both", "of-a-pod", "stranger"]) expect(await isThere(name)).toBe(true);
    await call("DELETE", "/workflows/default/other");
    await gone("of-both");
  });

  test("the label by which they are found is seen by nobody", async () => {
    const owner = await submit("shown", []);
    await submit("seen", [owner]);
    const one = await call("GET", "/workflows/default/seen");
    const { items } = await call("GET", "/workflows/default?listOptions.labelSelector=team%3Da");
    for (const { metadata } of [one, ...items]) {
      expect(Object.keys(metadata.labels ?? {}).filter((key) => /owned/.test(key))).toEqual([]);
    }
  });

  test("propagationPolicy Orphan leaves them", async () => {
    const owner = await submit("orphaning", []);
    await submit("orphan", [owner]);
    await call(
      "DELETE",
      "/workflows/default/orphaning?deleteOptions.propagationPolicy=Orphan",
    );
    await gone("orphaning");
    await new Promise((done) => setTimeout(done, 500));
    expect(await isThere("orphan")).toBe(true);
  });

  test("those of a workflow whose time is over", async () => {
    const owner = await submit("brief", [], {
      templates: [{ name: "m", suspend: { duration: "1s" } }],
      ttlStrategy: { secondsAfterCompletion: 1 },
    });
    await submit("of-brief", [owner]);
    await gone("brief", "of-brief");
  });

  test.runIf(name === "sqlite")("those of a workflow that only the archive has", async () => {
    const owner = await submit("moved", [], {
      templates: [{ name: "m", suspend: { duration: "0s" } }],
    });
    await submit("of-moved", [owner]);
    await submit("moved-too", [owner], {
      templates: [{ name: "m", suspend: { duration: "0s" } }],
    });
    await until(async () => {
      const page = await (await fetch(`${server.url}/metrics`)).text();
      return /sluice_archive_writes_total\{outcome="moved"\} ([2-9]|\d\d)/.test(page);
    });
    const { items } = await call("GET", "/archived-workflows-label-keys");
    expect(items).toContain("team");
    expect(items.filter((key: string) => key.includes("owned-by"))).toEqual([]);
    expect(await isThere("of-moved")).toBe(true);
    await call("DELETE", "/workflows/default/moved");
    await gone("of-moved");
  });
});
