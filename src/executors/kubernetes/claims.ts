/**
 * Volume claims that a workflow asks for: made before its first pod, one of each for the whole workflow, and removed when
 * its `volumeClaimGC` says so. A claim says whose it is; another's is neither used nor removed.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { INSTANCE_LABEL } from "./pod_marks.ts";
import type { WorkflowClaims } from "../port.ts";

/** Workflows whose claims are known to be there, at most. */
const MAX_KNOWN = 10_000;

/** What keeps a claim that is deleted for as long as a pod names it. */
const PROTECTION = "kubernetes.io/pvc-protection";

export class KubernetesClaims {
  readonly #client: KubeClient;
  readonly #instance: string;
  readonly #labelPrefix: string;
  /** Uids of workflows whose claims are there. */
  readonly #made = new BoundedCache<string, true>(MAX_KNOWN);

  constructor(client: KubeClient, instance: string, labelPrefix: string) {
    this.#client = client;
    this.#instance = instance;
    this.#labelPrefix = labelPrefix;
  }

  /**
   * Makes the claims of a task's workflow that are not there.
   *
   * @throws {KubeError} when the cluster refuses one
   * @throws {Error} when another's claim has the name
   */
  async ensure(task: TaskSpec): Promise<void> {
    const templates = task.podSpec.volumeClaimTemplates ?? [];
    if (templates.length === 0 || this.#made.get(task.workflowUid)) return;
    for (const template of templates) await this.#make(task, template);
    this.#made.set(task.workflowUid, true);
  }

  async #make(task: TaskSpec, template: JsonObject): Promise<void> {
    const metadata = isJsonObject(template["metadata"]) ? template["metadata"] : {};
    const name = `${task.workflow}-${String(metadata["name"])}`;
    const labels = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
    const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
    const body: JsonObject = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name,
        labels: {
          ...labels,
          [`${this.#labelPrefix}workflow`]: task.workflow,
          [INSTANCE_LABEL]: this.#instance,
        },
        annotations: { ...annotations, [this.#ownerAnnotation]: task.workflowUid },
      },
      spec: template["spec"] ?? {},
    };
    try {
      await this.#client.call({ method: "POST", path: claimsPath(task.namespace), body });
    } catch (error) {
      if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
      const found = await this.#get(task.namespace, name);
      if (found === undefined) return await this.#make(task, template);
      const { deletionTimestamp } = found["metadata"] as JsonObject;
      if (deletionTimestamp !== undefined) {
        // Of the run before a retry, or of a workflow that is gone: soon it is out of the way.
        throw new KubeError(409, "Conflict", `PersistentVolumeClaim ${name} is being deleted`);
      }
      if (this.#ownerOf(found) !== task.workflowUid) {
        throw new Error(
          `PersistentVolumeClaim ${name} is there already and not this workflow's: delete it, or name the workflow otherwise`,
        );
      }
    }
  }

  /** Removes the claims of a workflow; those that are gone or another's are let be. @throws {KubeError} */
  async remove({ namespace, workflow, workflowUid, names }: WorkflowClaims): Promise<void> {
    this.#made.delete(workflowUid);
    for (const name of names) {
      const found = await this.#get(namespace, `${workflow}-${name}`);
      if (found === undefined || this.#ownerOf(found) !== workflowUid) continue;
      await this.#delete(
        `${claimsPath(namespace)}/${workflow}-${name}`,
        found["metadata"] as { uid: string; finalizers?: string[] },
      );
    }
  }

  /** Deletes a claim although pods name it, as pods that are kept for their logs do: the cluster would keep it as long. */
  async #delete(path: string, metadata: { uid: string; finalizers?: string[] }): Promise<void> {
    const { uid, finalizers = [] } = metadata;
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } };
    await this.#client.call({ method: "DELETE", path, body }).catch(unless(404, 409));
    if (!finalizers.includes(PROTECTION)) return;
    const others = finalizers.filter((finalizer) => finalizer !== PROTECTION);
    const patch = { metadata: { uid, finalizers: others } };
    // A role that is older than this does not allow it.
    await this.#client.call({ method: "PATCH", path, body: patch }).catch(unless(403, 404, 409));
  }

  async #get(namespace: string, name: string): Promise<JsonObject | undefined> {
    try {
      return await this.#client.call({ path: `${claimsPath(namespace)}/${name}` });
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Annotation of a claim: uid of its workflow. */
  get #ownerAnnotation(): string {
    return `${this.#labelPrefix}workflow-uid`;
  }

  #ownerOf({ metadata }: JsonObject): unknown {
    const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
    return isJsonObject(annotations) ? annotations[this.#ownerAnnotation] : undefined;
  }
}

/** Throws an error, unless the API answered with one of these: the object is gone, or another has its name. */
function unless(...statuses: number[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof KubeError && statuses.includes(error.status))) throw error;
  };
}

function claimsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
}
