/**
 * Pure: what a template may ask of the machine that runs its container. What reaches past the container's own walls is
 * refused unless the server's owner named it.
 */
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { planContainers } from "../container_plan.ts";
import type { PlannedContainer } from "../container_plan.ts";

/** What templates may use of the machine, as `--container-allow` names it. */
export interface ContainerAllow {
  /** Absolute folders and files of the machine. */
  hostPaths: ReadonlySet<string>;
  /** `privileged`, `hostNetwork`, `hostPID`, `hostIPC`, `subPath`. */
  features: ReadonlySet<string>;
  /** Capabilities besides those that every container has. */
  capabilities: ReadonlySet<string>;
}

/** Reads `hostPath=/data,privileged,capability=NET_ADMIN …`. The settings' table has checked its form. */
export function parseContainerAllow(text: string): ContainerAllow {
  const items = text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  const valuesOf = (name: string) =>
    items.filter((item) => item.startsWith(`${name}=`)).map((item) => item.slice(name.length + 1));
  return {
    hostPaths: new Set(valuesOf("hostPath").map(withoutEndSlash)),
    features: new Set(items.filter((item) => !item.includes("="))),
    capabilities: new Set(valuesOf("capability").map(capabilityName)),
  };
}

/**
 * Capabilities that images of all kinds rely on when they run as root; they reach nothing outside of the container. Of what
 * the programs grant by default, those are missing that make device nodes, forge packets and write the machine's audit log.
 */
const HARMLESS = new Set([
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

/** Granted by default by one of the programs, and taken away here. */
export const DROPPED: readonly string[] = ["AUDIT_WRITE", "MKNOD", "NET_RAW"];

/** `NET_ADMIN` of `cap_net_admin`. */
export function capabilityName(name: string): string {
  return name.trim().toUpperCase().replace(/^CAP_/, "");
}

/** Settings for the security of a container: the pod's, the template's, its own, each over the one before. */
export function securityContext(
  { podSpec, template }: TaskSpec,
  own: Json | undefined,
): JsonObject {
  return {
    ...podSpec.securityContext,
    ...template.securityContext,
    ...(isJsonObject(own) ? own : {}),
  };
}

/** Why a task may not run in a container here; undefined when it may. */
export function containerRefusal(task: TaskSpec, allow: ContainerAllow): string | undefined {
  const podSpec: JsonObject = task.podSpec as JsonObject;
  for (const feature of ["hostNetwork", "hostPID", "hostIPC"]) {
    if (podSpec[feature] === true && !allow.features.has(feature)) {
      return notAllowed(`${feature} reaches the machine itself`, feature);
    }
  }
  const containers = planContainers(task.template);
  for (const container of containers) {
    const refusal = imageFault(container) ?? contextFault(task, container, allow) ??
      mountFault(task, container, containers, allow);
    if (refusal !== undefined) return `${container.name}: ${refusal}`;
  }
  return undefined;
}

/** Kinds of places that podman takes images from; what is before a colon is looked up among them. */
const TRANSPORTS = new Set([
  "containers-storage",
  "dir",
  "docker",
  "docker-archive",
  "docker-daemon",
  "oci",
  "oci-archive",
  "ostree",
  "sif",
  "tarball",
]);

/** `[registry[:port]/]path[:tag][@digest]`, loosely: nothing that is an option, a path of the machine, or two words. */
const IMAGE =
  /^[A-Za-z0-9][A-Za-z0-9._:-]*(\/[A-Za-z0-9][A-Za-z0-9._:-]*)*(@[A-Za-z0-9+._-]+:[A-Fa-f0-9]+)?$/;

function imageFault({ spec }: PlannedContainer): string | undefined {
  const image = spec.image ?? "";
  // None at all is told when it is started.
  if (image === "" || (IMAGE.test(image) && !TRANSPORTS.has(image.split(":")[0] ?? ""))) {
    return undefined;
  }
  return `image ${JSON.stringify(image)} is not the name of an image in a registry`;
}

function contextFault(
  task: TaskSpec,
  { spec }: PlannedContainer,
  allow: ContainerAllow,
): string | undefined {
  const context = securityContext(task, spec["securityContext"]);
  if (context["privileged"] === true && !allow.features.has("privileged")) {
    return notAllowed("a privileged container has the rights of the machine's root", "privileged");
  }
  const wanted = isJsonObject(context["capabilities"]) ? context["capabilities"]["add"] : undefined;
  for (const item of Array.isArray(wanted) ? wanted : []) {
    const name = capabilityName(String(item));
    if (HARMLESS.has(name) || allow.capabilities.has(name)) continue;
    return notAllowed(`capability ${name} may reach the machine`, `capability=${name}`);
  }
  return undefined;
}

function mountFault(
  task: TaskSpec,
  { spec }: PlannedContainer,
  containers: readonly PlannedContainer[],
  allow: ContainerAllow,
): string | undefined {
  const volumes = [...task.template.volumes ?? [], ...task.podSpec.volumes ?? []];
  for (const mount of spec.volumeMounts ?? []) {
    const name = String(mount["name"] ?? "");
    const volume = volumes.find((one) => one["name"] === name);
    const hostPath = isJsonObject(volume?.["hostPath"])
      ? String(volume["hostPath"]["path"] ?? "")
      : undefined;
    if (hostPath !== undefined && !allow.hostPaths.has(withoutEndSlash(hostPath))) {
      return notAllowed(
        `volume "${name}" is ${hostPath} of the machine itself`,
        `hostPath=${hostPath}`,
      );
    }
    const subPath = mount["subPath"];
    if (typeof subPath !== "string" || subPath === "" || allow.features.has("subPath")) continue;
    const isOwn = volume !== undefined && hostPath === undefined &&
      volume["persistentVolumeClaim"] === undefined;
    const isAlone = containers.every((other) =>
      other.spec === spec || !(other.spec.volumeMounts ?? []).some((one) => one["name"] === name)
    );
    if (isOwn && isAlone) continue;
    return notAllowed(
      `volume "${name}" is mounted by a subPath, and others may write to it meanwhile: one that puts a link there would lead the mount out of it`,
      "subPath",
    );
  }
  return undefined;
}

function notAllowed(what: string, item: string): string {
  return `${what}; the container executor refuses that unless the server runs with --container-allow ${item}`;
}

function withoutEndSlash(path: string): string {
  return path.replace(/(.)\/+$/, "$1");
}
