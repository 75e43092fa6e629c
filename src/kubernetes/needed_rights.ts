/** The rights that the server needs in a cluster, and which of them it lacks. The chart's roles grant the same; a test compares. */
import type { JsonObject } from "../base/json.ts";
import type { KubeClient } from "./kube_client.ts";

/** What the server does in the cluster. */
export interface ClusterUse {
  runsPods: boolean;
  /** Manifests and Workflow objects are in the cluster. */
  hasManifests: boolean;
  /** Callers prove themselves by tokens of the cluster. */
  reviewsTokens: boolean;
  /** API group of the manifests. */
  group: string;
  /** Where pods run and objects are watched; none: everywhere. */
  namespaces: readonly string[];
}

export interface NeededRight {
  group: string;
  /** With its part: `pods/log`. */
  resource: string;
  verbs: readonly string[];
  /** Needed at the cluster scope, whatever the namespaces are. */
  isClusterWide?: true;
}

/** Reviews that are asked for at a time. */
const AT_ONCE = 8;

/** The rights that a use needs. */
export function neededRights(use: ClusterUse): NeededRight[] {
  const { runsPods, hasManifests, reviewsTokens, group } = use;
  const pods: NeededRight[] = [
    {
      group: "",
      resource: "pods",
      verbs: ["create", "get", "list", "watch", "delete", "patch"],
    },
    { group: "", resource: "persistentvolumeclaims", verbs: ["create", "get", "patch", "delete"] },
    { group: "", resource: "pods/log", verbs: ["get"] },
    { group: "", resource: "events", verbs: ["get", "list", "watch"] },
  ];
  const named: NeededRight[] = [
    { group: "", resource: "configmaps", verbs: ["get"] },
    { group: "", resource: "secrets", verbs: ["get"] },
  ];
  const kept = ["get", "list", "watch", "create", "patch", "delete"];
  const manifests: NeededRight[] = [
    { group, resource: "workflowtemplates", verbs: kept },
    { group, resource: "workfloweventbindings", verbs: kept },
    { group, resource: "subscriptions", verbs: kept },
    { group, resource: "cronworkflows", verbs: kept },
    { group, resource: "workflows", verbs: ["get", "list", "watch", "patch", "delete"] },
    { group, resource: "clusterworkflowtemplates", verbs: kept, isClusterWide: true },
  ];
  const reviews: NeededRight[] = [
    {
      group: "authentication.k8s.io",
      resource: "tokenreviews",
      verbs: ["create"],
      isClusterWide: true,
    },
    {
      group: "authorization.k8s.io",
      resource: "subjectaccessreviews",
      verbs: ["create"],
      isClusterWide: true,
    },
  ];
  return [
    ...(runsPods ? pods : []),
    ...(runsPods || hasManifests ? named : []),
    ...(hasManifests ? manifests : []),
    ...(reviewsTokens ? reviews : []),
  ];
}

/** What the server's account lacks on one resource in one place. */
export interface MissingRight {
  group: string;
  resource: string;
  verbs: readonly string[];
  /** "": in all namespaces, or cluster-wide. */
  namespace: string;
}

/** Rights that the client's account lacks, in the order of need. @throws {KubeError} when the cluster can't be asked */
export async function findMissingRights(
  client: Pick<KubeClient, "call">,
  use: ClusterUse,
): Promise<MissingRight[]> {
  const everywhere = use.namespaces.length === 0 ? [""] : use.namespaces;
  const asked = neededRights(use).flatMap((right) =>
    (right.isClusterWide ? [""] : everywhere).flatMap((namespace) =>
      right.verbs.map((verb) => ({ ...right, verb, namespace }))
    )
  );
  const missing = new Map<string, MissingRight & { verbs: string[] }>();
  for (let at = 0; at < asked.length; at += AT_ONCE) {
    const part = asked.slice(at, at + AT_ONCE);
    const allowed = await Promise.all(part.map((one) => mayDo(client, one)));
    for (const { group, resource, namespace, verb } of part.filter((_, i) => !allowed[i])) {
      const key = [group, resource, namespace].join(" ");
      const found = missing.get(key);
      if (found === undefined) missing.set(key, { group, resource, namespace, verbs: [verb] });
      else found.verbs.push(verb);
    }
  }
  return [...missing.values()];
}

/** The rule that grants it, as a line of YAML for a Role. */
export function ruleOf({ group, resource, verbs }: MissingRight): string {
  const name = group === "" ? '""' : group;
  return `- {apiGroups: [${name}], resources: [${resource}], verbs: [${verbs.join(", ")}]}`;
}

interface Asked extends NeededRight {
  verb: string;
  namespace: string;
}

async function mayDo(client: Pick<KubeClient, "call">, asked: Asked): Promise<boolean> {
  const [resource = "", subresource] = asked.resource.split("/");
  const { group, verb, namespace } = asked;
  const resourceAttributes = { group, resource, subresource, verb, namespace };
  const answer = await client.call<{ status?: { allowed?: boolean } } & JsonObject>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    } as JsonObject,
  });
  return answer.status?.allowed === true;
}
