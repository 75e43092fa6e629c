/** What a container finds in its environment, and `$(NAME)` in its command. */
import { isJsonObject } from "../../base/json.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { argoVariables } from "../argo_variables.ts";
import type { PlannedContainer } from "../container_plan.ts";
import { configFault } from "./start_fault.ts";

/** Longest single variable that Linux hands to a process. */
const MAX_VARIABLE_BYTES = 128 * 1024 - 1;

/** Facts of the machine that variables may ask for. */
export interface HostFacts {
  hostName: string;
  podIp: string;
}

/**
 * Variables of a container: those of the contract (`ARGO_…`), then `envFrom`, then `env`, later ones winning.
 *
 * @throws {StartFault} when a ConfigMap, a Secret or a key in it is missing and not optional.
 */
export async function buildEnvironment(
  task: TaskSpec,
  container: PlannedContainer,
  config: ConfigSource,
  host: HostFacts,
): Promise<Record<string, string>> {
  const env = contractVariables(task, container);
  for (const source of container.spec.envFrom ?? []) {
    const entries = await readEntries(task, container.name, source, config);
    const prefix = typeof source["prefix"] === "string" ? source["prefix"] : "";
    for (const [name, value] of Object.entries(entries)) env[prefix + name] = value;
  }
  for (const item of container.spec.env ?? []) {
    const name = item["name"];
    if (typeof name !== "string" || name === "" || name.includes("=")) continue;
    const { value, valueFrom } = item;
    if (isJsonObject(valueFrom)) {
      const found = await readValue(task, container.name, valueFrom, config, host);
      if (found !== undefined) env[name] = found;
    } else {
      env[name] = expandReferences(textOf(value), env);
    }
  }
  return env;
}

function contractVariables(task: TaskSpec, container: PlannedContainer): Record<string, string> {
  const env = argoVariables(task, container.name);
  const template = JSON.stringify(task.template);
  if (Buffer.byteLength(template) + "ARGO_TEMPLATE=".length < MAX_VARIABLE_BYTES) {
    env["ARGO_TEMPLATE"] = template;
  }
  return env;
}

async function readEntries(
  task: TaskSpec,
  container: string,
  source: JsonObject,
  config: ConfigSource,
): Promise<Record<string, string>> {
  const { configMapRef, secretRef } = source;
  for (const [kind, reference] of [["ConfigMap", configMapRef], ["Secret", secretRef]] as const) {
    if (!isJsonObject(reference)) continue;
    const name = textOf(reference["name"]);
    const entries = await readConfig(config, kind, task.namespace, name);
    if (entries !== undefined) return entries;
    if (reference["optional"] === true) return {};
    throw configFault(container, `${kind} "${name}" does not exist in namespace ${task.namespace}`);
  }
  return {};
}

async function readValue(
  task: TaskSpec,
  container: string,
  from: JsonObject,
  config: ConfigSource,
  host: HostFacts,
): Promise<string | undefined> {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = from;
  for (const [kind, ref] of [["ConfigMap", configMapKeyRef], ["Secret", secretKeyRef]] as const) {
    if (!isJsonObject(ref)) continue;
    const name = textOf(ref["name"]);
    const key = textOf(ref["key"]);
    const value = (await readConfig(config, kind, task.namespace, name))?.[key];
    if (value !== undefined || ref["optional"] === true) return value;
    throw configFault(
      container,
      `${kind} "${name}" in namespace ${task.namespace} has no key "${key}"`,
    );
  }
  if (isJsonObject(fieldRef)) return readField(task, textOf(fieldRef["fieldPath"]), host);
  if (isJsonObject(resourceFieldRef)) {
    const [list = "", resource = ""] = textOf(resourceFieldRef["resource"]).split(".");
    const amounts = task.template.container?.resources?.[list];
    return isJsonObject(amounts) ? textOf(amounts[resource]) : "0";
  }
  return undefined;
}

/** The entries of a ConfigMap or Secret. */
export function readConfig(
  config: ConfigSource,
  kind: "ConfigMap" | "Secret",
  namespace: string,
  name: string,
): Promise<Record<string, string> | undefined> {
  return kind === "ConfigMap" ? config.configMap(namespace, name) : config.secret(namespace, name);
}

function readField(task: TaskSpec, path: string, host: HostFacts): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed !== null) {
    const metadata = task.template.metadata ?? {};
    const key = keyed[2] ?? "";
    return keyed[1] === "labels" ? metadata.labels?.[key] ?? "" : metadata.annotations?.[key] ?? "";
  }
  switch (path) {
    case "metadata.name":
      return task.podName;
    case "metadata.namespace":
      return task.namespace;
    case "metadata.uid":
      return task.id;
    case "spec.nodeName":
      return host.hostName;
    case "spec.serviceAccountName":
      return task.template.serviceAccountName ?? task.podSpec.serviceAccountName ?? "default";
    case "status.podIP":
    case "status.hostIP":
      return host.podIp;
    default:
      return "";
  }
}

/**
 * Replaces `$(NAME)` by the variable; `$$(NAME)` stays as `$(NAME)`, and so does a name that isn't known. Intentionally
 * leaves other `$$` alone (a cluster would halve them): in a shell text it is the process id.
 */
export function expandReferences(text: string, env: Record<string, string>): string {
  return text.replace(/\$\$(?=\()|\$\(([^()\s]+)\)/g, (found, name: string | undefined) => {
    if (name === undefined) return "$";
    return Object.hasOwn(env, name) ? env[name] ?? found : found;
  });
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}
