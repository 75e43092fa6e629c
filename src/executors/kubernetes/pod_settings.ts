/** Pure: members of a pod's spec that come from the manifest as they are, and those about time and place. */
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";

/** Members of a spec that go to the pod as they are, with the pod's name for them. */
const COPIED = {
  nodeSelector: "nodeSelector",
  affinity: "affinity",
  tolerations: "tolerations",
  schedulerName: "schedulerName",
  hostAliases: "hostAliases",
  securityContext: "securityContext",
  serviceAccountName: "serviceAccountName",
  automountServiceAccountToken: "automountServiceAccountToken",
  priorityClassName: "priorityClassName",
  podPriorityClassName: "priorityClassName",
  podPriority: "priority",
  hostNetwork: "hostNetwork",
  dnsPolicy: "dnsPolicy",
  dnsConfig: "dnsConfig",
  imagePullSecrets: "imagePullSecrets",
  podResources: "resources",
  resourceClaims: "resourceClaims",
} as const;

/** What the template and the workflow say of the pod, the template first. */
export function copiedMembers({ template, podSpec }: TaskSpec): JsonObject {
  const spec: JsonObject = {};
  for (const source of [podSpec, template] as Record<string, unknown>[]) {
    for (const [from, to] of Object.entries(COPIED)) {
      const value = source[from];
      if (value !== undefined && value !== null) spec[to] = value as Json;
    }
  }
  return spec;
}

/** The time that is left, in whole seconds. */
export function podDeadline({ deadline: at }: TaskSpec, now: number): JsonObject {
  return at === undefined
    ? {}
    : { activeDeadlineSeconds: Math.max(1, Math.ceil((at - now) / 1000)) };
}

/** Keeps the pod off hosts where earlier attempts failed. */
export function avoidHosts(spec: JsonObject, hosts: readonly string[]): void {
  if (hosts.length === 0) return;
  const rule = { key: "kubernetes.io/hostname", operator: "NotIn", values: [...hosts] };
  const affinity = isJsonObject(spec["affinity"]) ? spec["affinity"] : {};
  const node = isJsonObject(affinity["nodeAffinity"]) ? affinity["nodeAffinity"] : {};
  const key = "requiredDuringSchedulingIgnoredDuringExecution";
  const required = isJsonObject(node[key]) ? node[key] : {};
  const given = required["nodeSelectorTerms"];
  const terms: Json[] = Array.isArray(given) && given.length > 0 ? given : [{}];
  // Terms are alternatives, so the rule goes into each.
  const nodeSelectorTerms = terms.filter(isJsonObject).map((term) => {
    const expressions = term["matchExpressions"];
    return {
      ...term,
      matchExpressions: [...(Array.isArray(expressions) ? expressions : []), rule],
    };
  });
  spec["affinity"] = {
    ...affinity,
    nodeAffinity: { ...node, [key]: { ...required, nodeSelectorTerms } },
  };
}
