/** What a caller may do, for user interfaces: they show only what would not be refused. */
import { type Access, type Caller, type Verb, VERBS } from "../auth/port.ts";
import { defined } from "../base/defined.ts";
import type { JsonObject } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { MANIFEST_RESOURCES, SYSTEM, WORKFLOW } from "./kinds.ts";

/** Resources that can be asked about, each with its API group; undefined: the workflow group. */
const RESOURCES: ReadonlyMap<string, string | undefined> = new Map([
  ...[
    WORKFLOW,
    MANIFEST_RESOURCES.WorkflowTemplate,
    MANIFEST_RESOURCES.ClusterWorkflowTemplate,
    MANIFEST_RESOURCES.CronWorkflow,
    MANIFEST_RESOURCES.WorkflowEventBinding,
    MANIFEST_RESOURCES.Subscription,
    MANIFEST_RESOURCES.ConfigMap,
    MANIFEST_RESOURCES.Event,
    SYSTEM,
  ].map(({ resource, group }) => [resource, group] as const),
  ["pods/log", ""],
]);
const CLUSTER_WIDE: ReadonlySet<string> = new Set([
  MANIFEST_RESOURCES.ClusterWorkflowTemplate.resource,
  SYSTEM.resource,
]);

/** More namespaces are not named. */
const MOST_NAMESPACES = 100;

export interface RightsRequest {
  /** "" for all namespaces. */
  namespace: string;
  /** Empty: all. */
  resources: readonly string[];
  /** Of one object; "" for lists, creations and every object. */
  name: string;
}

/**
 * The verbs that the caller may use on each resource. Asks at most one question for each of the seven verbs and ten
 * resources, those of one resource at a time. About all namespaces it also says what the caller may do in at least one
 * (`somewhere`), where that is known.
 *
 * @throws {Problem} InvalidArgument for a resource that is not known
 */
export async function getAccess(
  caller: Caller,
  { namespace, resources, name }: RightsRequest,
): Promise<JsonObject> {
  const stranger = resources.find((resource) => !RESOURCES.has(resource));
  if (stranger !== undefined) {
    const known = [...RESOURCES.keys()].join(", ");
    throw invalid(`resource ${JSON.stringify(stranger)} is unknown; known are ${known}`);
  }
  const asked = new Set(resources.length === 0 ? RESOURCES.keys() : resources);
  const granted: Record<string, Verb[]> = {};
  const somewhere: Record<string, Verb[]> = {};
  for (const resource of asked) {
    const isClusterWide = CLUSTER_WIDE.has(resource);
    const about = { resource, ...defined({ group: RESOURCES.get(resource) }) };
    const verbs = await grantedVerbs(
      caller,
      { ...about, namespace: isClusterWide ? "" : namespace },
      name,
    );
    granted[resource] = verbs;
    somewhere[resource] = isClusterWide
      ? verbs
      : VERBS.filter((verb) => (caller.namespaces?.({ ...about, verb }).length ?? 0) > 0);
  }
  const named = caller.namespaces?.();
  return {
    namespace,
    ...(name !== "" && { name }),
    resources: granted,
    ...(named !== undefined && { namespaces: named.slice(0, MOST_NAMESPACES) }),
    ...(named !== undefined && namespace === "" && name === "" && { somewhere }),
  };
}

/** Verbs for which routes ask without a name. */
const NAMELESS: ReadonlySet<Verb> = new Set(["list", "watch", "create"]);

async function grantedVerbs(
  caller: Caller,
  about: Omit<Access, "verb" | "name">,
  name: string,
): Promise<Verb[]> {
  const answers = await Promise.all(VERBS.map((verb) => {
    const isNamed = name !== "" && !NAMELESS.has(verb);
    return caller.may({ ...about, verb, ...(isNamed && { name }) });
  }));
  return VERBS.filter((_, index) => answers[index]);
}
