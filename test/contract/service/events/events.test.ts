/**
 * Events from intake to result: dispatch, repeats, rights, callbacks, dead letters, on a real host and a memory store.
 */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Host } from "../../../../src/actors/host.ts";
import type { ExecuteOptions, WorkflowCommand } from "../../../../src/actors/port.ts";
import { unrestrictedCaller } from "../../../../src/auth/caller.ts";
import type { Access, Caller, Identity } from "../../../../src/auth/port.ts";
import type { Json, JsonObject } from "../../../../src/base/json.ts";
import { unavailable } from "../../../../src/base/problem.ts";
import { BindingSource } from "../../../../src/service/events/binding_source.ts";
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
} from "../../../../src/service/events/deliveries.ts";
import { testEvent } from "../../../../src/service/events/preview.ts";
import type { ServiceDeps } from "../../../../src/service/deps.ts";
import {
  dispatchEvent,
  MAX_ATTEMPTS,
  type Verdict,
} from "../../../../src/service/events/dispatch.ts";
import { receiveEvent } from "../../../../src/service/events/intake.ts";
import { startEventProcessing } from "../../../../src/service/events/processing.ts";
import {
  keepWaiting,
  runWaitingCallbacks,
} from "../../../../src/service/events/waiting_callbacks.ts";
import { proveWebhook } from "../../../../src/service/events/webhook_senders.ts";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import type { QueuedEvent } from "../../../../src/store/event_port.ts";
import { startInstance } from "../../../support/api_server.ts";
import { serviceDeps } from "../../../support/service_deps.ts";
import { Deployment, until } from "../../../support/deployment.ts";
import { WEBHOOK_SECRET } from "../../../../src/spec/naming.ts";

const NAMESPACE = "default";
const LABEL = "workflows.argoproj.io/workflow-event-binding";
const everybody = unrestrictedCaller();
let deployment: Deployment;
let host: Host;
let deps: ServiceDeps;
let bindings: BindingSource;
let stop: AbortController;

beforeEach(async () => {
  deployment = new Deployment();
  host = await deployment.replica("a");
  deps = serviceDeps(deployment, host);
  bindings = new BindingSource(deployment.store.manifests, deps.log);
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  deployment.stop();
});

async function put(kind: ManifestKind, name: string, object: JsonObject): Promise<void> {
  const text = JSON.stringify({ metadata: { name, namespace: NAMESPACE }, ...object });
  await deps.store.manifests.put({ kind, namespace: NAMESPACE, name, text, labels: {} }, "*");
}

async function template(name: string, steps?: Json): Promise<void> {
  const main = steps === undefined ? { name: "main", suspend: {} } : { name: "main", steps };
  await put(ManifestKind.WorkflowTemplate, name, {
    spec: { entrypoint: "main", templates: [main, { name: "hold", suspend: {} }] },
  });
}

const bind = (name: string, spec: JsonObject) =>
  put(ManifestKind.WorkflowEventBinding, name, { spec });

const submitting = (selector: string, more: JsonObject = {}, name = "t"): JsonObject => ({
  event: { selector },
  submit: { workflowTemplateRef: { name }, ...more },
});

/** Accepts an event and takes it from the queue. */
async function taken(payload: Json, caller: Caller = everybody): Promise<QueuedEvent> {
  const metadata = { "x-kind": ["test"] };
  await receiveEvent(deps, caller, { namespace: NAMESPACE, discriminator: "d", payload, metadata });
  const [event] = await deps.store.events.take("w", 1, 60_000, 0, stop.signal);
  if (event === undefined) throw new Error("nothing was queued");
  return event;
}

async function ended(verdict: Verdict | Promise<Verdict>): Promise<Verdict["delivery"]> {
  const { delivery, retryAfterMs } = await verdict;
  expect(retryAfterMs).toBeUndefined();
  await deps.store.events.finish([delivery]);
  return delivery;
}

async function workflows(): Promise<string[]> {
  const { items } = await deps.store.query.list({ kind: "wf", namespace: NAMESPACE, limit: 0 });
  return items.map(({ index }) => index.name).sort();
}

describe("dispatchEvent()", () => {
  test("every matching binding makes a workflow, with labels, parameters and a derived name", async () => {
    await template("t");
    await bind(
      "b",
      submitting('payload.a == 1 && metadata["x-kind"] == ["test"]', {
        metadata: { labels: { l: '"v"' }, annotations: { "a.b/c": "payload.text" } },
        arguments: { parameters: [{ name: "p", valueFrom: { event: "payload" } }] },
      }),
    );
    await bind("named", submitting("true", { metadata: { name: '"my-" + payload.text' } }));
    await bind("other", submitting("false"));
    const { state, bindings: made, size } = await ended(
      dispatchEvent(deps, bindings, await taken({ a: 1, text: "x" })),
    );
    expect(state).toBe("done");
    expect(size).toBe(18);
    expect(made.find(({ binding }) => binding === "other")?.outcome).toBe("not-matched");
    const [name = ""] = (await workflows()).filter((one) => one.startsWith("t-"));
    expect(name).toMatch(/^t-\d{14}-[a-z0-9]{8}$/);
    const { metadata, spec } = await deployment.workflow(name);
    expect(metadata.labels).toMatchObject({ l: "v", [LABEL]: "b" });
    expect(metadata.annotations).toMatchObject({ "a.b/c": "x" });
    expect(spec.arguments?.parameters).toEqual([{ name: "p", value: '{"a":1,"text":"x"}' }]);
    expect(await workflows()).toContain("my-x");
  });

  test("a repeat finds what the first try made, also when the binding has changed", async () => {
    await template("t");
    await bind(
      "b",
      submitting("true", {
        metadata: {
          name: '"n-" + string(sprig.randInt(0, 1000000)) + sprig.randAlpha(5) | lower()',
        },
      }),
    );
    const event = await taken({});
    const first = await dispatchEvent(deps, bindings, event);
    const again = await dispatchEvent(deps, bindings, event);
    expect(again.delivery.bindings).toEqual(first.delivery.bindings);
    expect(first.delivery.bindings[0]?.outcome).toBe("submitted");
    await bind("b", submitting("true", { metadata: { name: '"renamed"' } }));
    const late = await dispatchEvent(deps, bindings, { ...event, attempts: 1 });
    expect(late.delivery.bindings[0]?.workflow).toBe(first.delivery.bindings[0]?.workflow);
    expect((await workflows()).length).toBe(1);
  });

  test("what is wrong with one binding is its own outcome", async () => {
    await template("t");
    await bind("broken", submitting("payload.x =="));
    await bind("failing", submitting("int(payload.word) > 0"));
    await bind("good", submitting("true"));
    await bind("missing", submitting("true", {}, "nowhere"));
    await bind("nothing", { event: { selector: "true" } });
    await bind("taken", submitting("true", { metadata: { name: '"fixed"' } }));
    await bind("taken-too", submitting("true", { metadata: { name: '"fixed"' } }));
    await bind("unfit", submitting("true", { metadata: { name: '"Not Fit"' } }));
    const { state, bindings: made, event } = await ended(
      dispatchEvent(deps, bindings, await taken({ word: "w" })),
    );
    expect(state).toBe("dead");
    expect(event).toContain('"word"');
    const message = (name: string) => made.find(({ binding }) => binding === name)?.message;
    expect(message("broken")).toMatch(/unexpected token EOF \(1:12\)/);
    expect(message("failing")).toMatch(/\(1:\d+\)/);
    expect(message("missing")).toBe(
      'failed to get workflow template: workflowtemplates.argoproj.io "nowhere" not found',
    );
    expect(message("unfit")).toContain('"Not Fit" is invalid');
    const both = [message("taken"), message("taken-too")].filter((text) => text !== undefined);
    expect(both).toEqual([
      'failed to create workflow: workflows.argoproj.io "fixed" already exists',
    ]);
    expect((await workflows()).length).toBe(2);
  });

  test("a long template name is cut so that the workflow's name is valid", async () => {
    const name = "x".repeat(60);
    await template(name);
    await bind("b", submitting("true", {}, name));
    await ended(dispatchEvent(deps, bindings, await taken({})));
    const [made = ""] = await workflows();
    expect(made).toMatch(/^x{39}-?\d{14}-[a-z0-9]{8}$|^x{40}\d{14}-[a-z0-9]{8}$/);
    expect(made.length).toBeLessThanOrEqual(63);
  });

  test("transient trouble brings back only what is not done, and is given up in the end", async () => {
    await template("t");
    await bind("first", submitting("true"));
    await bind("second", submitting("true", { metadata: { name: '"second"' } }));
    let calls = 0;
    const shaky: ServiceDeps = {
      ...deps,
      host: {
        replicas: [],
        owns: () => true,
        shards: 1,
        survey: () => Promise.resolve([]),
        execute: (namespace, name, command, options) => {
          if (name !== "second") calls++;
          return name === "second"
            ? Promise.reject(unavailable("away"))
            : host.execute(namespace, name, command, options);
        },
        chooseName: (_namespace, generate) => generate(),
        deliver: () => Promise.reject(new Error("unused")),
        limitsChanged: () => Promise.resolve(),
      },
    };
    const event = await taken({});
    const { delivery, retryAfterMs = 0 } = await dispatchEvent(shaky, bindings, event, () => true);
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(delivery).toMatchObject({
      state: "queued",
      retryAt: Math.round(deps.clock.now() + retryAfterMs),
      event: event.text,
    });
    await deps.store.events.retryLater(delivery, retryAfterMs);
    const again = await dispatchEvent(shaky, bindings, { ...event, attempts: 1 });
    expect(calls).toBe(1);
    expect(again.delivery.bindings).toContainEqual({
      binding: "second",
      outcome: "error",
      message: "failed to create workflow: away",
      transient: true,
    });
    const last = await dispatchEvent(shaky, bindings, { ...event, attempts: MAX_ATTEMPTS - 1 });
    expect(last.retryAfterMs).toBeUndefined();
    expect(last.delivery.state).toBe("dead");
    expect(last.delivery).not.toHaveProperty("retryAt");
    const beyond = await dispatchEvent(deps, bindings, { ...event, attempts: MAX_ATTEMPTS });
    expect(beyond.delivery.state).toBe("dead");
  });

  test("trouble with the store brings the event back, and is no defect", async () => {
    await template("t");
    await bind("b", submitting("true"));
    const event = await taken({});
    let troubles = 1;
    const { manifests } = deps.store;
    const shaky = new BindingSource({
      ...manifests,
      list: (...args) =>
        troubles-- > 0 ? Promise.reject(unavailable("away")) : manifests.list(...args),
    }, deps.log);
    const { delivery, retryAfterMs } = await dispatchEvent(deps, shaky, event);
    expect(delivery).toMatchObject({ state: "queued", attempts: 1, bindings: [] });
    expect(retryAfterMs).toBeGreaterThan(0);
    const again = await ended(dispatchEvent(deps, shaky, { ...event, attempts: 1 }));
    expect(again.bindings[0]?.outcome).toBe("submitted");
  });

  test("the sender's rights count when the event is dispatched", async () => {
    await template("t");
    await bind("b", submitting("true"));
    const identity: Identity = { subject: "ann" };
    const mays: Access[] = [];
    let granted: string[] = ["list workfloweventbindings"];
    const callerOf = (who: Identity): Caller => ({
      identity: who,
      may(access) {
        mays.push(access);
        return Promise.resolve(granted.includes(`${access.verb} ${access.resource}`));
      },
    });
    deps = { ...deps, callerOf };
    const refused = await ended(
      dispatchEvent(deps, bindings, await taken({}, callerOf(identity))),
    );
    expect(refused.state).toBe("dead");
    expect(refused.bindings[0]?.message).toContain(
      'User "ann" cannot get resource "workflowtemplates"',
    );
    granted = ["list workfloweventbindings", "get workflowtemplates"];
    const half = await ended(dispatchEvent(deps, bindings, await taken({}, callerOf(identity))));
    expect(half.bindings[0]?.message).toContain('cannot create resource "workflows"');
    granted.push("create workflows");
    await ended(dispatchEvent(deps, bindings, await taken({}, callerOf(identity))));
    const [name = ""] = await workflows();
    expect((await deployment.workflow(name)).metadata.labels?.["workflows.argoproj.io/creator"])
      .toBe("ann");
  });
});

describe("dead letters", () => {
  async function deadLetter(payload: Json = {}): Promise<string> {
    const { id } = await ended(dispatchEvent(deps, bindings, await taken(payload)));
    return id;
  }

  test("are replayed for the bindings that failed", async () => {
    await template("t");
    await bind("good", submitting("true"));
    await bind("missing", submitting("true", {}, "later"));
    const id = await deadLetter();
    expect(await getDelivery(deps, everybody, NAMESPACE, id)).not.toHaveProperty("event");
    await template("later");
    await replayDelivery(deps, everybody, NAMESPACE, id);
    const [event] = await deps.store.events.take("w", 1, 60_000, 0, stop.signal);
    if (event === undefined) throw new Error("nothing was queued");
    const delivery = await ended(dispatchEvent(deps, bindings, event));
    expect(delivery.state).toBe("done");
    expect((await workflows()).length).toBe(2);
    await expect(replayDelivery(deps, everybody, NAMESPACE, id)).rejects.toMatchObject({ code: 9 });
    await expect(replayDelivery(deps, everybody, "other", id)).rejects.toMatchObject({ code: 5 });
  });

  test("go back in bulk until the queue is full", async () => {
    await bind("missing", submitting("payload.n > 0", {}, "later"));
    for (let n = 1; n <= 5; n++) await deadLetter({ n });
    deps = { ...deps, settings: { ...deps.settings, eventQueueSize: 3 } };
    const request = { namespace: NAMESPACE };
    expect(await replayDeliveries(deps, everybody, { ...request, discriminator: "none" }))
      .toEqual({ replayed: 0, remaining: 0 });
    expect(await replayDeliveries(deps, everybody, { ...request, binding: "missing" }))
      .toEqual({ replayed: 3, remaining: 2 });
    const dead = await listDeliveries(deps, everybody, {
      ...request,
      state: "dead",
      limit: 0,
      continue: "",
    });
    expect(dead.items.length).toBe(2);
  });
});

test("testEvent() says what would happen and does nothing", async () => {
  await template("t");
  await bind("b", submitting("payload.a == 1"));
  await bind("c", {
    event: { selector: "true" },
    resume: { workflow: '"w"', nodeFieldSelector: '"displayName=x"' },
  });
  await bind("d", submitting("payload.a", {}, "t"));
  const previews = await testEvent(deps, everybody, {
    namespace: NAMESPACE,
    discriminator: "",
    payload: { a: 1 },
    metadata: {},
  });
  expect(previews.map(({ binding, outcome }) => `${binding} ${outcome}`))
    .toEqual(["b submit", "c resume", "d error"]);
  expect(previews[0]?.workflow?.spec.workflowTemplateRef).toEqual({ name: "t" });
  expect(await workflows()).toEqual([]);
  expect(await deps.store.events.depth()).toBe(0);
});

test("receiveEvent() refuses a number that would be stored as null", async () => {
  const receive = (text: string) =>
    receiveEvent(deps, everybody, {
      namespace: NAMESPACE,
      discriminator: "",
      payload: JSON.parse(text) as Json,
      metadata: {},
    });
  await expect(receive('{"jobs": [null, {"seconds": 1e999}]}')).rejects
    .toThrow("payload.jobs[1].seconds is a number too large for a float of 64 bits");
  await expect(receive("-1e400")).rejects.toMatchObject({ code: 3 });
  expect(await deps.store.events.depth()).toBe(0);
  await receive('[null, "null", 1e308]');
  expect(await deps.store.events.depth()).toBe(1);
});

test("testEvent() refuses what receiveEvent() refuses", async () => {
  const payload = { seconds: Infinity };
  const tested = { namespace: NAMESPACE, discriminator: "", payload, metadata: {} };
  await expect(testEvent(deps, everybody, tested)).rejects
    .toThrow("payload.seconds is a number too large for a float of 64 bits");
});

test("testEvent() tells of what the event could not create", async () => {
  await template("t");
  const named = (name: string) => submitting("true", { metadata: { name } });
  await bind("free", named('"fixed"'));
  const send = { namespace: NAMESPACE, discriminator: "", payload: {}, metadata: {} };
  const told = async () =>
    (await testEvent(deps, everybody, send)).map(({ binding, outcome, message = "" }) =>
      `${binding} ${outcome} ${message}`
    );
  expect(await told()).toEqual(["free submit "]);
  await ended(dispatchEvent(deps, bindings, await taken({})));
  await bind("label", submitting("true", { metadata: { labels: { who: '"two words"' } } }));
  await bind("unfit", named('"Not Fit"'));
  const [free, label, unfit] = await told();
  expect(free).toBe(
    'free error failed to create workflow: workflows.argoproj.io "fixed" already exists',
  );
  expect(label).toMatch(/^label error failed to create workflow: .*"two words"/);
  expect(unfit).toMatch(/^unfit error failed to create workflow: .*"Not Fit" is invalid/);
});

describe("callbacks", () => {
  const waiting = (more: JsonObject = {}): JsonObject => ({
    event: { selector: 'payload.job != ""' },
    resume: {
      labelSelector: '"job=" + payload.job',
      nodeFieldSelector: '"displayName=hold"',
      ...more,
    },
  });

  async function submitJob(): Promise<void> {
    await template("two", [[{ name: "first", template: "hold" }], [{
      name: "hold",
      template: "hold",
    }]]);
    await host.execute(NAMESPACE, "wf", {
      type: "submit",
      workflow: {
        metadata: { name: "wf", namespace: NAMESPACE, uid: "u", labels: { job: "7" } },
        spec: { workflowTemplateRef: { name: "two" } },
      },
    });
  }

  const phaseOf = async (name: string) => (await deployment.node("wf", name))?.phase;
  const resume = (nodeFieldSelector: string) =>
    host.execute(NAMESPACE, "wf", {
      type: "control",
      request: { type: "resume", nodeFieldSelector },
    });

  test("resume a step that waits", async () => {
    await bind("back", waiting());
    await submitJob();
    await resume("displayName=first");
    const delivery = await ended(dispatchEvent(deps, bindings, await taken({ job: "7" })));
    expect(delivery.bindings).toEqual([{ binding: "back", outcome: "resumed", workflow: "wf" }]);
    expect(await phaseOf("hold")).toBe("Succeeded");
  });

  test.each(['""', '"@latest"'])("name their workflow: %s is no name", async (workflow) => {
    const nodeFieldSelector = '"displayName=hold"';
    await bind("back", { event: { selector: "true" }, resume: { workflow, nodeFieldSelector } });
    await submitJob();
    await resume("displayName=first");
    const delivery = await ended(dispatchEvent(deps, bindings, await taken({ job: "7" })));
    expect(delivery.bindings).toMatchObject([{ binding: "back", outcome: "error" }]);
    expect(await phaseOf("hold")).toBe("Running");
  });

  test("one that comes early waits for its step, and the record tells when it was done", async () => {
    await bind("back", waiting());
    void runWaitingCallbacks(deps, "a", stop.signal);
    const { id, bindings: made } = await ended(
      dispatchEvent(deps, bindings, await taken({ job: "7" })),
    );
    expect(made[0]?.outcome).toBe("waiting");
    await submitJob();
    await deployment.clock.advance(10_000);
    expect(await phaseOf("first")).toBe("Running");
    await resume("displayName=first");
    await until(async () => {
      await deployment.clock.advance(1_000);
      return await phaseOf("hold") === "Succeeded";
    });
    await until(async () =>
      (await getDelivery(deps, everybody, NAMESPACE, id)).bindings[0]?.outcome === "resumed"
    );
    const { items } = await deps.store.manifests.list(ManifestKind.WaitingCallback, { limit: 0 });
    expect(items).toEqual([]);
  });

  test("those that wait are also tried on a replica without event workers", async () => {
    await deployment.replica("b");
    const options = {
      claimAfterMs: 60_000,
      deliveryCount: 10,
      deliveryAgeMs: 1e9,
      keptEventRate: 0,
    };
    const processing = ["a", "b"].map((replica) =>
      startEventProcessing(deps, { ...options, replica, workers: replica === "a" ? 1 : 0 })
    );
    // Each of the two owns some of them.
    const count = 12;
    for (let at = 0; at < count; at++) {
      await keepWaiting(deps, NAMESPACE, {
        event: `e${at}`,
        binding: "back",
        request: { action: "resume", workflow: `gone-${at}`, nodeFieldSelector: "displayName=x" },
        sender: {},
        expiresAt: deployment.clock.now() + 5_000,
      });
    }
    await deployment.clock.advance(20_000);
    const { items } = await deps.store.manifests.list(ManifestKind.WaitingCallback, { limit: 0 });
    expect(items.map(({ name }) => name)).toEqual([]);
    const stopping = processing.map((one) => one.stop());
    await deployment.clock.advance(1);
    await Promise.all(stopping);
  });

  test("a step that begins to wait costs no look at those that wait for others", async () => {
    const tried: string[] = [];
    const counting = new Proxy(deps.host, {
      get(target, member) {
        if (member === "execute") {
          return (namespace: string, name: string, ...rest: [WorkflowCommand, ExecuteOptions]) => {
            tried.push(name);
            return target.execute(namespace, name, ...rest);
          };
        }
        const value = Reflect.get(target, member, target) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    void runWaitingCallbacks({ ...deps, host: counting }, "a", stop.signal);
    for (let at = 0; at < 10; at++) {
      await keepWaiting(deps, NAMESPACE, {
        event: `e${at}`,
        binding: "back",
        request: {
          action: "resume",
          workflow: at === 0 ? "wf" : `gone-${at}`,
          nodeFieldSelector: "displayName=hold",
        },
        sender: {},
        expiresAt: deployment.clock.now() + 600_000,
      });
    }
    await deployment.clock.advance(10_000);
    expect(new Set(tried).size).toBe(10);
    tried.length = 0;
    await submitJob();
    await resume("displayName=first");
    await until(async () => await phaseOf("hold") === "Succeeded");
    await deployment.clock.advance(5_000);
    expect(tried).toEqual(["wf"]);
  });

  test("one that fails in an unforeseen way holds up no other", async () => {
    const broken = {
      request: { workflow: 7 },
      sender: {},
      expiresAt: 4e12,
      event: "0",
      binding: "b",
    };
    await deps.store.manifests.put({
      ...{ kind: ManifestKind.WaitingCallback, namespace: NAMESPACE, name: "0.b.x", labels: {} },
      text: JSON.stringify(broken),
    }, undefined);
    await bind("back", waiting());
    void runWaitingCallbacks(deps, "a", stop.signal);
    await ended(dispatchEvent(deps, bindings, await taken({ job: "7" })));
    await submitJob();
    await resume("displayName=first");
    await until(async () => {
      await deployment.clock.advance(1_000);
      return await phaseOf("hold") === "Succeeded";
    });
  });

  test("one whose time is over is told as an error", async () => {
    await bind("back", waiting({ waitFor: "30s" }));
    void runWaitingCallbacks(deps, "a", stop.signal);
    const { id } = await ended(dispatchEvent(deps, bindings, await taken({ job: "9" })));
    await deployment.clock.advance(20_000);
    expect((await getDelivery(deps, everybody, NAMESPACE, id)).bindings[0]?.outcome).toBe(
      "waiting",
    );
    await deployment.clock.advance(60_000);
    const [outcome] = (await getDelivery(deps, everybody, NAMESPACE, id)).bindings;
    expect(outcome).toMatchObject({ outcome: "error" });
    expect(outcome?.message).toContain("no step waited within its time");
  });

  test("one whose time is over makes its event a dead letter, which a replay tries again", async () => {
    await bind("back", waiting({ waitFor: "30s" }));
    void runWaitingCallbacks(deps, "a", stop.signal);
    const { id } = await ended(dispatchEvent(deps, bindings, await taken({ job: "7" })));
    await deployment.clock.advance(60_000);
    expect(await getDelivery(deps, everybody, NAMESPACE, id)).toMatchObject({
      state: "dead",
      hasEvent: true,
    });
    await submitJob();
    await resume("displayName=first");
    await replayDelivery(deps, everybody, NAMESPACE, id);
    const [again] = await deps.store.events.take("w", 1, 60_000, 0, stop.signal);
    if (again === undefined) throw new Error("nothing was queued");
    const { state, bindings: made } = await ended(dispatchEvent(deps, bindings, again));
    expect([state, made]).toEqual(["done", [{
      binding: "back",
      outcome: "resumed",
      workflow: "wf",
    }]]);
  });

  test("the record of one that waits stays, however many events come meanwhile", async () => {
    await bind("back", waiting({ waitFor: "10m" }));
    const options = {
      claimAfterMs: 60_000,
      deliveryCount: 2,
      deliveryAgeMs: 1e9,
      keptEventRate: 0,
    };
    const processing = startEventProcessing(deps, { ...options, replica: "a", workers: 1 });
    const send = (payload: Json, at: number) =>
      receiveEvent(deps, everybody, {
        namespace: NAMESPACE,
        discriminator: `${at}`,
        payload,
        metadata: {},
      });
    await send({ job: "9" }, 0);
    await deployment.clock.advance(1_000);
    for (let at = 1; at < 10; at++) await send({ job: "" }, at);
    await deployment.clock.advance(200_000);
    const { items } = await deps.store.events.deliveries({ namespace: NAMESPACE, limit: 0 });
    expect(items.map(({ discriminator }) => discriminator)).toContain("0");
    expect(items).toHaveLength(3);
    await deployment.clock.advance(500_000);
    const dead = await deps.store.events.deliveries({ state: "dead", limit: 0 });
    expect(dead.items.map(({ discriminator }) => discriminator)).toEqual(["0"]);
    const stopping = processing.stop();
    await deployment.clock.advance(1);
    await stopping;
  });

  test("a record keeps the event of one that waits until it has come to a good end", async () => {
    await bind("back", waiting());
    void runWaitingCallbacks(deps, "a", stop.signal);
    const { id } = await ended(dispatchEvent(deps, bindings, await taken({ job: "7" })));
    const shown = () => getDelivery(deps, everybody, NAMESPACE, id);
    expect((await shown()).hasEvent).toBe(true);
    await submitJob();
    await resume("displayName=first");
    await until(async () => {
      await deployment.clock.advance(1_000);
      return (await shown()).bindings[0]?.outcome === "resumed";
    });
    expect(await shown()).not.toHaveProperty("hasEvent");
  });

  test("stop ends the step as failed, with the message", async () => {
    await bind("end", {
      event: { selector: "true" },
      stop: {
        workflow: '"wf"',
        nodeFieldSelector: '"displayName=first"',
        message: "payload.why",
        waitFor: "0s",
      },
    });
    const early = await ended(dispatchEvent(deps, bindings, await taken({ why: "late" })));
    expect(early.bindings[0]?.message).toContain("no step waits");
    await submitJob();
    await ended(dispatchEvent(deps, bindings, await taken({ why: "late" })));
    expect(await deployment.node("wf", "first")).toMatchObject({
      phase: "Failed",
      message: "late",
    });
  });
});

test("a signed event needs no credential, and is queued with its sender's identity", async () => {
  const instance = await startInstance({
    gatekeeper: { server: false, authenticators: [] },
    settings: { authRequired: true },
  });
  try {
    const { service } = instance;
    service.callerOf = unrestrictedCaller;
    const body = '{"n":1}';
    const sign = (secret: string) => createHmac("sha512", secret).update(body).digest("base64");
    const post = async (headers: Record<string, string>) => {
      const url = "http://app/api/v1/events/default/";
      const request = new Request(url, { method: "POST", headers, body });
      return await instance.fetch(request);
    };
    const statusOf = async (headers: Record<string, string>) => (await post(headers)).status;
    const bare = await post({});
    expect(bare.status).toBe(403);
    expect(bare.headers.get("content-type")).toBe("application/json");
    expect(await bare.json()).toEqual({
      code: 7,
      message:
        'nothing proves who sends the event: send a token in the header Authorization: namespace "default" ' +
        "has no webhook senders whose signature could stand for one",
    });
    const entry = "{type: hmac, secret: shh, header: X-Proof, algorithm: sha512, encoding: base64}";
    await service.store.manifests.put({
      kind: ManifestKind.Secret,
      namespace: NAMESPACE,
      name: WEBHOOK_SECRET,
      text: JSON.stringify({ metadata: { name: WEBHOOK_SECRET }, stringData: { robot: entry } }),
      labels: {},
    }, "*");
    const wrong = await post({ "x-proof": sign("other") });
    expect(wrong.status).toBe(401);
    expect(await wrong.json()).toEqual({
      code: 16,
      message: "token not valid: the event is signed, but by no sender in secret " +
        `${WEBHOOK_SECRET} of namespace "default": compare its secret and type there, ` +
        "and its clock if it signs the time, or send a token",
    });
    expect(await statusOf({ "x-proof": sign("shh"), authorization: "Bearer no" })).toBe(401);
    expect(await statusOf({ "x-proof": sign("shh") })).toBe(200);
    await service.store.manifests.put({
      kind: ManifestKind.Secret,
      namespace: "broken",
      name: WEBHOOK_SECRET,
      text: JSON.stringify({ metadata: { name: WEBHOOK_SECRET }, stringData: { robot: "{" } }),
      labels: {},
    }, "*");
    const url = "http://app/api/v1/events/broken/";
    const broken = await instance.fetch(new Request(url, { method: "POST", body }));
    expect(broken.status).toBe(403);
    expect(await broken.json()).toMatchObject({
      code: 7,
      message: expect.stringContaining(
        'the webhook senders of namespace "broken" can\'t be read from secret',
      ),
    });
    const [event] = await service.store.events.take("w", 1, 60_000, 0, stop.signal);
    const { sender, payload } = JSON.parse(event?.text ?? "{}");
    expect(sender.subject).toBe("system:serviceaccount:default:robot");
    expect(payload).toEqual({ n: 1 });
  } finally {
    await instance.stop();
  }
});

describe("proveWebhook()", () => {
  const body = new TextEncoder().encode('{"a":1}');
  const signature = `sha256=${createHmac("sha256", "shh").update(body).digest("hex")}`;
  const signed = new Headers({ "x-github-event": "push", "x-hub-signature-256": signature });
  const prove = (headers: Headers) =>
    proveWebhook(deps, NAMESPACE, headers, () => Promise.resolve(body));
  const secret = (data: Record<string, string>) =>
    put(ManifestKind.Secret, WEBHOOK_SECRET, {
      data: Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
      ),
    });

  test("gives the mapped service account", async () => {
    expect(await prove(signed)).toEqual({ type: "none" });
    await secret({ other: "type: gitlab\nsecret: shh", robot: "type: github\nsecret: shh" });
    expect(await prove(signed)).toMatchObject({
      type: "proved",
      caller: {
        identity: {
          subject: "system:serviceaccount:default:robot",
          serviceAccountName: "robot",
          serviceAccountNamespace: "default",
        },
      },
    });
    expect(await prove(new Headers())).toEqual({ type: "unknown" });
  });

  test.each([
    ["unknown type", "type: svn\nsecret: shh"],
    ["no YAML", "type: [\n"],
    ["empty secret", "type: github\nsecret: ''"],
  ])("%s makes the secret unusable", async (_, text) => {
    await secret({ robot: text });
    expect(await prove(signed)).toEqual({ type: "broken" });
  });
});
