/** An installation in a Kubernetes cluster. */
import process from "node:process";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { apiVersionOf, CLUSTER_KINDS, collectionPath } from "../../kubernetes/cluster_object.ts";
import { KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../kubernetes/kube_config.ts";
import { WEBHOOK_SECRET } from "../../spec/naming.ts";
import {
  ARTIFACT_REPOSITORIES,
  CONFIG_TYPE_LABEL,
  INSTANCE_LABEL,
  type Selection,
  type Source,
  type SourceListener,
} from "./source.ts";

/** Objects of a page. */
const PAGE = 100;
/** Workflows of a page: each may have over a megabyte. */
const WORKFLOW_PAGE = 20;
/** Tries of a call that may succeed later. */
const TRIES = 5;

/** No word of a Secret leaves the cluster. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

interface ListOptions {
  /** Objects of a page. */
  limit?: number;
  /** Nothing of it would be imported, so a refusal is no trouble. */
  isMinor?: boolean;
  accept?: string;
}

export interface ClusterAccess {
  kubeconfig?: string;
  context?: string;
}

/** Opens the cluster of a kubeconfig. @throws {Problem} when there is none */
export async function openCluster(
  { kubeconfig, context }: ClusterAccess,
  selection: Selection,
  listener: SourceListener,
): Promise<Source> {
  const env = kubeconfig === undefined ? process.env : { KUBECONFIG: kubeconfig };
  const client = new KubeClient(await loadKubeConfig(env, context));
  return new ClusterSource(client, selection, listener);
}

class ClusterSource implements Source {
  readonly name: string;
  readonly #client: KubeClient;
  readonly #selection: Selection;
  readonly #listener: SourceListener;

  constructor(client: KubeClient, selection: Selection, listener: SourceListener) {
    this.name = `the cluster ${client.config.server}`;
    this.#client = client;
    this.#selection = selection;
    this.#listener = listener;
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
    yield* this.#settings();
    for (const kind of CLUSTER_KINDS) {
      const path = collectionPath(apiGroup, kind, namespace);
      for await (const page of this.#tolerant(`${kind}s`, path, this.#ofInstance())) {
        yield page.map((object) => withKind(object, kind, apiGroup));
      }
    }
  }

  /** The settings are only told, so an installation without them, or out of reach, is no trouble. */
  async *#settings(): AsyncIterable<JsonObject[]> {
    const { controllerConfig } = this.#selection;
    const what = "the controller's settings";
    let isFound = false;
    // The controller has a namespace of its own.
    const pages = this.#tolerant(what, "/api/v1/configmaps", {
      fieldSelector: `metadata.name=${controllerConfig}`,
    }, { isMinor: true });
    for await (const page of pages) {
      isFound = true;
      yield page;
    }
    if (!isFound) {
      const missing = `no ConfigMap ${controllerConfig} was found`;
      this.#listener.unseen(what, `${missing}; --controller-configmap names another`);
    }
  }

  async *accounts(): AsyncIterable<JsonObject[]> {
    const { namespace } = this.#selection;
    const place = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    const options = { isMinor: true, accept: METADATA_ONLY };
    const secrets = this.#tolerant("webhook senders", `/api/v1${place}/secrets`, {
      fieldSelector: `metadata.name=${WEBHOOK_SECRET}`,
    }, options);
    for await (const page of secrets) yield page.map((item) => ({ ...item, kind: "Secret" }));
    const accounts = this.#tolerant(
      "rules of single sign-on",
      `/api/v1${place}/serviceaccounts`,
      {},
      options,
    );
    for await (const page of accounts) {
      yield page.map((item) => ({ ...item, kind: "ServiceAccount" }));
    }
  }

  async *workflows(): AsyncIterable<JsonObject[]> {
    const { namespace, apiGroup } = this.#selection;
    const path = collectionPath(apiGroup, "Workflow", namespace);
    for await (
      const page of this.#tolerant("Workflows", path, this.#ofInstance(), { limit: WORKFLOW_PAGE })
    ) {
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
      if (error.status !== 404) {
        this.#listener.trouble(`ConfigMap ${namespace}/${name}`, error.message);
      }
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
    { limit = PAGE, isMinor = false, accept }: ListOptions = {},
  ): AsyncGenerator<JsonObject[]> {
    try {
      let next: string | undefined;
      do {
        const page = await this.#call(path, {
          ...query,
          limit: String(limit),
          ...(next !== undefined && { continue: next }),
        }, accept);
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
      if (isMinor) this.#listener.unseen(what, error.message);
      else this.#listener.trouble(what, error.message + advice);
    }
  }

  async #call(
    path: string,
    query: Record<string, string>,
    accept?: string,
  ): Promise<JsonObject> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#client.call({ path, query, ...(accept !== undefined && { accept }) });
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
