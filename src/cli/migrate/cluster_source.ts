/** An installation in a Kubernetes cluster. */
import process from "node:process";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { apiVersionOf, CLUSTER_KINDS, collectionPath } from "../../kubernetes/cluster_object.ts";
import { KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../kubernetes/kube_config.ts";
import {
  ARTIFACT_REPOSITORIES,
  CONFIG_TYPE_LABEL,
  CONTROLLER_CONFIG,
  INSTANCE_LABEL,
  type OnTrouble,
  type Selection,
  type Source,
} from "./source.ts";

/** Objects of a page. */
const PAGE = 100;
/** Workflows of a page: each may have over a megabyte. */
const WORKFLOW_PAGE = 20;
/** Tries of a call that may succeed later. */
const TRIES = 5;

export interface ClusterAccess {
  kubeconfig?: string;
  context?: string;
}

/** Opens the cluster of a kubeconfig. @throws {Problem} when there is none */
export async function openCluster(
  { kubeconfig, context }: ClusterAccess,
  selection: Selection,
  onTrouble: OnTrouble,
): Promise<Source> {
  const env = kubeconfig === undefined ? process.env : { KUBECONFIG: kubeconfig };
  const client = new KubeClient(await loadKubeConfig(env, context));
  return new ClusterSource(client, selection, onTrouble);
}

class ClusterSource implements Source {
  readonly name: string;
  readonly #client: KubeClient;
  readonly #selection: Selection;
  readonly #onTrouble: OnTrouble;

  constructor(client: KubeClient, selection: Selection, onTrouble: OnTrouble) {
    this.name = `the cluster ${client.config.server}`;
    this.#client = client;
    this.#selection = selection;
    this.#onTrouble = onTrouble;
  }

  async *manifests(): AsyncIterable<JsonObject[]> {
    const { namespace, apiGroup } = this.#selection;
    const configMaps = namespace === undefined
      ? "/api/v1/configmaps"
      : `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    yield* this.#tolerant("ConfigMaps", configMaps, { labelSelector: CONFIG_TYPE_LABEL });
    yield* this.#tolerant("artifact repositories", configMaps, {
      fieldSelector: `metadata.name=${ARTIFACT_REPOSITORIES}`,
    });
    // The controller has a namespace of its own.
    yield* this.#tolerant("the controller's settings", "/api/v1/configmaps", {
      fieldSelector: `metadata.name=${CONTROLLER_CONFIG}`,
    });
    for (const kind of CLUSTER_KINDS) {
      const path = collectionPath(apiGroup, kind, namespace);
      for await (const page of this.#tolerant(`${kind}s`, path, this.#ofInstance())) {
        yield page.map((object) => withKind(object, kind, apiGroup));
      }
    }
  }

  async *workflows(): AsyncIterable<JsonObject[]> {
    const { namespace, apiGroup } = this.#selection;
    const path = collectionPath(apiGroup, "Workflow", namespace);
    for await (const page of this.#tolerant("Workflows", path, this.#ofInstance(), WORKFLOW_PAGE)) {
      yield page.map((object) => withKind(object, "Workflow", apiGroup));
    }
  }

  async configMap(namespace: string, name: string): Promise<JsonObject | undefined> {
    const place = `${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
    try {
      const found = await this.#call(`/api/v1/namespaces/${place}`, {});
      return { ...found, kind: "ConfigMap" };
    } catch (error) {
      if (!(error instanceof KubeError) || error.status === 0) throw error;
      if (error.status !== 404) this.#onTrouble(`ConfigMap ${namespace}/${name}`, error.message);
      return undefined;
    }
  }

  close(): void {
    this.#client.close();
  }

  #ofInstance(): Record<string, string> {
    const { instanceId } = this.#selection;
    return instanceId === undefined ? {} : { labelSelector: `${INSTANCE_LABEL}=${instanceId}` };
  }

  /** The pages of a list. A kind that is missing has no objects; one that may not be listed is told. */
  async *#tolerant(
    what: string,
    path: string,
    query: Record<string, string>,
    limit = PAGE,
  ): AsyncGenerator<JsonObject[]> {
    try {
      let next: string | undefined;
      do {
        const page = await this.#call(path, {
          ...query,
          limit: String(limit),
          ...(next !== undefined && { continue: next }),
        });
        const items = Array.isArray(page["items"]) ? page["items"].filter(isJsonObject) : [];
        const isOfMaps = path.endsWith("/configmaps");
        if (items.length > 0) {
          yield isOfMaps ? items.map((item) => ({ ...item, kind: "ConfigMap" })) : items;
        }
        const { metadata } = page;
        const token = isJsonObject(metadata) ? metadata["continue"] : undefined;
        next = typeof token === "string" && token !== "" ? token : undefined;
      } while (next !== undefined);
    } catch (error) {
      if (!(error instanceof KubeError) || error.status === 0 || error.status === 401) throw error;
      if (error.status === 404) return;
      const advice = error.status === 403
        ? "; -n NAMESPACE reads one namespace only"
        : error.status === 410
        ? "; the list took too long: run the command again, what is imported stays"
        : "";
      this.#onTrouble(what, error.message + advice);
    }
  }

  async #call(path: string, query: Record<string, string>): Promise<JsonObject> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#client.call({ path, query });
      } catch (error) {
        const isOver = !(error instanceof KubeError) || !error.isTransient || tries === TRIES;
        if (isOver) throw error;
        const seconds = Math.min(error.retryAfterSeconds ?? tries, 10);
        await new Promise((done) => setTimeout(done, seconds * 1_000));
      }
    }
  }
}

/** The items of a list do not say what they are. */
function withKind(object: JsonObject, kind: string, apiGroup: string): JsonObject {
  return { apiVersion: apiVersionOf(apiGroup), ...object, kind };
}
