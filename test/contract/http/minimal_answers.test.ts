/** What a caller gets who asks for less: `Prefer: return=minimal`, and `fields` of a watch. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { parseProjection, project } from "../../../src/http/projection.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";

const SPEC = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "hold", template: "hold" }]] },
    { name: "hold", suspend: {} },
  ],
};
const MINIMAL = { prefer: "return=minimal" };

let instance: Instance;
beforeAll(async () => {
  // Without any executor; a suspended step needs none.
  instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    executors: [],
  });
});
afterAll(() => instance.stop());

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return await instance.fetch(
    new Request(`http://app/api/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
}

async function answer(response: Promise<Response>): Promise<JsonObject> {
  const { status, json } = await response.then(async (one) => ({
    status: one.status,
    json: await one.json() as JsonObject,
  }));
  expect([status, json]).toEqual([200, expect.anything()]);
  return json;
}

const create = (name: string, headers = {}) =>
  send("POST", "workflows/brief", { workflow: { metadata: { name }, spec: SPEC } }, headers);

const identity = (name: string) => ({
  metadata: {
    name,
    namespace: "brief",
    uid: expect.stringMatching(/./),
    resourceVersion: expect.stringMatching(/^\d+$/),
  },
});

describe("Prefer: return=minimal", () => {
  test("leaves name, uid, version and phase", async () => {
    const template = { metadata: { name: "t" }, spec: SPEC };
    await answer(send("POST", "workflow-templates/brief", { template }));
    expect(await answer(create("a", MINIMAL))).toEqual({ ...identity("a"), status: {} });
    const submitOptions = { name: "b" };
    const body = { resourceKind: "WorkflowTemplate", resourceName: "t", submitOptions };
    expect(await answer(send("POST", "workflows/brief/submit", body, MINIMAL))).toMatchObject(
      identity("b"),
    );
    const selector = { nodeFieldSelector: "displayName=hold" };
    const verbs: Record<string, object> = {
      suspend: {},
      set: { ...selector, message: "soon" },
      resume: selector,
      stop: {},
      terminate: {},
      retry: {},
    };
    for (const [verb, body] of Object.entries(verbs)) {
      await answer(create(verb));
      if (verb === "retry") await end(verb);
      const response = await send("PUT", `workflows/brief/${verb}/${verb}`, body, MINIMAL);
      const applied = response.headers.get("preference-applied");
      const found = [await response.json(), applied];
      // A retry begins without a phase.
      const status = verb === "retry" ? {} : { phase: "Running" };
      expect(found).toEqual([{ ...identity(verb), status }, "return=minimal"]);
    }
  });

  test("says nothing to others, and a repeat gets the form that it prefers", async () => {
    const key = { "idempotency-key": "once" };
    const brief = await create("twice", { ...key, ...MINIMAL });
    const whole = await create("twice", key);
    expect(whole.headers.has("preference-applied")).toBe(false);
    const [short, long] = [await brief.json(), await whole.json()];
    expect(Object.keys(short)).toEqual(["metadata", "status"]);
    expect(long).toMatchObject({ metadata: short.metadata, spec: SPEC });
    const read = await send("GET", "workflows/brief/twice", undefined, MINIMAL);
    expect(read.headers.has("preference-applied")).toBe(false);
  });

  test("is no preference of a refusal", async () => {
    const response = await send("PUT", "workflows/brief/nobody/resume", {}, MINIMAL);
    expect(response.status).toBe(404);
    expect(response.headers.has("preference-applied")).toBe(false);
  });

  async function end(name: string): Promise<void> {
    await answer(send("PUT", `workflows/brief/${name}/terminate`, {}));
    await expect.poll(async () => {
      const { status } = await answer(send("GET", `workflows/brief/${name}`));
      return (status as JsonObject).finishedAt;
    }).not.toBe(null);
  }
});

test("a read with fields shows them, whether they follow from nodes or not", async () => {
  await answer(create("read"));
  const whole = await answer(send("GET", "workflows/brief/read"));
  const excerpts = [
    "metadata.name,status.phase",
    "status.progress,spec.entrypoint",
    "status.nodes",
  ];
  for (const fields of excerpts) {
    const found = await answer(send("GET", `workflows/brief/read?fields=${fields}`));
    const projection = parseProjection(fields);
    if (projection === undefined) throw new Error(fields);
    expect(project(found, projection)).toEqual(project(whole, projection));
  }
});

describe("a watch with fields", () => {
  /** Frames of a watch of what comes from now on, until one is of the end of a workflow. */
  async function frames(fields: string, version: string): Promise<JsonObject[]> {
    const query = `listOptions.resourceVersion=${version}&listOptions.timeoutSeconds=1` +
      (fields === "" ? "" : `&fields=${fields}`);
    const text = await (await send("GET", `workflow-events/watched?${query}`)).text();
    return text.trimEnd().split("\n").map((line) => JSON.parse(line) as JsonObject);
  }

  test("shows those of every change, whether they follow from nodes or not", async () => {
    const version = await instance.service.store.query.version();
    const object = "result.object";
    const excerpts = [
      `${object}.metadata.name,${object}.status.phase`,
      `${object}.metadata.name,${object}.status.phase`,
      `result.type,${object}.metadata.resourceVersion,${object}.status.progress`,
      `${object}.status.nodes`,
      `${object}.status`,
      `-${object}.status.nodes`,
      `-${object}.spec,${object}.status.phase`,
      `${object}.spec.entrypoint`,
      object,
      "result.type",
      "metadata",
    ];
    const watched = Promise.all(["", ...excerpts].map((fields) => frames(fields, version)));
    const body = { workflow: { metadata: { name: "w", labels: { a: "b" } }, spec: SPEC } };
    await answer(send("POST", "workflows/watched", body));
    await answer(send("PUT", "workflows/watched/w/suspend", {}));
    await answer(send("PUT", "workflows/watched/w/resume", {}));
    const [whole = [], ...found] = await watched;
    expect(whole.length).toBeGreaterThan(2);
    for (const [index, fields] of excerpts.entries()) {
      const projection = parseProjection(fields);
      if (projection === undefined) throw new Error(fields);
      const expected = whole.map((frame) => project(frame, projection));
      expect([fields, found[index]]).toEqual([fields, expected]);
    }
  });
});

test(
  "a command for whose large answer there is no room is answered briefly, and is done",
  async () => {
    const names = Array.from({ length: 18 }, (_, at) => `roomy-${at}`);
    const spec = {
      ...SPEC,
      arguments: { parameters: [{ name: "text", value: "x".repeat(3 * 2 ** 20) }] },
    };
    for (const name of names) {
      await answer(
        send("POST", "workflows/brief", { workflow: { metadata: { name }, spec } }, MINIMAL),
      );
    }
    const isBrief = async (name: string) => {
      const response = await send("PUT", `workflows/brief/${name}/suspend`, {});
      expect(response.status).toBe(200);
      if (!response.headers.has("preference-applied")) {
        // Whole answers are left unread as long as that is needed.
        await firstBrief;
        await response.body?.cancel();
        return false;
      }
      goOn();
      expect(response.headers.get("warning")).toContain("too many large answers");
      expect(await response.json()).toEqual({ ...identity(name), status: { phase: "Running" } });
      return true;
    };
    const { promise: firstBrief, resolve: goOn } = Promise.withResolvers<void>();
    expect(new Set(await Promise.all(names.map(isBrief)))).toEqual(new Set([true, false]));
    for (const name of names) {
      const { spec } = await answer(send("GET", `workflows/brief/${name}?fields=spec.suspend`));
      expect(spec).toMatchObject({ suspend: true });
    }
  },
  30_000,
);

test.each(["stop", "terminate"])("%s of a suspended workflow says when it ends", async (verb) => {
  const put = (name: string, verb: string, body = {}, headers = {}) =>
    send("PUT", `workflows/brief/${name}/${verb}`, body, headers);
  const warning = async (sent: Promise<Response>) => (await sent).headers.get("warning");
  const name = `held-${verb}`;
  await answer(create(name));
  await answer(put(name, "suspend"));
  for (const headers of [{}, MINIMAL]) {
    expect(await warning(put(name, verb, {}, headers))).toContain("ends when it is resumed");
  }
  expect(await warning(put(name, "resume"))).toBe(null);
  await answer(create(`free-${verb}`));
  expect(await warning(put(`free-${verb}`, verb))).toBe(null);
});
