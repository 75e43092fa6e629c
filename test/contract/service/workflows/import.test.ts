/** Imports: what is taken as it is, what is left, and what is refused. */
import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { ServiceSettings } from "../../../../src/service/deps.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { finishedWorkflow } from "../../../support/argo_archive.ts";

const STARTED_AT = Date.now() - 86_400_000;
const ANYBODY = { server: true, authenticators: [] };

let instance: Instance;
afterEach(() => instance?.stop());

const open = async (settings: Partial<ServiceSettings> = {}) =>
  instance = await startInstance({
    gatekeeper: ANYBODY,
    settings: { archive: true, archiveDeleted: true, ...settings },
  });

async function post(path: string, body: object) {
  const response = await instance.fetch(
    new Request(`http://127.0.0.1/api/v1/imports/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  return { status: response.status, answer: await response.json() as JsonObject };
}

const finished = (metadata: object = {}, status: object = {}, index = 1) => {
  const workflow = finishedWorkflow(index, STARTED_AT);
  return {
    ...workflow,
    metadata: { ...workflow.metadata, ...metadata },
    status: { ...workflow.status, ...status },
  };
};
const take = (workflow: object, more: object = {}) =>
  post("team-b/workflow", { workflow, ...more });

test("a finished workflow is taken once; a dry run takes none", async () => {
  await open();
  expect(await take(finished(), { dryRun: true })).toMatchObject({
    status: 200,
    answer: { outcome: "created" },
  });
  expect((await take(finished())).answer).toEqual({ outcome: "created" });
  expect((await take(finished())).answer).toEqual({ outcome: "unchanged" });
  const again = finished({}, { finishedAt: "2026-01-01T00:00:00Z", phase: "Failed" });
  expect((await take(again)).answer).toMatchObject({
    outcome: "differs",
    message: expect.stringContaining("Succeeded"),
  });
  expect((await take(again, { overwrite: true, dryRun: true })).answer["outcome"]).toBe("replaced");
  expect((await take(again)).answer["outcome"]).toBe("differs");
  expect((await take(again, { overwrite: true })).answer["outcome"]).toBe("replaced");
  expect((await take(again)).answer["outcome"]).toBe("unchanged");
});

test("members that only a newer Argo knows do no harm", async () => {
  await open();
  const workflow: JsonObject = finished();
  const strange = { ...workflow, spec: { ...workflow["spec"] as object, later: { a: 1 } } };
  expect((await take(strange)).answer).toEqual({ outcome: "created" });
});

test("a status is taken as the reference decodes it: null is absent, older values become texts", async () => {
  await open();
  const node = {
    id: "n",
    name: "n",
    type: "Pod",
    phase: "Succeeded",
    templateRef: null,
    children: null,
    inputs: { parameters: [{ name: "i", value: 5 }], artifacts: null },
    outputs: { parameters: [{ name: "o", value: true }] },
  };
  const old = finished({ uid: "00000000-0000-4000-8000-000000000001", name: "old" }, {
    nodes: { n: node, none: null },
    conditions: null,
    storedTemplates: null,
  });
  expect(await take(old)).toMatchObject({ status: 200, answer: { outcome: "created" } });
  const shown = await instance.fetch(
    new Request(`http://127.0.0.1/api/v1/archived-workflows/${old.metadata.uid}`),
  );
  const { status } = await shown.json();
  expect(Object.keys(status.nodes)).toEqual(["n"]);
  expect(status.nodes.n).toMatchObject({
    inputs: { parameters: [{ name: "i", value: "5" }] },
    outputs: { parameters: [{ name: "o", value: "true" }] },
  });
  const bare = finished({ uid: "00000000-0000-4000-8000-000000000002", name: "bare" }, {
    nodes: null,
  });
  expect(await take(bare)).toMatchObject({ status: 200, answer: { outcome: "created" } });
});

test.each<[string, object, RegExp]>([
  [
    "nodes",
    { nodes: { n: { id: "n", name: "n", type: "Pod", outputs: { result: 5 } } } },
    /node "n": .*number.*outputs\.result of type string/,
  ],
  ["members", { message: {} }, /status\.message of type string/],
])("a status with wrong %s is refused, and nothing of it is kept", async (_what, status, text) => {
  await open();
  const refused = await take(finished({}, status));
  expect(refused).toMatchObject({ status: 400, answer: { message: expect.stringMatching(text) } });
  expect((await take(finished())).answer).toEqual({ outcome: "created" });
});

test("a uid that another workflow has is never overwritten", async () => {
  await open();
  await take(finished());
  const other = finished({ name: "other" });
  expect((await take(other, { overwrite: true })).answer).toMatchObject({
    outcome: "differs",
    message: expect.stringContaining("another workflow here has the uid"),
  });
});

test.each<[string, object, object, RegExp]>([
  ["has not ended", {}, { phase: "Running" }, /has ended/],
  ["has no end", {}, { finishedAt: null }, /has ended/],
  ["has no uid", { uid: "" }, {}, /metadata\.uid/],
  ["has a uid that is a path", { uid: "a/b@c" }, {}, /metadata\.uid/],
  ["has no creation time", { creationTimestamp: null }, {}, /creationTimestamp/],
  ["has a wrong name", { name: "A B" }, {}, /metadata\.name/],
  ["is of another namespace", { namespace: "other" }, {}, /does not match the namespace/],
])("one that %s is refused", async (_what, metadata, status, text) => {
  await open();
  const refused = await take(finished(metadata, status));
  expect(refused.status).toBe(400);
  expect(refused.answer["message"]).toMatch(text);
});

test("one that the archive would not show is left", async () => {
  await open({ archiveTtlMs: 3_600_000 });
  expect((await take(finished())).answer).toMatchObject({
    outcome: "left",
    message: expect.stringContaining("--archive-ttl"),
  });
  await instance.stop();
  await open({ archiveSelector: [{ key: "keep", operator: "exists", values: [] }] });
  expect((await take(finished())).answer).toMatchObject({
    outcome: "left",
    message: expect.stringContaining("--archive-selector"),
  });
  await instance.stop();
  await open({ archive: false });
  expect((await take(finished())).answer["message"]).toContain("--archive=false");
});

test("a config map is taken once, and replaced only on demand", async () => {
  await open();
  const configMap = (data: object) => ({ configMap: { metadata: { name: "c" }, data } });
  const put = (data: object, more: object = {}) =>
    post("team-b/config-map", { ...configMap(data), ...more });
  expect((await put({ a: "1" }, { dryRun: true })).answer["outcome"]).toBe("created");
  expect((await put({ a: "1" })).answer["outcome"]).toBe("created");
  expect((await put({ a: "1" })).answer["outcome"]).toBe("unchanged");
  expect((await put({ a: "2" })).answer["outcome"]).toBe("differs");
  expect((await put({ a: "2" }, { overwrite: true })).answer["outcome"]).toBe("replaced");
  expect((await put({ a: "2" })).answer["outcome"]).toBe("unchanged");
  expect((await post("team-b/config-map", {})).status).toBe(400);
  expect((await post("team-b/config-map", { nonsense: 1 })).status).toBe(400);
});
