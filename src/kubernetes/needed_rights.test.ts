import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonObject } from "../base/json.ts";
import { findMissingRights, type NeededRight, neededRights, ruleOf } from "./needed_rights.ts";

const ALL = {
  runsPods: true,
  hasManifests: true,
  reviewsTokens: true,
  group: "argoproj.io",
  namespaces: [],
};
const CHART = new URL("../../helm/sluice/templates/rbac.yaml", import.meta.url);

function words(text = ""): string[] {
  return text.split(",").map((one) => one.trim().replace(/^"(.*)"$/, "$1"));
}

function permissions(rights: readonly NeededRight[]): string[] {
  return rights.flatMap(({ group, resource, verbs }) =>
    verbs.map((verb) => `${verb} ${resource} ${group}`)
  ).sort();
}

test("the chart grants exactly what is examined, besides impersonation for resource templates", () => {
  const text = readFileSync(CHART, "utf8").replaceAll("{{ .Values.apiGroup }}", ALL.group);
  const rules = text.matchAll(
    /- apiGroups: \[(.*)\]\n\s+resources: \[(.*)\]\n\s+verbs: \[(.*)\]/g,
  );
  const granted = [...rules].flatMap(([, groups, resources, verbs]) =>
    words(groups).flatMap((group) =>
      words(resources).map((resource) => ({ group, resource, verbs: words(verbs) }))
    )
  ).filter(({ verbs }) => !verbs.includes("impersonate"));
  expect(permissions(neededRights(ALL))).toEqual(permissions(granted));
});

test("each right is asked for where it is needed, and those that are missing are told", async () => {
  const asked: JsonObject[] = [];
  const client = {
    call<Answer>({ path, body }: { path: string; body?: unknown }) {
      expect(path).toBe("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
      const { resourceAttributes } = (body as { spec: { resourceAttributes: JsonObject } }).spec;
      asked.push(resourceAttributes);
      const { verb, resource, subresource, namespace } = resourceAttributes;
      const isMissing = (resource === "pods" && subresource === "log") ||
        (["watch", "patch"].includes(String(verb)) && resource === "pods" && namespace === "a") ||
        (verb === "delete" && resource === "persistentvolumeclaims" && namespace === "b") ||
        resource === "clusterworkflowtemplates" && verb === "watch";
      return Promise.resolve({ status: { allowed: !isMissing } } as Answer);
    },
  };
  const missing = await findMissingRights(client, { ...ALL, namespaces: ["a", "b"] });
  expect(missing.map((one) => `${one.namespace}: ${ruleOf(one)}`)).toEqual([
    'a: - {apiGroups: [""], resources: [pods], verbs: [watch, patch]}',
    'b: - {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [delete]}',
    'a: - {apiGroups: [""], resources: [pods/log], verbs: [get]}',
    'b: - {apiGroups: [""], resources: [pods/log], verbs: [get]}',
    ": - {apiGroups: [argoproj.io], resources: [clusterworkflowtemplates], verbs: [watch]}",
  ]);
  const places = new Set(asked.map(({ resource, namespace }) => `${resource} ${namespace}`));
  expect(places).toContain("tokenreviews ");
  expect(places).toContain("pods a");
  expect(places).not.toContain("pods ");
  expect(neededRights({ ...ALL, runsPods: false, hasManifests: false, reviewsTokens: false }))
    .toEqual([]);
});

test("ConfigMaps and Secrets that workflows name are read where their manifests are in the cluster", () => {
  const use = { ...ALL, runsPods: false, reviewsTokens: false };
  const resources = neededRights(use).map(({ resource }) => resource);
  expect(resources).toEqual(expect.arrayContaining(["configmaps", "secrets"]));
  expect(resources).not.toContain("pods");
});
