/** CloudEvents at the event endpoint: what bindings see, repeats, batches and refusals, on every store. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { openMemoryStore } from "../../../../src/store/memory/store.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";

const QUEUE_SIZE = 8;
const STRUCTURED = "application/cloudevents+json; charset=utf-8";
const BATCH = "application/cloudevents-batch+json";

let redis: RedisServer;
let databases = 0;
const folder = mkdtempSync(join(tmpdir(), "sluice-cloud-events-"));
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const STORES: [string, () => Store | Promise<Store>][] = [
  ["memory", () => openMemoryStore()],
  ["SQLite", () => openSqliteStore({ folder: join(folder, String(databases++)) })],
  ["Redis", () => openRedisStore({ url: `${redis.url}/${databases++}` })],
];

interface Queued {
  payload: unknown;
  metadata: Record<string, string[]>;
}

const event = (more: object = {}) => ({
  specversion: "1.0",
  id: "1",
  source: "/jobs",
  type: "job.done",
  data: { state: "done" },
  ...more,
});

test("the example of the page about events does what it says", async () => {
  const page = readFileSync("docs/events.md", "utf8").split("## CloudEvents\n")[1] ?? "";
  const [, yaml = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const [, body = ""] = /-d '(.*?)'\n/s.exec(page) ?? [];
  const [, type = ""] = /-H 'Content-Type: (.*?)'/.exec(page) ?? [];
  const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  try {
    const binding = parse(yaml) as { metadata: object };
    await instance.seed([{ ...binding, metadata: { ...binding.metadata, namespace: "default" } }]);
    const tried = await instance.fetch(
      new Request("http://127.0.0.1/api/v1/events/default/jobs?dryRun=true", {
        method: "POST",
        headers: { "content-type": type },
        body,
      }),
    );
    expect(await tried.json()).toMatchObject({
      bindings: [{
        outcome: "resume",
        callback: { nodeFieldSelector: "inputs.parameters.uuid.value=7" },
      }],
    });
  } finally {
    await instance.stop();
  }
});

describe.each(STORES)("on %s", (_, open) => {
  let instance: Instance;
  beforeEach(async () => {
    instance = await startInstance({
      store: await open(),
      gatekeeper: { server: true, authenticators: [] },
      settings: { eventQueueSize: QUEUE_SIZE },
    });
  });
  afterEach(() => instance.stop());

  async function send(
    body: unknown,
    headers: Record<string, string>,
    path = "d",
  ): Promise<{ status: number; message: string; body: Record<string, unknown> }> {
    const answer = await instance.fetch(
      new Request(`http://127.0.0.1/api/v1/events/default/${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      }),
    );
    const answered = await answer.json() as Record<string, unknown>;
    return {
      status: answer.status,
      message: String(answered["message"] ?? ""),
      body: answered,
    };
  }
  const structured = (more: object = {}, headers = {}, path?: string) =>
    send(event(more), { "content-type": STRUCTURED, ...headers }, path);
  const batch = (events: unknown) => send(events, { "content-type": BATCH });
  function binary(more: Record<string, string> = {}, data: unknown = { state: "done" }) {
    const headers = Object.entries({ ...event(), data: "", ...more })
      .filter(([, value]) => value !== "").map(([name, value]) => [`ce-${name}`, String(value)]);
    return send(data, { "content-type": "application/json", ...Object.fromEntries(headers) });
  }

  async function queued(): Promise<Queued[]> {
    const { events } = instance.service.store;
    const taken = await events.take("w", 100, 60_000, 0, AbortSignal.timeout(10_000));
    await events.finish(
      taken.map((one) => ({ ...one, size: 0, state: "done" as const, bindings: [] })),
    );
    return taken.map(({ text }) => JSON.parse(text) as Queued);
  }

  test("a repeat in any mode has no further effect, another discriminator or id is another event", async () => {
    expect(await binary({ subject: "a%20b" })).toMatchObject({ status: 200, body: {} });
    expect((await binary({ subject: "a%20b", time: "2026-04-05T17:31:00Z" })).status).toBe(200);
    expect((await structured({ subject: "a b", traceparent: "00-1" })).status).toBe(200);
    expect((await batch([event({ subject: "a b" })])).status).toBe(200);
    const [first, ...more] = await queued();
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      payload: { state: "done" },
      metadata: {
        "ce-id": ["1"],
        "ce-source": ["/jobs"],
        "ce-type": ["job.done"],
        "ce-specversion": ["1.0"],
        "ce-subject": ["a b"],
        "ce-datacontenttype": ["application/json"],
      },
    });
    expect((await structured({ subject: "a b" })).status).toBe(200);
    expect(await queued()).toEqual([]);
    expect((await structured({}, {}, "other")).status).toBe(200);
    expect((await structured({ id: "2" })).status).toBe(200);
    expect((await structured({ source: "/others" })).status).toBe(200);
    expect((await structured({ id: "2" }, { "idempotency-key": "k" })).status).toBe(200);
    expect((await structured({ id: "3" }, { "idempotency-key": "k2" })).status).toBe(200);
    expect((await structured({ id: "3" }, { "idempotency-key": "k2" })).status).toBe(200);
    expect(await queued()).toHaveLength(5);
  });

  test("a key of the header that came with another event is refused, and the message says so", async () => {
    const keyed = (path: string) => send({ a: 1 }, { "idempotency-key": "k" }, path);
    expect((await keyed("one")).status).toBe(200);
    expect((await keyed("one")).status).toBe(200);
    expect(await keyed("two")).toMatchObject({
      status: 422,
      message: expect.stringContaining("another event (its body or discriminator)"),
    });
    expect(await queued()).toHaveLength(1);
  });

  test("the same id with other data, type or subject is refused", async () => {
    expect((await structured()).status).toBe(200);
    for (const other of [{ data: 1 }, { type: "job.failed" }, { subject: "s" }]) {
      expect(await structured(other)).toMatchObject({
        status: 422,
        message: 'a CloudEvent with the id "1" of this source was sent with another type, ' +
          "subject or data",
      });
    }
    expect(await queued()).toHaveLength(1);
  });

  test("of a batch each event counts for itself, and nothing is stored if one is none", async () => {
    const ids = ["a", "b", "c"];
    const events = ids.map((id) => event({ id, data: id }));
    expect(await batch([...events, event({ id: "d", source: "" })])).toMatchObject({
      status: 400,
      message: "[3].source: it must not be empty",
    });
    expect(await queued()).toEqual([]);
    expect((await batch(events)).status).toBe(200);
    expect((await queued()).map(({ payload }) => payload).sort()).toEqual(ids);
    expect(await batch([event({ id: "a", data: "x" }), event({ id: "e" })])).toMatchObject({
      status: 422,
      message: expect.stringMatching(/^\[0\]: a CloudEvent .*\(1 of 2 events refused; /),
    });
    expect(await queued()).toHaveLength(1);
  });

  test("a batch that does not fit into the queue is stored by and by", async () => {
    const events = Array.from({ length: QUEUE_SIZE + 3 }, (_, id) => event({ id: String(id) }));
    const full = await batch(events);
    expect(full.status).toBe(503);
    expect(full.message).toMatch(/^\[\d+\]: operation queue full \(3 of 11 events refused; /);
    expect(await queued()).toHaveLength(QUEUE_SIZE);
    expect((await batch(events)).status).toBe(200);
    expect(await queued()).toHaveLength(3);
  });

  test("bindings read attributes and data; a trial too", async () => {
    await instance.seed([{
      kind: "WorkflowEventBinding",
      metadata: { name: "b", namespace: "default" },
      spec: {
        event: {
          selector: 'metadata["ce-type"] == ["job.done"] && metadata["ce-id"][0] == "1" && ' +
            'payload.state == "done" && !("ce-x" in metadata)',
        },
        resume: { workflow: '"w"', nodeFieldSelector: '"displayName=x"' },
      },
    }]);
    const path = "d?dryRun=true";
    // Headers of that name are no attributes of a structured event.
    const tried = await structured({}, { "ce-x": "1" }, path);
    expect(tried.body["bindings"]).toMatchObject([{ outcome: "resume" }]);
    const none = await structured({ type: "job.failed" }, {}, path);
    expect(none.body["bindings"]).toMatchObject([{ outcome: "not-matched" }]);
    expect(await send([event()], { "content-type": BATCH }, path)).toMatchObject({ status: 400 });
    expect(await queued()).toEqual([]);
  });

  test("what is no CloudEvent is refused by the name of the attribute; other events are as before", async () => {
    expect(await binary({ source: "" })).toMatchObject({
      status: 400,
      message: "header ce-source: a CloudEvent needs it",
    });
    expect(await structured({ specversion: "0.3" })).toMatchObject({
      status: 400,
      message: "specversion: 0.3 is not known, send 1.0",
    });
    expect(await send("<event/>", { "content-type": "application/cloudevents+xml" }))
      .toMatchObject({ status: 400, message: expect.stringContaining("only") });
    expect(await queued()).toEqual([]);
    expect((await send(event(), { "content-type": "application/json", "ce-x": "1" })).status)
      .toBe(200);
    expect(await queued()).toMatchObject([{ payload: event(), metadata: { "ce-x": ["1"] } }]);
  });
});
