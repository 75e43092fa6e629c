/** Pure: a container of a template as arguments of `docker create`, which podman and nerdctl share. */
import { isJsonObject } from "../base/json.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { expandReferences } from "./environment.ts";
import type { ContainerLaunch } from "./machine.ts";
import type { Mount } from "./path_map.ts";
import { parseQuantity } from "./resources_duration.ts";

/** Where a script's source is in its container. */
export const SCRIPT_PATH = "/argo/staging/script";

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
  /** More arguments before the image. */
  more: readonly string[];
}

/** Arguments of `create`. Values of variables are not among them: they go by the program's environment. */
export function createArguments(launch: ContainerLaunch, options: CreateOptions): string[] {
  const { task, container, env } = launch;
  const { spec } = container;
  const args = ["create", "--name", options.name];
  for (const [key, value] of Object.entries(options.labels)) {
    args.push("--label", `${key}=${value}`);
  }
  for (const name of Object.keys(env)) args.push("--env", name);
  for (const { at, host, readOnly } of options.mounts) {
    args.push(
      "--mount",
      `type=bind,source=${host},target=${at}${readOnly === true ? ",readonly" : ""}`,
    );
  }
  if ((spec.workingDir ?? "") !== "") args.push("--workdir", spec.workingDir ?? "");
  args.push(...networkArguments(launch, options), ...limitArguments(spec.resources));
  args.push(...securityArguments(launch, options.program));
  const pull = PULL[String(spec["imagePullPolicy"] ?? "")];
  if (pull !== undefined) args.push("--pull", pull);
  for (const alias of task.template.hostAliases ?? task.podSpec.hostAliases ?? []) {
    for (const host of Array.isArray(alias["hostnames"]) ? alias["hostnames"] : []) {
      args.push("--add-host", `${String(host)}:${String(alias["ip"])}`);
    }
  }
  const expand = (part: string) => expandReferences(String(part), env);
  const [entrypoint, ...rest] = (spec.command ?? []).map(expand);
  if (entrypoint !== undefined) args.push("--entrypoint", entrypoint);
  args.push(...options.more, spec.image ?? "", ...rest, ...(spec.args ?? []).map(expand));
  if (container.source !== undefined) args.push(SCRIPT_PATH);
  return args;
}

const PULL: Record<string, string> = { Always: "always", IfNotPresent: "missing", Never: "never" };

function networkArguments(
  { task }: ContainerLaunch,
  { networkOf, network }: CreateOptions,
): string[] {
  if (networkOf !== undefined) return ["--network", `container:${networkOf}`];
  if (task.podSpec.hostNetwork === true) return ["--network", "host"];
  // Host names have at most 63 characters.
  const args = ["--hostname", task.podName.slice(0, 63).replace(/[-.]+$/, "")];
  return network === undefined ? args : ["--network", network, ...args];
}

function limitArguments(resources: JsonObject | undefined): string[] {
  const limits = resources?.["limits"];
  if (!isJsonObject(limits)) return [];
  const args: string[] = [];
  const cpus = parseQuantity(limits["cpu"]);
  if (cpus !== undefined && cpus > 0) args.push("--cpus", String(cpus));
  const bytes = parseQuantity(limits["memory"]);
  if (bytes !== undefined && bytes > 0) args.push("--memory", `${Math.ceil(bytes)}b`);
  return args;
}

function securityArguments({ task, container }: ContainerLaunch, program: string): string[] {
  const own = container.spec["securityContext"];
  const context: JsonObject = {
    ...task.podSpec.securityContext,
    ...task.template.securityContext,
    ...(isJsonObject(own) ? own : {}),
  };
  const args: string[] = [];
  const { runAsUser, runAsGroup, capabilities } = context;
  if (typeof runAsUser === "number") {
    args.push(
      "--user",
      typeof runAsGroup === "number" ? `${runAsUser}:${runAsGroup}` : `${runAsUser}`,
    );
  }
  if (context["privileged"] === true) args.push("--privileged");
  if (context["readOnlyRootFilesystem"] === true) args.push("--read-only");
  if (context["allowPrivilegeEscalation"] === false) {
    args.push("--security-opt", "no-new-privileges");
  }
  // Lets a confined container use the mounted folders; podman alone is confined by default.
  if (program === "podman") args.push("--security-opt", "label=disable");
  if (isJsonObject(capabilities)) {
    for (const name of textList(capabilities["add"])) args.push("--cap-add", name);
    for (const name of textList(capabilities["drop"])) args.push("--cap-drop", name);
  }
  return args;
}

function textList(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
