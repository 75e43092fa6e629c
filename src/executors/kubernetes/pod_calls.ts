/** The calls on one pod that the executor makes. */
import type { JsonObject } from "../../base/json.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import type { Pod } from "./outcome.ts";
import { podsPath } from "./pod_watch.ts";
import { ENDED_ANNOTATION } from "./pod_marks.ts";
import type { PodPlace } from "./pod_watch.ts";

/**
 * Creates a pod; undefined when one with its name is there.
 *
 * @throws {KubeError}
 * @throws {Error} when it is too large for the cluster
 */
export async function createPod(client: KubeClient, pod: JsonObject): Promise<Pod | undefined> {
  const { namespace, name } = pod["metadata"] as { namespace: string; name: string };
  try {
    return await client.call<Pod>({ method: "POST", path: podsPath(namespace), body: pod });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.reason === "AlreadyExists") return undefined;
    if (!error.isTooLarge) throw error;
    throw new Error(`Pod ${name} is too large for the cluster: ${error.message}`, { cause: error });
  }
}

/** @throws {KubeError} */
export async function getPod(
  client: KubeClient,
  namespace: string,
  name: string,
): Promise<Pod | undefined> {
  try {
    return await client.call<Pod>({ path: `${podsPath(namespace)}/${name}` });
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined;
    throw error;
  }
}

/** Deletes this very pod, unless it is gone. @throws {KubeError} */
export async function deletePod(
  client: KubeClient,
  { namespace, name, uid }: PodPlace,
  graceMs?: number,
): Promise<void> {
  try {
    await client.call({
      method: "DELETE",
      path: `${podsPath(namespace)}/${name}`,
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid },
        ...(graceMs !== undefined && { gracePeriodSeconds: Math.ceil(graceMs / 1000) }),
      },
    });
  } catch (error) {
    // Gone, or another pod has its name.
    if (!(error instanceof KubeError && (error.status === 404 || error.status === 409))) {
      throw error;
    }
  }
}

/**
 * Lets the cluster end the containers of a pod that still run, with their grace. The pod stays, with their logs and exit
 * codes. @throws {KubeError}
 */
export async function endContainers(
  client: KubeClient,
  { namespace, name, uid }: PodPlace,
): Promise<void> {
  const body = {
    // Another pod with its name is refused.
    metadata: { uid, annotations: { [ENDED_ANNOTATION]: "true" } },
    // A deadline is the only thing that a pod can be ended by without being deleted, and it can be brought forward.
    spec: { activeDeadlineSeconds: 1 },
  };
  try {
    await client.call({ method: "PATCH", path: `${podsPath(namespace)}/${name}`, body });
  } catch (error) {
    if (!(error instanceof KubeError && (error.status === 404 || error.status === 409))) {
      throw error;
    }
  }
}

/** Says on the pod that its outcome was taken. */
export async function markCompleted(
  client: KubeClient,
  namespace: string,
  name: string,
  labelPrefix: string,
): Promise<void> {
  const body = { metadata: { labels: { [`${labelPrefix}completed`]: "true" } } };
  await client.call({ method: "PATCH", path: `${podsPath(namespace)}/${name}`, body });
}
