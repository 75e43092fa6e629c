/** Deleting the cluster's object of a workflow, from any replica. */
import { problemFrom } from "../kubernetes/cluster_manifests.ts";
import { objectPath } from "../kubernetes/cluster_object.ts";
import { type KubeClient, KubeError } from "../kubernetes/kube_client.ts";

/** Deletes objects of workflows, for callers of the API. */
export interface ObjectRemover {
  /**
   * Deletes the object that a workflow was made from; no effect when it is gone, or another has its name.
   * @throws {Problem} Unavailable, PermissionDenied
   */
  remove(namespace: string, name: string, uid: string): Promise<void>;
}

/** Makes what deletes objects. */
export function createObjectRemover(client: KubeClient, group: string): ObjectRemover {
  return {
    async remove(namespace, name, uid) {
      try {
        await client.call({
          method: "DELETE",
          path: objectPath(group, "Workflow", namespace, name),
          body: { preconditions: { uid } },
        });
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        // Conflict: another object has the name now.
        if (error.status !== 404 && error.status !== 409) throw problemFrom(error);
      }
    },
  };
}
