/** The settings of the controller, and what stands for them here. They are told, not imported: a server has flags. */
import { parse } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";

export interface Setting {
  name: string;
  advice: string;
}

const TEMPLATES = "there is no such setting: write it into the templates";

/** What to do about each setting. */
const ADVICE: Readonly<Record<string, string>> = {
  archiveTTL: "--archive-retention",
  artifactDrivers: "there are no drivers: --artifacts s3://…, or a repository of a known kind",
  artifactRepository: "--artifacts s3://…, or the ConfigMap artifact-repositories of a namespace",
  columns: "the pages have columns of their own",
  executor: "there is no executor container to set up",
  failedPodRestart: "there is no such setting: a retryStrategy runs a step again",
  images: "there is no such setting: write `command` into the templates",
  initialDelay: "workflows begin at once",
  instanceID: "not needed for the workflows of this server; --instance marks its pods",
  kubeConfig: "the server uses its pod's account, or KUBECONFIG",
  links: "the pages have no links of your own",
  mainContainer: TEMPLATES,
  metricsConfig: "/metrics is always there",
  namespace: "--namespace",
  namespaceParallelism: "there is no such bound: use a semaphore, or spec.parallelism",
  navColor: "the pages have colours of their own",
  nodeEvents: "/api/v1/stream/events shows them",
  parallelism: "there is no such bound: use a semaphore, or spec.parallelism",
  persistence:
    "--archive-store goes on with its PostgreSQL, or --archive here imports what it holds; its archiveTTL is a rule of --archive-retention",
  podGCDeleteDelayDuration: "there is no such setting; podGC of the templates counts",
  podGCGracePeriodSeconds: "there is no such setting; podGC of the templates counts",
  podSpecLogStrategy: "not there",
  resourceRateLimit: "--task-starts",
  retentionPolicy: "ttlStrategy in the templates, --archive-retention",
  semaphoreLimitCacheSeconds: "changes of sizes are seen within seconds",
  sso: "--auth-mode sso and --sso-…; --access-file has the rules of service accounts",
  synchronization: "--sync-api; limits are set by `sluice sync`",
  workflowDefaults: TEMPLATES,
  workflowEvents: "/api/v1/stream/events shows them",
  workflowRestrictions: "there is no such setting: give users rights to templates only",
};

/** The settings in a `workflow-controller-configmap`, sorted by name. */
export function controllerSettings(configMap: JsonObject): Setting[] {
  const data = isJsonObject(configMap["data"]) ? configMap["data"] : {};
  const { config, ...own } = data;
  const inText = membersOf(config);
  const members = { ...(inText ?? { config: "" }), ...own };
  return Object.keys(members).sort().map((name) => ({
    name,
    advice: name === "config" && inText === undefined
      ? "holds no settings that can be read: it is not YAML"
      : Object.hasOwn(ADVICE, name)
      ? ADVICE[name] ?? ""
      : "is not known here",
  }));
}

/** The older form: all settings as one text; undefined when it cannot be read. */
function membersOf(text: Json | undefined): JsonObject | undefined {
  if (typeof text !== "string") return {};
  try {
    const value: unknown = parse(text);
    return isJsonObject(value) ? value : value === null ? {} : undefined;
  } catch {
    return undefined;
  }
}
