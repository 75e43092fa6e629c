/**
 * `deno run -A tools/chart_values.ts`: writes into the chart's `values.schema.json` what its value `server` may hold:
 * every setting of the server's configuration table that the chart neither sets itself nor has a separate value for.
 */
import { readFile, writeFile } from "node:fs/promises";
import { CONFIG_TABLE } from "../src/platform/config.ts";

/** The chart's schema. */
export const VALUES_SCHEMA = "helm/sluice/values.schema.json";

/** Settings that follow from the cluster, the release or another value. */
const OF_THE_CHART: Readonly<Partial<Record<keyof typeof CONFIG_TABLE, string>>> = {
  host: "the pod's",
  port: "the pod's",
  processes: "processes",
  processCommand: "the image's",
  jqCommand: "the image's",
  store: "redis",
  executor: "executor",
  allowRemoteProcess: "no steps run in the server's pod",
  containerAllow: "no steps run in the server's pod",
  authMode: "auth.mode",
  tokenFile: "auth.tokensSecret",
  accessFile: "auth.access",
  ssoIssuer: "auth.sso",
  ssoAudience: "auth.sso",
  ssoJwksUrl: "auth.sso",
  ssoClientId: "auth.sso",
  ssoClientSecret: "auth.sso",
  ssoRedirectUrl: "auth.sso",
  ssoScopes: "auth.sso",
  allowedHosts: "auth.allowedHosts",
  allowRemoteWithoutAuth: "auth.allowWithoutAuth",
  logLevel: "logLevel",
  durability: "redis.appendfsync",
  eventOperationQueueSize: "eventOperationQueueSize",
  eventWorkerCount: "eventWorkerCount",
  manifests: "manifestsConfigMap",
  manifestSource: "manifestSource",
  statusWriteRate: "statusWriteRate",
  apiGroup: "apiGroup",
  workDir: "the image's",
  artifacts: "artifactsSecret",
  archiveStore: "archiveSecret",
  instance: "the release's",
  namespace: "workflowNamespaces",
  helperImage: "image",
  callbackUrl: "service",
  publicUrl: "callbacks.publicUrl",
  callbackKeys: "callbacks.keysSecret",
  callbackKeyRotation: "callbacks.keyRotation",
  workflowServiceAccount: "workflowServiceAccount",
  drainTimeout: "terminationGracePeriodSeconds",
};

type Row = typeof CONFIG_TABLE[keyof typeof CONFIG_TABLE];

/** Settings that the value `server` accepts, by name. */
export function serverSettings(): [name: string, row: Row][] {
  return Object.entries(CONFIG_TABLE).filter(([name]) => !(name in OF_THE_CHART));
}

/** The schema of the value `server`. */
export function serverSchema(): unknown {
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      serverSettings().map(([name, row]) => [name, { description: row.doc, ...schemaOf(row) }]),
    ),
  };
}

function schemaOf(row: Row): object {
  switch (row.type) {
    case "integer":
      return { type: "integer", minimum: row.min, maximum: row.max };
    case "duration":
      return { type: "string", pattern: "^[0-9]+(ms|s|m|h|d)$" };
    case "switch":
      return { type: "boolean" };
    case "choice":
      return { enum: row.choices };
    case "choices":
      return { type: "string" };
    case "text":
      return { type: "string", ...("pattern" in row && { pattern: row.pattern.source }) };
  }
}

if (import.meta.main) {
  const schema = JSON.parse(await readFile(VALUES_SCHEMA, "utf8"));
  schema.properties.server = serverSchema();
  await writeFile(VALUES_SCHEMA, `${JSON.stringify(schema, null, 2)}\n`);
}
