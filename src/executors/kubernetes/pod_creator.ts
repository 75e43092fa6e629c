/** Creates the pod of a task, or finds the one that exists. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errorText } from "../../base/error_text.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ArtifactStore } from "../../artifacts/port.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import type { Clock } from "../../platform/clock.ts";
import { isPassing } from "../passing_trouble.ts";
import { artifactScope } from "../artifact_scope.ts";
import { ImageConfigs } from "./image_config.ts";
import { KubernetesClaims } from "./claims.ts";
import { CALLBACK_ANNOTATION, INSTANCE_LABEL, TASK_ANNOTATION } from "./pod_marks.ts";
import { hasForeignDns, withHost } from "./pod_settings.ts";
import type { PodOptions } from "./pod_parts.ts";
import { podFor } from "./pod.ts";
import type { Pod } from "./outcome.ts";
import { createPod, deletePod, getPod } from "./pod_calls.ts";
import type { PodMetrics } from "./pod_metrics.ts";
import { commandsOf } from "./pod_commands.ts";
import { memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";

/** How long a registry may be unable to answer before the task fails, ms. */
const REGISTRY_PATIENCE_MS = 60_000;

export interface PodCreatorDeps extends Omit<PodOptions, "now" | "commands"> {
  client: KubeClient;
  clock: Clock;
  memory: TaskMemory;
  metrics: PodMetrics;
  /** Checks the artifacts of tasks. Absent: nothing is checked. */
  artifacts?: ArtifactStore;
  /** The address of a host as this server knows it. @default {by the system's DNS} */
  findAddress?: (hostname: string) => Promise<string>;
}

export class PodCreator {
  readonly #deps: PodCreatorDeps;
  readonly #claims: KubernetesClaims;
  readonly #images: ImageConfigs;

  constructor(deps: PodCreatorDeps, claims: KubernetesClaims) {
    this.#deps = deps;
    this.#claims = claims;
    this.#images = new ImageConfigs(deps.clock);
  }

  /**
   * Creates the pod of a task, unless it exists. Undefined when the task had a pod, which is gone.
   *
   * @param since when the task was started, by the monotonic clock
   * @throws {KubeError} the cluster refuses the pod, perhaps only for now
   * @throws {Error} the template can't be a pod, or the pod is somebody else's
   */
  async ensure(task: TaskSpec, since: number): Promise<Pod | undefined> {
    const { client, memory, clock, metrics } = this.#deps;
    const { namespace, podName } = task;
    const wasCreated = await memory.getBlob(memoryKey(task.id, "created")) !== undefined;
    if (wasCreated) return this.#adopt(task, await getPod(client, namespace, podName));
    await this.#checkArtifacts(task);
    await this.#claims.ensure(task);
    for (;;) {
      const made = await createPod(client, await this.#manifest(task, since));
      if (made !== undefined) {
        metrics.create.observe((clock.monotonic() - since) / 1000);
        return made;
      }
      const found = await getPod(client, namespace, podName);
      if (found === undefined) continue;
      if (found.metadata.annotations?.[TASK_ANNOTATION] === task.id) {
        return this.#adopt(task, found);
      }
      await this.#clearWay(task, found);
    }
  }

  /**
   * Removes a pod that has the name of the task's pod: that of an earlier start of this node, which a retry replaces, or
   * one that a workflow of this name has left.
   *
   * @throws {KubeError} while it goes
   * @throws {Error} when it is somebody else's
   */
  async #clearWay(task: TaskSpec, { metadata, status }: Pod): Promise<void> {
    const { client, instance, labelPrefix } = this.#deps;
    const { namespace, name, uid, labels = {}, annotations = {} } = metadata;
    const isOurs = labels[INSTANCE_LABEL] === instance &&
      annotations[TASK_ANNOTATION] !== undefined;
    const isLeft = labels[`${labelPrefix}workflow`] === task.workflow &&
      (status?.phase === "Succeeded" || status?.phase === "Failed");
    if (isOurs || isLeft) await deletePod(client, { namespace, name, uid }, 0);
    else if (metadata.deletionTimestamp === undefined) {
      throw new Error(
        `Pod ${name} is there already and not this workflow's: delete it, or name the workflow otherwise`,
      );
    }
    const left = await getPod(client, namespace, name);
    if (left?.metadata.uid !== uid) return;
    throw new KubeError(409, "Conflict", `Pod ${name} that was there before is being deleted`);
  }

  /** @throws {Problem} for an artifact that this workflow may not have */
  async #checkArtifacts(task: TaskSpec): Promise<void> {
    const { inputs, outputs } = task.template;
    for (const artifact of [...inputs?.artifacts ?? [], ...outputs?.artifacts ?? []]) {
      await this.#deps.artifacts?.check(artifact, artifactScope(task));
    }
  }

  /** The pod that was found, if it is the task's. @throws {Error} when another deployment watches it */
  #adopt(task: TaskSpec, pod: Pod | undefined): Pod | undefined {
    if (pod?.metadata.annotations?.[TASK_ANNOTATION] !== task.id) return undefined;
    const { instance, metrics } = this.#deps;
    const owner = pod.metadata.labels?.[INSTANCE_LABEL] ?? "";
    if (owner !== instance) {
      throw new Error(
        `Pod ${task.podName} of this task belongs to deployment "${owner}": this server is "${instance}" (--instance)`,
      );
    }
    metrics.adopted.inc();
    return pod;
  }

  async #manifest(task: TaskSpec, since: number): Promise<JsonObject> {
    const { client, clock, labelPrefix } = this.#deps;
    try {
      const commands = await commandsOf(client, this.#images, task, labelPrefix);
      return await this.#reaching(podFor(task, { ...this.#deps, now: clock.now(), commands }));
    } catch (error) {
      // A registry that the server can't reach at all would be waited for without end.
      const isOver = isPassing(error) && clock.monotonic() - since > REGISTRY_PATIENCE_MS;
      throw isOver ? new Error(errorText(error)) : error;
    }
  }

  /** The pod, told where this server is if it calls back and has no way to find out. */
  async #reaching(pod: JsonObject): Promise<JsonObject> {
    const { callbackUrl, findAddress = addressOf } = this.#deps;
    const { annotations } = pod["metadata"] as { annotations: JsonObject };
    const { hostname } = new URL(callbackUrl);
    if (annotations[CALLBACK_ANNOTATION] === undefined || !hasForeignDns(pod)) return pod;
    // An address as it is, in brackets if it has colons.
    if (isIP(hostname) !== 0 || hostname.startsWith("[")) return pod;
    const ip = await findAddress(hostname).catch(() => undefined);
    // Perhaps the pod knows better.
    return ip === undefined ? pod : withHost(pod, hostname, ip);
  }
}

async function addressOf(hostname: string): Promise<string> {
  return (await lookup(hostname)).address;
}
