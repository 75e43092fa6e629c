/** Pure: a container of a template as arguments of `docker create`, which podman and nerdctl share. */
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { expandReferences } from "./environment.ts";
import type { ContainerLaunch } from "./runtime.ts";
import { capabilityName, DROPPED, securityContext } from "./container_rules.ts";
import type { Mount } from "./path_map.ts";
import { parseQuantity } from "../resources_duration.ts";
import { configFault, refuseNul } from "./start_fault.ts";

/** Where a script's source is in its container. */
export const SCRIPT_PATH = "/argo/staging/script";

/** Processes and threads that a container may have; podman's own default. */
const MAX_PIDS = 2_048;

export interface CreateOptions {
  name: string;
  labels: Record<string, string>;
  mounts: readonly Mount[];
  /** `podman`, `docker` or `nerdctl`. */
  program: string;
  /** Another container whose network it shares. */
  networkOf?: string;
  /** Network of containers that share none. */
  network?: string;
  /** File with the variables that it can hold. */
  envFile: string;
}

/**
 * Arguments of `create`. Each text of a manifest is the value of one option (`--name=text`) or comes after the image, so
 * that none is ever read as an option.
 *
 * @throws {StartFault} for a text that can't be handed on.
 */
export function createArguments(launch: ContainerLaunch, options: CreateOptions): string[] {
  const { task, container, env } = launch;
  const { spec } = container;
  const args = ["create", `--name=${options.name}`];
  for (const [key, value] of Object.entries(options.labels)) args.push(`--label=${key}=${value}`);
  args.push(...splitVariables(container.name, env).args, `--env-file=${options.envFile}`);
  for (const { at, host, readOnly } of options.mounts) {
    for (const path of [at, host]) {
      // The programs read a list of values here.
      if (!/[,"]/.test(path)) continue;
      throw configFault(container.name, `path ${path} of a mount has a comma or a quotation mark`);
    }
    const flags = readOnly === true ? ",readonly" : "";
    args.push(`--mount=type=bind,source=${host},target=${at}${flags}`);
  }
  if ((spec.workingDir ?? "") !== "") args.push(`--workdir=${spec.workingDir ?? ""}`);
  args.push(...networkArguments(launch, options), ...limitArguments(spec.resources));
  args.push(...securityArguments(launch, options.program));
  const pull = PULL.get(String(spec["imagePullPolicy"] ?? ""));
  if (pull !== undefined) args.push(`--pull=${pull}`);
  for (const alias of [...task.podSpec.hostAliases ?? [], ...task.template.hostAliases ?? []]) {
    for (const host of Array.isArray(alias["hostnames"]) ? alias["hostnames"] : []) {
      args.push(`--add-host=${String(host)}:${String(alias["ip"])}`);
    }
  }
  const expand = (part: string) => expandReferences(String(part), env);
  const [entrypoint, ...rest] = (spec.command ?? []).map(expand);
  if (entrypoint !== undefined) args.push(`--entrypoint=${entrypoint}`);
  args.push("--", spec.image ?? "", ...rest, ...(spec.args ?? []).map(expand));
  if (container.source !== undefined) args.push(SCRIPT_PATH);
  refuseNul(container.name, args, env);
  return args;
}

/** Longest line of a file of variables that all programs take. */
const MAX_LINE_BYTES = 32 * 1024;

/**
 * Variables as lines of a file, and those that no line can hold (with a line break, blanks or quotation marks at an end, or
 * very long) as arguments. They never become variables of the program that makes the container: `PATH` or `LD_PRELOAD`
 * would decide what runs on the machine.
 *
 * @throws {StartFault} for a name that no variable can have.
 */
export function splitVariables(
  container: string,
  env: Record<string, string>,
): { file: string; args: string[] } {
  const lines: string[] = [];
  const args: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^\s=#*"'\0-][^\s=*\0]*$/.test(name)) {
      throw configFault(container, `${JSON.stringify(name)} can't be the name of a variable`);
    }
    const line = `${name}=${value}`;
    const isLine = !/[\r\n\v\f\u0085\u2028\u2029]|^["'\s]|["'\s]$/.test(value) &&
      Buffer.byteLength(line) < MAX_LINE_BYTES;
    if (isLine) lines.push(`${line}\n`);
    else args.push(`--env=${line}`);
  }
  return { file: lines.join(""), args };
}

const PULL = new Map([["Always", "always"], ["IfNotPresent", "missing"], ["Never", "never"]]);

function networkArguments(
  { task }: ContainerLaunch,
  { networkOf, network }: CreateOptions,
): string[] {
  if (networkOf !== undefined) return [`--network=container:${networkOf}`];
  if (task.podSpec.hostNetwork === true) return ["--network=host"];
  // Host names have at most 63 characters.
  const args = [`--hostname=${task.podName.slice(0, 63).replace(/[-.]+$/, "")}`];
  return network === undefined ? args : [`--network=${network}`, ...args];
}

function limitArguments(resources: JsonObject | undefined): string[] {
  const limits = resources?.["limits"];
  if (!isJsonObject(limits)) return [];
  const args: string[] = [];
  const cpus = parseQuantity(limits["cpu"]);
  if (cpus !== undefined && cpus > 0) args.push(`--cpus=${cpus}`);
  const bytes = parseQuantity(limits["memory"]);
  if (bytes !== undefined && bytes > 0) args.push(`--memory=${Math.ceil(bytes)}b`);
  return args;
}

/** What was refused does not come here (`container_rules.ts`). */
function securityArguments({ task, container }: ContainerLaunch, program: string): string[] {
  const context = securityContext(task, container.spec["securityContext"]);
  const args: string[] = [];
  const { runAsUser, runAsGroup, capabilities } = context;
  if (typeof runAsUser === "number") {
    const group = typeof runAsGroup === "number" ? `:${runAsGroup}` : "";
    args.push(`--user=${runAsUser}${group}`);
  }
  if (context["readOnlyRootFilesystem"] === true) {
    args.push("--read-only");
    // Else it leaves /tmp, /var/tmp and /run writable, which the others and a cluster do not.
    if (program === "podman") args.push("--read-only-tmpfs=false");
  }
  const { hostPID, hostIPC }: JsonObject = task.podSpec as JsonObject;
  if (hostPID === true) args.push("--pid=host");
  if (hostIPC === true) args.push("--ipc=host");
  // Lets a confined container use the mounted folders; podman alone is confined by default.
  if (program === "podman") args.push("--security-opt=label=disable");
  // Else the server's proxies, and passwords in them, are given to every container.
  if (program === "podman") args.push("--http-proxy=false");
  if (context["privileged"] === true) return [...args, "--privileged"];
  if (context["allowPrivilegeEscalation"] !== true) args.push("--security-opt=no-new-privileges");
  // The others have none of their own.
  if (program !== "podman") args.push(`--pids-limit=${MAX_PIDS}`);
  const listed = (name: string) =>
    isJsonObject(capabilities) ? textList(capabilities[name]).map(capabilityName) : [];
  const added = listed("add");
  const dropped = new Set([...DROPPED.filter((name) => !added.includes(name)), ...listed("drop")]);
  for (const name of added) args.push(`--cap-add=${name}`);
  for (const name of dropped) args.push(`--cap-drop=${name}`);
  return args;
}

function textList(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
