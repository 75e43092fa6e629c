/** Calls of the API server about Workflow objects. */
import type { JsonObject } from "../../base/json.ts";
import { problemFrom } from "../../kubernetes/cluster_manifests.ts";
import { asObject, type ClusterObject, objectPath } from "../../kubernetes/cluster_object.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";

/** Deletes Workflow objects, for callers of the API. */
export interface ObjectRemover {
  /**
   * Deletes the object that a workflow was made from. Has no effect when it is gone, or another one has its name.
   * @throws {Problem} Unavailable, PermissionDenied
   */
  remove(namespace: string, name: string, uid: string): Promise<void>;
}

/** The object after a patch, or the one that the patch does not fit (undefined when it is gone). */
export type Patched =
  | { isDone: true; object: ClusterObject }
  | { isDone: false; object: ClusterObject | undefined };

interface Place {
  namespace: string;
  name: string;
}

export class ObjectCalls implements ObjectRemover {
  readonly #client: KubeClient;
  readonly #group: string;

  constructor(client: KubeClient, group: string) {
    this.#client = client;
    this.#group = group;
  }

  async remove(namespace: string, name: string, uid: string): Promise<void> {
    try {
      await this.#client.call({
        method: "DELETE",
        path: this.#path({ namespace, name }),
        body: { preconditions: { uid } },
      });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // Conflict: another object has this name now.
      if (error.status !== 404 && error.status !== 409) throw problemFrom(error);
    }
  }

  /** @throws {KubeError} */
  async read(place: Place): Promise<ClusterObject | undefined> {
    try {
      return asObject(await this.#client.call({ path: this.#path(place) }));
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  /**
   * Sends a JSON patch that names the version that it is based on.
   * @throws {KubeError} when it fails, unless the object has changed or is gone
   */
  async patch(place: Place & { version: string }, patch: JsonObject[]): Promise<Patched> {
    try {
      const answer = await this.#client.call({
        method: "PATCH",
        path: this.#path(place),
        contentType: "application/json-patch+json",
        body: patch,
      });
      return { isDone: true, object: asObject(answer) };
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status === 404) return { isDone: false, object: undefined };
      // A patch is also refused (422) when something that it changes has been removed.
      if (error.status !== 409 && error.status !== 422) throw error;
      const object = await this.read(place);
      if (error.status === 422 && object?.metadata.resourceVersion === place.version) throw error;
      return { isDone: false, object };
    }
  }

  #path({ namespace, name }: Place): string {
    return objectPath(this.#group, "Workflow", namespace, name);
  }
}
