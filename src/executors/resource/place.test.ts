import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { KubeError } from "../../kubernetes/kube_client.ts";
import { collectionOfKind, collectionOfWord, collectionPath } from "./place.ts";

const ANSWERS: Record<string, JsonObject> = {
  "/api/v1": {
    resources: [
      { name: "pods", singularName: "pod", kind: "Pod", namespaced: true, shortNames: ["po"] },
      { name: "pods/log", singularName: "", kind: "Pod", namespaced: true },
      { name: "nodes", singularName: "node", kind: "Node", namespaced: false },
    ],
  },
  "/apis": {
    groups: [
      { name: "apps", preferredVersion: { groupVersion: "apps/v1" } },
      { name: "batch", preferredVersion: { groupVersion: "batch/v1" } },
    ],
  },
  "/apis/apps/v1": {
    resources: [{
      name: "deployments",
      singularName: "deployment",
      kind: "Deployment",
      namespaced: true,
      shortNames: ["deploy"],
    }],
  },
  "/apis/batch/v1": {
    resources: [{ name: "jobs", singularName: "job", kind: "Job", namespaced: true }],
  },
};

const discover = (path: string) =>
  path in ANSWERS ? Promise.resolve(ANSWERS[path] ?? {}) : Promise.reject(new Error(path));

test.each([
  ["pod", "/api/v1/namespaces/n/pods"],
  ["Pods", "/api/v1/namespaces/n/pods"],
  ["po", "/api/v1/namespaces/n/pods"],
  ["node", "/api/v1/nodes"],
  ["deploy", "/apis/apps/v1/namespaces/n/deployments"],
  ["deployments.apps", "/apis/apps/v1/namespaces/n/deployments"],
  ["deployment.v1.apps", "/apis/apps/v1/namespaces/n/deployments"],
  ["jobs", "/apis/batch/v1/namespaces/n/jobs"],
])("collectionOfWord(%j) is %j", async (word, path) => {
  expect(collectionPath(await collectionOfWord(discover, word), "n")).toBe(path);
});

test("a kind that the cluster does not have is refused", async () => {
  expect(collectionPath(await collectionOfKind(discover, "batch/v1", "Job"), "n"))
    .toBe("/apis/batch/v1/namespaces/n/jobs");
  await expect(collectionOfKind(discover, "v1", "Job")).rejects.toThrow("no Job in v1");
  await expect(collectionOfWord(discover, "jobs.apps")).rejects.toThrow('type "jobs.apps"');
  await expect(collectionOfWord(discover, "log")).rejects.toThrow('type "log"');
});

test("a group that the cluster does not have is named, and other trouble is told as it is", async () => {
  const unknown = () => Promise.reject(new KubeError(404, "NotFound", "404 page not found\n"));
  await expect(collectionOfKind(unknown, "foo.io/v1", "Nope")).rejects.toThrow(
    "the cluster has no Nope in foo.io/v1",
  );
  const forbidden = () => Promise.reject(new KubeError(403, "Forbidden", "no"));
  await expect(collectionOfKind(forbidden, "foo.io/v1", "Nope")).rejects.toThrow("no");
});
