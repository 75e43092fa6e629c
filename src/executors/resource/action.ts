/** One action on one object of the cluster, and the wait for its condition. */
import type { ArtifactStore } from "../../artifacts/port.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ResourceTemplate } from "../../spec/manifest.ts";
import { KubeError } from "../../kubernetes/kube_client.ts";
import type { KubeClient, KubeRequest } from "../../kubernetes/kube_client.ts";
import { readConditions, verdictOn } from "./condition.ts";
import { readResourceFlags, type ResourceFlags } from "./flags.ts";
import {
  collectionOfKind,
  collectionOfWord,
  collectionPath,
  objectPath,
  type Place,
} from "./place.ts";
import { isPassing } from "../passing_trouble.ts";
import { memoryKey } from "../kubernetes/task_report.ts";
import type { TaskMemory } from "../kubernetes/task_report.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { Deletion, unless } from "./deletion.ts";
import { manifestText, readManifest } from "./manifest.ts";
import { isMarkedFor, markedObject, nameOf, namesVersion, withVersionOf } from "./marked_object.ts";

/** Waits before a call is repeated, ms: the first and the longest one. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 10_000;
/** How often an object is read that the account may not watch, ms: as often as the reference does. */
const UNWATCHED_WAIT_MS = 5_000;
/** Names that are tried for an object whose name the cluster is to choose. */
const MAX_NAMES = 8;

const PATCH_TYPES: Record<string, string> = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

export interface ResourceDeps {
  client: KubeClient;
  clock: Clock;
  memory: TaskMemory;
  /** Where manifests in artifacts come from. Absent: there are none. */
  artifacts?: ArtifactStore;
  /** Service account of workflows that name none. @default {"default"} */
  serviceAccount?: string;
  /** Starts the process for jq filters. @default this runtime */
  jqCommand?: readonly string[];
  /** API group of Workflow objects. @default that of the reference */
  group?: string;
}

/** One action on one object. */
export class ResourceAction {
  readonly #task: TaskSpec;
  readonly #resource: ResourceTemplate;
  readonly #deps: ResourceDeps;
  readonly #signal: AbortSignal;
  readonly #as: string;
  #place: Place | undefined;

  constructor(
    task: TaskSpec,
    resource: ResourceTemplate,
    deps: ResourceDeps,
    signal: AbortSignal,
  ) {
    this.#task = task;
    this.#resource = resource;
    this.#deps = deps;
    this.#signal = signal;
    const account = task.template.serviceAccountName ?? task.podSpec.serviceAccountName ??
      deps.serviceAccount ?? "default";
    this.#as = `system:serviceaccount:${task.namespace}:${account}`;
  }

  #call(request: KubeRequest): Promise<JsonObject> {
    const { client } = this.#deps;
    return this.#patiently(
      () => client.call({ ...request, as: this.#as, signal: this.#signal }),
      namesVersion(request.body),
    );
  }

  /**
   * Repeats a call while the API server, or the store, can't answer it.
   *
   * @param isBound to one version of the object: another one now is another one for good
   */
  async #patiently<Result>(call: () => Promise<Result>, isBound = false): Promise<Result> {
    for (let wait = FIRST_WAIT_MS;; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      try {
        return await call();
      } catch (error) {
        if (this.#signal.aborted || !isPassing(error)) throw error;
        if (isBound && error instanceof KubeError && error.status === 409) throw error;
        await this.#deps.clock.sleep(Math.max(wait, askedMs(error)), this.#signal);
      }
    }
  }

  /** Carries it out. Gives the object; undefined after a deletion, and when there is none and need not be. */
  async perform(): Promise<JsonObject | undefined> {
    const { action = "" } = this.#resource;
    const flags = readResourceFlags(this.#resource.flags ?? []);
    const { query } = flags;
    if (flags.selector !== undefined && (action !== "delete" || flags.target?.name !== "")) {
      throw new Error(
        "--selector is for deletions by kind, for example flags [configmap, --selector=app=web]",
      );
    }
    const patchType = flags.patchType ?? this.#resource.mergeStrategy ?? "strategic";
    const body = await this.#withOwner(readManifest(
      await manifestText(this.#task, this.#resource, this.#deps.artifacts, this.#signal),
      action === "patch" && patchType === "json",
      flags.target !== undefined,
    ));
    this.#place = await this.#find(body, flags);
    // Without a name the path would be that of all objects of the kind.
    const at = action === "create" || flags.selector !== undefined ? "" : objectPath(this.#place);
    switch (action) {
      case "get":
        return await this.#get(at, flags);
      case "create":
        return await this.#create(body, query);
      case "apply":
        return await this.#call({
          method: "PATCH",
          path: at,
          query: { fieldManager: "sluice", force: "true", ...query },
          contentType: "application/apply-patch+yaml",
          body,
        });
      case "replace":
        return await this.#replace(at, query, body);
      case "patch": {
        const contentType = PATCH_TYPES[patchType];
        if (contentType === undefined) {
          throw new Error(`mergeStrategy ${patchType} is none of strategic, merge, json`);
        }
        return await this.#call({ method: "PATCH", path: at, query, contentType, body });
      }
      case "delete":
        await this.#deletion(this.#place, flags).carryOut();
        return undefined;
      default:
        throw new Error(
          `resource.action "${action}" is none of get, create, apply, delete, replace, patch`,
        );
    }
  }

  /** With `setOwnerReference`: makes the Workflow object its owner, so that the cluster deletes both together. */
  async #withOwner(body: Json): Promise<Json> {
    if (this.#resource.setOwnerReference !== true || !isJsonObject(body)) return body;
    const { client, group = STANDARD_NAMING.apiGroup } = this.#deps;
    const { namespace, workflow, workflowUid: uid } = this.#task;
    const apiVersion = `${group}/v1alpha1`;
    const path = `/apis/${apiVersion}/namespaces/${namespace}/workflows/${workflow}`;
    // Asked by the server itself: the account of a step need not be allowed to.
    const ask = () => client.call({ path, signal: this.#signal });
    const owner = await this.#patiently(ask).catch((error) => {
      if (error instanceof KubeError && error.status === 404) return {};
      throw error;
    });
    const { metadata } = owner as JsonObject;
    // The cluster would at once delete an object whose owner does not exist.
    if (!isJsonObject(metadata) || metadata["uid"] !== uid) {
      throw new Error(
        `setOwnerReference needs a Workflow object in the cluster, and ${workflow} was not made as one`,
      );
    }
    const own = isJsonObject(body["metadata"]) ? body["metadata"] : {};
    const others = Array.isArray(own["ownerReferences"]) ? own["ownerReferences"] : [];
    const reference = {
      apiVersion,
      kind: "Workflow",
      name: workflow,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    return { ...body, metadata: { ...own, ownerReferences: [...others, reference] } };
  }

  async #get(path: string, { ignoreNotFound }: ResourceFlags): Promise<JsonObject | undefined> {
    try {
      return await this.#call({ path });
    } catch (error) {
      if (ignoreNotFound !== true) throw error;
      unless(404)(error);
      return undefined;
    }
  }

  #deletion(place: Place, flags: ResourceFlags): Deletion {
    const { memory, clock } = this.#deps;
    const key = memoryKey(this.#task.id, "deleting");
    return new Deletion(place, flags, {
      call: (request) => this.#call(request),
      isNoted: async () => await this.#patiently(() => memory.getBlob(key)) !== undefined,
      note: () => this.#patiently(() => memory.putBlob(key, new Uint8Array([1]))),
      sleep: (ms) => clock.sleep(ms, this.#signal),
    });
  }

  /** Replaces the object as it is now, unless the manifest says which version of it: many kinds take no other replacement. */
  async #replace(path: string, query: Record<string, string>, body: Json): Promise<JsonObject> {
    if (namesVersion(body)) return await this.#call({ method: "PUT", path, query, body });
    for (;;) {
      const next = withVersionOf(await this.#call({ path }), body);
      try {
        return await this.#call({ method: "PUT", path, query, body: next });
      } catch (error) {
        // Somebody was faster.
        unless(409)(error);
        await this.#deps.clock.sleep(FIRST_WAIT_MS, this.#signal);
      }
    }
  }

  /** Creates the object once, even when the replica dies right after it. */
  async #create(manifest: Json, query: Record<string, string>): Promise<JsonObject> {
    const { memory } = this.#deps;
    const place = this.#place;
    if (place === undefined) throw new Error("no place");
    const key = memoryKey(this.#task.id, "created");
    const known = await this.#patiently(() => memory.getBlob(key));
    if (known !== undefined) {
      place.name = Buffer.from(known).toString();
      return await this.#call({ path: objectPath(place) });
    }
    const made = await this.#make(manifest, place.path, query);
    place.name = nameOf(made);
    const name = Buffer.from(place.name);
    await this.#patiently(() => memory.putBlob(key, name));
    return made;
  }

  /** Creates the object, or finds it where the answer to an earlier call got lost: it says which task it is for. */
  async #make(manifest: Json, path: string, query: Record<string, string>): Promise<JsonObject> {
    const { id } = this.#task;
    for (let nth = 0;; nth++) {
      const body = markedObject(manifest, id, nth);
      try {
        return await this.#call({ method: "POST", path, query, body });
      } catch (error) {
        if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
        const found = await this.#call({ path: objectPath({ path, name: nameOf(body) }) })
          .catch(() => ({}));
        if (isMarkedFor(found, id)) return found;
        if (nameOf(body) === nameOf(manifest) || nth === MAX_NAMES) throw error;
      }
    }
  }

  /** The address of the object that the manifest names, or else the flags. */
  async #find(manifest: Json, flags: ResourceFlags): Promise<Place> {
    const discover = (path: string) => this.#call({ path });
    const { apiVersion, kind, metadata } = isJsonObject(manifest) ? manifest : {};
    // An empty selector would stand for all objects.
    if (flags.target?.name === "" && (flags.selector ?? "").trim() === "") {
      throw new Error(`flags name no object, only its kind "${flags.target.kind}"`);
    }
    if (flags.target !== undefined && kind === undefined) {
      const collection = await collectionOfWord(discover, flags.target.kind);
      return {
        path: collectionPath(collection, flags.namespace ?? this.#task.namespace),
        name: flags.target.name,
      };
    }
    if (flags.target !== undefined) {
      throw new Error("the object is named by the manifest and by flags; one of them must go");
    }
    if (typeof apiVersion !== "string" || typeof kind !== "string") {
      throw new Error("resource.manifest has no apiVersion or no kind");
    }
    const { namespace } = isJsonObject(metadata) ? metadata : {};
    return {
      path: collectionPath(
        await collectionOfKind(discover, apiVersion, kind),
        typeof namespace === "string" ? namespace : flags.namespace ?? this.#task.namespace,
      ),
      name: nameOf(manifest),
    };
  }

  /** Watches the object until one of its conditions decides. */
  async wait(first: JsonObject): Promise<{ object: JsonObject; failure?: string }> {
    const conditions = readConditions(this.#resource);
    const place = this.#place;
    if (place === undefined) throw new Error("no place");
    const decided = (object: JsonObject) => {
      const verdict = verdictOn(object, conditions);
      return verdict === undefined ? undefined : { object, ...(verdict !== "met" && verdict) };
    };
    for (let object = first;;) {
      const verdict = decided(object);
      if (verdict !== undefined) return verdict;
      let wait = FIRST_WAIT_MS;
      try {
        const version = isJsonObject(object["metadata"])
          ? object["metadata"]["resourceVersion"]
          : "";
        const query = {
          fieldSelector: `metadata.name=${place.name}`,
          resourceVersion: String(version),
        };
        const { client } = this.#deps;
        for await (const event of client.watch(place.path, query, this.#signal, this.#as)) {
          if (event.type === "DELETED") {
            throw new Error(`${place.name} was deleted while it was waited for`);
          }
          if (event.type === "ERROR") break;
          if (event.type === "BOOKMARK") continue;
          object = event.object;
          const now = decided(object);
          if (now !== undefined) return now;
        }
      } catch (error) {
        if (this.#signal.aborted || !(error instanceof KubeError)) throw error;
        wait = error.isTransient ? Math.max(wait, askedMs(error)) : UNWATCHED_WAIT_MS;
      }
      if (this.#signal.aborted) throw new Error("stopped");
      await this.#deps.clock.sleep(wait, this.#signal);
      object = await this.#call({ path: objectPath(place) });
    }
  }
}

/** How long the API server asks to be left alone, ms. */
function askedMs(error: unknown): number {
  return error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
}
