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

/** What the template and the workflow say of the pod, the template first. Host aliases of both count. */
export function copiedMembers({ template, podSpec }: TaskSpec): JsonObject {
  const spec: JsonObject = {};
  for (const source of [podSpec, template] as Record<string, unknown>[]) {
    for (const [from, to] of Object.entries(COPIED)) {
      const value = source[from] as Json | undefined;
      if (value !== undefined && value !== null && !isUnset(from, value)) spec[to] = value;
    }
  }
  const aliases = [...podSpec.hostAliases ?? [], ...template.hostAliases ?? []];
  if (aliases.length > 0) spec["hostAliases"] = aliases;
  return spec;
}

/** An empty selector or list of a template does not hide what the workflow says. */
function isUnset(member: string, value: Json): boolean {
  if (member !== "nodeSelector" && member !== "tolerations") return false;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Volumes of the template and of the workflow, the template first, and its claims. */
export function declaredVolumes({ template, podSpec, workflow }: TaskSpec): JsonObject[] {
  const volumes = [...(template.volumes ?? [])];
  for (const volume of podSpec.volumes ?? []) {
    if (!volumes.some((own) => own["name"] === volume["name"])) volumes.push(volume);
  }
  for (const claim of podSpec.volumeClaimTemplates ?? []) {
    const name = isJsonObject(claim["metadata"]) ? String(claim["metadata"]["name"]) : "";
    if (volumes.some((own) => own["name"] === name)) continue;
    volumes.push({ name, persistentVolumeClaim: { claimName: `${workflow}-${name}` } });
  }
  return volumes;
}

/** The time that is left, in whole seconds. */
export function podDeadline({ deadline: at }: TaskSpec, now: number): JsonObject {
  return at === undefined
    ? {}
    : { activeDeadlineSeconds: Math.max(1, Math.ceil((at - now) / 1000)) };
}

/** True for a pod that does not ask the cluster's DNS, so that it knows no names of services. */
export function hasForeignDns({ spec }: JsonObject): boolean {
  if (!isJsonObject(spec)) return false;
  const { dnsPolicy = "ClusterFirst", hostNetwork } = spec;
  return dnsPolicy === "None" || dnsPolicy === "Default" ||
    (hostNetwork === true && dnsPolicy !== "ClusterFirstWithHostNet");
}

/** The pod with a line for a host in its hosts file. */
export function withHost(pod: JsonObject, hostname: string, ip: string): JsonObject {
  const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
  const hostAliases = [...objectsOf(spec["hostAliases"]), { ip, hostnames: [hostname] }];
  return { ...pod, spec: { ...spec, hostAliases } };
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

/**
 * The pod without those volumes of the workflow that none of its containers mounts: a volume that is missing or in use
 * elsewhere must not hold up pods that do not need it.
 */
export function withoutUnmounted(pod: JsonObject, { template, podSpec }: TaskSpec): JsonObject {
  const { spec } = pod;
  if (!isJsonObject(spec) || !Array.isArray(spec["volumes"])) return pod;
  const claims = (podSpec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata);
  const shared = new Set([...podSpec.volumes ?? [], ...claims].map(nameOf));
  for (const own of template.volumes ?? []) shared.delete(nameOf(own));
  if (shared.size === 0) return pod;
  const mounted = new Set(
    objectsOf(spec["containers"], spec["initContainers"]).flatMap((container) =>
      objectsOf(container["volumeMounts"], container["volumeDevices"]).map(nameOf)
    ),
  );
  const volumes = spec["volumes"].filter((volume) =>
    !shared.has(nameOf(volume)) || mounted.has(nameOf(volume))
  );
  const { volumes: _volumes, ...rest } = spec;
  return { ...pod, spec: volumes.length === 0 ? rest : { ...rest, volumes } };
}

function nameOf(value: unknown): string {
  return isJsonObject(value) ? String(value["name"]) : "";
}

/** The objects in lists. */
export function objectsOf(...lists: (Json | undefined)[]): JsonObject[] {
  return lists.flatMap((list) => Array.isArray(list) ? list.filter(isJsonObject) : []);
}
