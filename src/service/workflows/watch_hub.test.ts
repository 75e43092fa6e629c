import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startInstance } from "../../../test/support/api_server.ts";
import { seededFraction } from "../../../test/support/seeded_ids.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { Change } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import type { ServiceDeps } from "../deps.ts";
import { isOlder } from "../../actors/views.ts";
import { WorkflowChange } from "./change.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
let service: ServiceDeps;

beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  service = instance.service;
});
afterEach(() => instance.stop());

function submit(
  namespace: string,
  name: string,
  value = "0",
  labels: Record<string, string> = {},
): Promise<Workflow> {
  return service.host.execute(namespace, name, {
    type: "import",
    workflow: {
      metadata: {
        name,
        namespace,
        uid: `${namespace}-${name}`,
        creationTimestamp: "2026-01-01T00:00:00Z",
        annotations: { value },
        labels,
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
    for await (const some of service.watches.follow(after, ends.signal, scope)) got.push(...some);
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

/** Waits for something that the feed brings. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { interval: 2, timeout: 5_000 }).toBe(true);
}

const versionOf = () => service.store.query.version();

describe("follow()", () => {
  test("hands a change to watchers of its namespace, its name or everything", async () => {
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
    expect(service.watches.size).toBe(0);
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

  test("a reader that does not take its changes is cut off, and continues without missing one", async () => {
    const version = await versionOf();
    const ends = new AbortController();
    const changes = service.watches.follow(version, ends.signal, { namespace: "" });
    const iterator = changes[Symbol.asyncIterator]();
    const other = watcher(version, { namespace: "" });
    const first = iterator.next();
    for (let i = 0; i <= 1_100; i++) await submit("a", `w${i % 300}`, String(i));
    await until(() => other.got.length === 1_101);
    const seen = (await first).value as WorkflowChange[];
    expect(seen.map(({ name }) => name)).toEqual(["w0"]);
    const failure = await iterator.next().then(() => undefined, (error: Error) => error);
    expect(failure).toMatchObject({
      status: 429,
      message: expect.stringMatching(/go on from resourceVersion [0-9]+$/),
    });
    const again = watcher(failure?.message.split(" ").at(-1) ?? "", { namespace: "" });
    await until(() => again.got.length >= 1_100);
    const states = (got: WorkflowChange[]) =>
      got.map(({ version, workflow }) => [version, workflow.metadata.annotations?.["value"]]);
    expect(states(again.got)).toEqual(states(other.got).slice(1));
    await Promise.all([other.stop(), again.stop()]);
  });

  test("a watcher that continues after a time without watchers sees each change as it was, even of deleted objects", async () => {
    await submit("a", "x", "1");
    const version = await versionOf();
    await submit("a", "x", "2");
    await submit("a", "x", "3");
    await remove("a", "x");
    await submit("a", "x", "4");
    const late = watcher(version, { namespace: "a" });
    await until(() => late.got.length === 4);
    const seen = late.got.map(({ type, workflow, version }) => [
      type,
      workflow.metadata.annotations?.["value"],
      workflow.metadata.resourceVersion === version,
    ]);
    expect(seen).toEqual([
      ["MODIFIED", "2", true],
      ["MODIFIED", "3", true],
      ["DELETED", "3", true],
      ["ADDED", "4", true],
    ]);
    await late.stop();
    expect(service.watches.size).toBe(0);
  });
});

test("once a change is written as text, it keeps the text and the labels before it", async () => {
  const version = await versionOf();
  const one = watcher(version, { namespace: "a" });
  await submit("a", "x", "1", { team: "red" });
  await submit("a", "x", "2", { team: "blue" });
  await until(() => one.got.length === 2);
  const [first, last] = one.got;
  if (first === undefined || last === undefined) throw new Error("Nothing was seen");
  let writes = 0;
  const write = (workflow: Workflow) => `${JSON.stringify(workflow)}${" ".repeat(writes++)}`;
  for (let time = 0; time < 2; time++) {
    expect(first.labelsBefore).toBeUndefined();
    expect([last.labelsBefore?.["team"], last.labels["team"]]).toEqual(["red", "blue"]);
    expect(last.workflow.metadata.annotations?.["value"]).toBe("2");
    expect(JSON.parse(last.textOf(write))).toEqual(last.workflow);
  }
  expect(writes).toBe(1);
  await one.stop();
});

test("a change that an older version of the program has written is shown as far as it is known", () => {
  const index = {
    ...{ namespace: "a", name: "x", uid: "u", labels: { team: "red" }, phase: "Running" },
    createdAt: 1,
  };
  for (const type of ["MODIFIED", "DELETED"] as const) {
    const change = { type, id: "wf/a/x", version: "7", put: {}, drop: [], index };
    const { workflow, labels } = new WorkflowChange(change, { ...change, parts: {} });
    expect(labels).toEqual({ team: "red" });
    expect(workflow.metadata).toEqual({
      ...{ namespace: "a", name: "x", uid: "u", labels: { team: "red" } },
      resourceVersion: "7",
    });
  }
});

test("whenever watchers come and go, each sees every change, and none twice", async () => {
  const fraction = seededFraction(7);
  const pick = (count: number) => Math.floor(fraction() * count);
  const all = watcher(await versionOf(), { namespace: "" });
  const watchers: { after: Version; namespace: string; watcher: ReturnType<typeof watcher> }[] = [];
  const versions: Version[] = [];
  for (let step = 0; step < 400; step++) {
    const namespace = ["a", "b"][pick(2)] ?? "a";
    const work = submit(namespace, `w${pick(4)}`, String(step));
    versions.push(await versionOf());
    if (step % 10 === 3) {
      const scope = ["", "a", "b"][pick(3)] ?? "";
      const after = versions[pick(versions.length)] ?? "";
      watchers.push({ after, namespace: scope, watcher: watcher(after, { namespace: scope }) });
    }
    if (fraction() < 0.7) await work;
    if (step % 60 === 59) await watchers[pick(watchers.length)]?.watcher.stop();
  }
  await service.host.execute("a", "w0", { type: "control", request: { type: "suspend" } });
  const last = await versionOf();
  const truth: Change[] = [];
  for (let at = versions[0] ?? ""; at !== last;) {
    const batch = await service.store.query.changes(at);
    if (batch.length === 0) break;
    truth.push(...batch.filter(({ id }) => id.startsWith("wf/")));
    at = batch.at(-1)?.version ?? last;
  }
  for (const { after, namespace, watcher } of watchers) {
    const expected = truth.filter(({ id, version }) =>
      isOlder(after, version) && (namespace === "" || id.split("/")[1] === namespace)
    ).map(({ version }) => version);
    if (!watcher.isStopped()) await until(() => watcher.got.length >= expected.length);
    const seen = watcher.got.map(({ version }) => version);
    expect(seen).toEqual(expected.slice(0, seen.length));
    await watcher.stop();
  }
  await all.stop();
  expect(service.watches.size).toBe(0);
});
