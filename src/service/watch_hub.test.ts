import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startInstance } from "../../test/support/api_server.ts";
import { seededFraction } from "../../test/support/seeded_ids.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { Version } from "../store/port.ts";
import type { ServiceDeps } from "./deps.ts";
import { isOlder } from "../actors/views.ts";
import type { WorkflowChange } from "./watch_hub.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
let service: ServiceDeps;

beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  service = instance.service;
});
afterEach(() => instance.stop());

function submit(namespace: string, name: string, value = "0"): Promise<Workflow> {
  return service.host.execute(namespace, name, {
    type: "import",
    workflow: {
      metadata: {
        name,
        namespace,
        uid: `${namespace}-${name}`,
        creationTimestamp: "2026-01-01T00:00:00Z",
        annotations: { value },
      },
      spec: { entrypoint: "a", arguments: {}, templates: [{ name: "a", suspend: {} }] },
    },
  });
}

function remove(namespace: string, name: string): Promise<Workflow> {
  return service.host.execute(namespace, name, { type: "delete" });
}

/** Collects what a watcher gets until `stop`. */
function watcher(after: Version, scope: { namespace: string; name?: string }) {
  const ends = new AbortController();
  const got: WorkflowChange[] = [];
  const done = (async () => {
    for await (const change of service.watches.follow(after, ends.signal, scope)) got.push(change);
  })();
  done.catch(() => {});
  return {
    got,
    isStopped: () => ends.signal.aborted,
    async stop() {
      ends.abort();
      await done;
    },
  };
}

/** Waits for something that comes with the feed. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { interval: 2, timeout: 5_000 }).toBe(true);
}

const versionOf = () => service.store.query.version();

describe("follow()", () => {
  test("hands a change to those who watch its namespace, its name or everything", async () => {
    const version = await versionOf();
    const all = watcher(version, { namespace: "" });
    const one = watcher(version, { namespace: "a" });
    const named = watcher(version, { namespace: "a", name: "x" });
    await submit("a", "x");
    await submit("a", "y");
    await submit("b", "x");
    await remove("a", "x");
    await until(() => all.got.length === 4);
    const seen = ({ got }: typeof all) => got.map(({ type, id }) => `${type} ${id}`);
    expect(seen(all)).toEqual(["ADDED wf/a/x", "ADDED wf/a/y", "ADDED wf/b/x", "DELETED wf/a/x"]);
    expect(seen(one)).toEqual(["ADDED wf/a/x", "ADDED wf/a/y", "DELETED wf/a/x"]);
    expect(seen(named)).toEqual(["ADDED wf/a/x", "DELETED wf/a/x"]);
    expect(named.got[1]?.workflow.spec.entrypoint).toBe("a");
    await Promise.all([all.stop(), one.stop(), named.stop()]);
    expect(service.watches.size()).toBe(0);
  });

  test("a watcher that comes late reads what it missed, each state once", async () => {
    const start = await versionOf();
    const early = watcher(start, { namespace: "" });
    await submit("a", "x");
    await submit("a", "y");
    await until(() => early.got.length === 2);
    const late = watcher(start, { namespace: "a" });
    await submit("a", "z");
    await until(() => late.got.length === 3 && early.got.length === 3);
    expect(late.got.map(({ name }) => name)).toEqual(["x", "y", "z"]);
    await Promise.all([early.stop(), late.stop()]);
  });

  test("a reader that does not take its changes is cut off and told where to go on", async () => {
    const version = await versionOf();
    const ends = new AbortController();
    const changes = service.watches.follow(version, ends.signal, { namespace: "" });
    const iterator = changes[Symbol.asyncIterator]();
    const other = watcher(version, { namespace: "" });
    const first = iterator.next();
    for (let i = 0; i <= 1_100; i++) await submit("a", `w${i}`);
    await until(() => other.got.length === 1_101);
    const seen = (await first).value as WorkflowChange;
    const rest = (async () => {
      for (let next = await iterator.next(); !next.done; next = await iterator.next());
    })();
    await expect(rest).rejects.toMatchObject({
      status: 429,
      message: expect.stringMatching(/go on from resourceVersion [0-9]+$/),
    });
    expect(seen.name).toBe("w0");
    await other.stop();
  });
});

test("whenever watchers come and go, each sees every last state, and nothing twice", async () => {
  const fraction = seededFraction(7);
  const pick = (count: number) => Math.floor(fraction() * count);
  const watchers: { after: Version; namespace: string; watcher: ReturnType<typeof watcher> }[] = [];
  for (let step = 0; step < 400; step++) {
    const namespace = ["a", "b"][pick(2)] ?? "a";
    const work = submit(namespace, `w${pick(4)}`, String(step));
    if (step % 10 === 3) {
      const scope = ["", "a", "b"][pick(3)] ?? "";
      const after = await versionOf();
      watchers.push({ after, namespace: scope, watcher: watcher(after, { namespace: scope }) });
    }
    if (fraction() < 0.7) await work;
    if (step % 60 === 59) await watchers[pick(watchers.length)]?.watcher.stop();
  }
  await service.host.execute("a", "w0", { type: "control", request: { type: "suspend" } });
  const page = await service.store.query.list({ kind: "wf", limit: 0 });
  for (const { after, namespace, watcher } of watchers) {
    const expected = page.items.filter((item) =>
      isOlder(after, item.version) && (namespace === "" || item.index.namespace === namespace)
    );
    const last = () => new Map(watcher.got.map((change) => [change.id, change.version]));
    const isComplete = () => expected.every(({ id, version }) => last().get(id) === version);
    if (!watcher.isStopped()) await until(isComplete);
    const seen = new Map<string, Version>();
    for (const { id, version } of watcher.got) {
      expect(isOlder(seen.get(id) ?? after, version)).toBe(true);
      seen.set(id, version);
    }
    await watcher.stop();
  }
  expect(service.watches.size()).toBe(0);
});
