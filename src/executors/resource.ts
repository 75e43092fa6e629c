/**
 * Resource templates: the server makes, changes, reads or deletes an object of the cluster and waits for its condition. It
 * does so as the workflow's service account (impersonation), so a workflow may do no more than its account may.
 */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { ArtifactStore } from "../artifacts/port.ts";
import { isJsonObject } from "../base/json.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import type { Parameter, ResourceTemplate } from "../spec/manifest.ts";
import { trimNewline } from "./capture.ts";
import { KubeError } from "../kubernetes/kube_client.ts";
import type { KubeClient, KubeRequest } from "../kubernetes/kube_client.ts";
import { artifactScope } from "./archived_log.ts";
import type { Report } from "./port.ts";
import { ReplicaExecutor } from "./replica_executor.ts";
import { readJq } from "./jq.ts";
import { conditionHolds, readJsonPathTemplate } from "./resource_condition.ts";
import { readResourceFlags, type ResourceFlags } from "./resource_flags.ts";
import { collectionOfKind, collectionOfWord, collectionPath } from "./resource_place.ts";
import { memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

const MAX_WAIT_MS = 10_000;
/** More than a cluster stores of one object. */
const MAX_MANIFEST_BYTES = 3 * 1024 * 1024;

const PATCH_TYPES: Record<string, string> = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
};

export interface ResourceExecutorOptions {
  client: KubeClient;
  clock: Clock;
  memory: TaskMemory;
  /** Where manifests in artifacts come from; absent: nowhere. */
  artifacts?: ArtifactStore;
  /** Service account of workflows that name none. @default {"default"} */
  serviceAccount?: string;
  /** API group of Workflow objects. @default that of the reference */
  group?: string;
}

/** An object by its address. */
interface Place {
  /** Of the collection. */
  path: string;
  name: string;
}

export class ResourceExecutor extends ReplicaExecutor {
  readonly name = "kubernetes";
  protected readonly taskKind = "a resource template";
  readonly #options: ResourceExecutorOptions;

  constructor(options: ResourceExecutorOptions) {
    super(options.clock);
    this.#options = options;
  }

  refuses({ template }: TaskSpec): string | undefined {
    return template.resource === undefined
      ? "This executor runs resource templates only"
      : undefined;
  }

  protected async run(
    task: TaskSpec,
    signal: AbortSignal,
    report: Report,
  ): Promise<TaskOutcome> {
    report({ type: "task-started", task: task.id });
    const act = new ResourceAction(task, task.template.resource ?? {}, this.#options, signal);
    const object = await act.perform();
    if (object === undefined) return { phase: "Succeeded" };
    const { object: last, failure } = await act.wait(object);
    if (failure !== undefined) return { phase: "Failed", message: failure };
    const parameters = (task.template.outputs?.parameters ?? []).map((parameter) =>
      readOutput(parameter, last)
    );
    return {
      phase: "Succeeded",
      ...(parameters.length > 0 && { outputs: { parameters } }),
    };
  }
}

/** One action on one object. */
class ResourceAction {
  readonly #task: TaskSpec;
  readonly #resource: ResourceTemplate;
  readonly #options: ResourceExecutorOptions;
  readonly #signal: AbortSignal;
  readonly #as: string;
  #place: Place | undefined;

  constructor(
    task: TaskSpec,
    resource: ResourceTemplate,
    options: ResourceExecutorOptions,
    signal: AbortSignal,
  ) {
    this.#task = task;
    this.#resource = resource;
    this.#options = options;
    this.#signal = signal;
    const account = task.template.serviceAccountName ?? task.podSpec.serviceAccountName ??
      options.serviceAccount ?? "default";
    this.#as = `system:serviceaccount:${task.namespace}:${account}`;
  }

  /** Repeats a call while the API server can't answer it. */
  async #call(request: KubeRequest): Promise<JsonObject> {
    for (let wait = 500;; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      try {
        return await this.#options.client.call({ ...request, as: this.#as, signal: this.#signal });
      } catch (error) {
        if (this.#signal.aborted || !(error instanceof KubeError && error.isTransient)) throw error;
        await this.#options.clock.sleep(wait, this.#signal);
      }
    }
  }

  /** Does it; gives the object, undefined after a deletion. */
  async perform(): Promise<JsonObject | undefined> {
    const { action = "" } = this.#resource;
    const flags = readResourceFlags(this.#resource.flags ?? []);
    const { query, deletion, ignoreNotFound } = flags;
    if (flags.selector !== undefined && (action !== "delete" || flags.target?.name !== "")) {
      throw new Error(
        "--selector is for deletions by kind, for example flags [configmap, --selector=app=web]",
      );
    }
    const patchType = flags.patchType ?? this.#resource.mergeStrategy ?? "strategic";
    const body = await this.#withOwner(readManifest(
      await this.#manifestText(),
      action === "patch" && patchType === "json",
      flags.target !== undefined,
    ));
    this.#place = await this.#find(body, flags);
    const { name, path } = this.#place;
    const at = `${path}/${name}`;
    switch (action) {
      case "get":
        return await this.#call({ path: at });
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
        return await this.#call({ method: "PUT", path: at, query, body });
      case "patch": {
        const contentType = PATCH_TYPES[patchType];
        if (contentType === undefined) {
          throw new Error(`mergeStrategy ${patchType} is none of strategic, merge, json`);
        }
        return await this.#call({ method: "PATCH", path: at, query, contentType, body });
      }
      case "delete":
        await this.#delete(flags.selector, { ...query }, deletion, ignoreNotFound);
        return undefined;
      default:
        throw new Error(
          `resource.action "${action}" is none of get, create, apply, delete, replace, patch`,
        );
    }
  }

  /** With `setOwnerReference`: the object as one that goes when the Workflow object does. */
  async #withOwner(body: Json): Promise<Json> {
    if (this.#resource.setOwnerReference !== true || !isJsonObject(body)) return body;
    const { client, group = STANDARD_NAMING.apiGroup } = this.#options;
    const { namespace, workflow, workflowUid: uid } = this.#task;
    const apiVersion = `${group}/v1alpha1`;
    const path = `/apis/${apiVersion}/namespaces/${namespace}/workflows/${workflow}`;
    const owner = await client.call({ path, signal: this.#signal }).catch((error) => {
      if (error instanceof KubeError && error.status === 404) return {};
      throw error;
    });
    const { metadata } = owner as JsonObject;
    // An owner that does not exist would make the cluster delete the object at once.
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

  async #delete(
    labelSelector: string | undefined,
    query: Record<string, string>,
    deletion: JsonObject,
    ignoreNotFound: boolean,
  ): Promise<void> {
    const { name = "", path = "" } = this.#place ?? {};
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...deletion };
    try {
      await this.#call(
        name === ""
          ? {
            method: "DELETE",
            path,
            query: { ...query, labelSelector: labelSelector ?? "" },
            body,
          }
          : { method: "DELETE", path: `${path}/${name}`, query, body },
      );
    } catch (error) {
      if (!(ignoreNotFound && error instanceof KubeError && error.status === 404)) throw error;
    }
  }

  /** The manifest as written, or out of an input artifact. */
  async #manifestText(): Promise<string> {
    const { manifest, manifestFrom } = this.#resource;
    if (manifest !== undefined && manifest.trim() !== "") return manifest;
    const name = manifestFrom?.artifact?.name;
    if (name === undefined) return "";
    const { template } = this.#task;
    const artifact = template.inputs?.artifacts?.find((one) => one.name === name);
    const { artifacts } = this.#options;
    if (artifact === undefined) throw new Error(`there is no input artifact ${name}`);
    if (artifacts === undefined) {
      throw new Error("manifestFrom needs a server with an artifact repository");
    }
    const folder = await mkdtemp(join(tmpdir(), "sluice-manifest-"));
    try {
      const file = join(folder, "manifest");
      const isThere = await artifacts.fetch(artifact, file, artifactScope(this.#task));
      if (!isThere) throw new Error(`artifact ${name} of manifestFrom does not exist`);
      if ((await stat(file)).size > MAX_MANIFEST_BYTES) {
        throw new Error(
          `artifact ${name} of manifestFrom is larger than ${MAX_MANIFEST_BYTES} bytes`,
        );
      }
      return await readFile(file, "utf8");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Once, also when the replica died right after it. */
  async #create(manifest: Json, query: Record<string, string>): Promise<JsonObject> {
    const { memory } = this.#options;
    const place = this.#place;
    if (place === undefined) throw new Error("no place");
    const key = memoryKey(this.#task.id, "created");
    const known = await memory.getBlob(key);
    if (known !== undefined) {
      place.name = Buffer.from(known).toString();
      return await this.#call({ path: `${place.path}/${place.name}` });
    }
    const made = await this.#call({
      method: "POST",
      path: place.path,
      query,
      body: manifest,
    });
    place.name = String(isJsonObject(made["metadata"]) ? made["metadata"]["name"] : "");
    await memory.putBlob(key, Buffer.from(place.name));
    return made;
  }

  /** The object that the manifest names, or else the flags. */
  async #find(manifest: Json, flags: ResourceFlags): Promise<Place> {
    const discover = (path: string) => this.#call({ path });
    const { apiVersion, kind, metadata } = isJsonObject(manifest) ? manifest : {};
    if (flags.target?.name === "" && flags.selector === undefined) {
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
    const { name = "", namespace } = isJsonObject(metadata) ? metadata : {};
    return {
      path: collectionPath(
        await collectionOfKind(discover, apiVersion, kind),
        typeof namespace === "string" ? namespace : flags.namespace ?? this.#task.namespace,
      ),
      name: String(name),
    };
  }

  /** Watches the object until a condition holds. */
  async wait(first: JsonObject): Promise<{ object: JsonObject; failure?: string }> {
    const { successCondition = "", failureCondition = "" } = this.#resource;
    if (successCondition === "" && failureCondition === "") return { object: first };
    const place = this.#place;
    if (place === undefined) throw new Error("no place");
    for (let object = first;;) {
      const verdict = this.#judge(object);
      if (verdict !== undefined) return verdict;
      try {
        const version = isJsonObject(object["metadata"])
          ? object["metadata"]["resourceVersion"]
          : "";
        const query = {
          fieldSelector: `metadata.name=${place.name}`,
          resourceVersion: String(version),
        };
        const { client } = this.#options;
        for await (const event of client.watch(place.path, query, this.#signal, this.#as)) {
          if (event.type === "DELETED") {
            throw new Error(`${place.name} was deleted while it was waited for`);
          }
          if (event.type === "ERROR") break;
          if (event.type === "BOOKMARK") continue;
          object = event.object;
          const now = this.#judge(object);
          if (now !== undefined) return now;
        }
      } catch (error) {
        if (this.#signal.aborted || !(error instanceof KubeError)) throw error;
      }
      if (this.#signal.aborted) throw new Error("stopped");
      await this.#options.clock.sleep(500, this.#signal);
      object = await this.#call({ path: `${place.path}/${place.name}` });
    }
  }

  #judge(object: JsonObject): { object: JsonObject; failure?: string } | undefined {
    const { successCondition = "", failureCondition = "" } = this.#resource;
    if (failureCondition !== "" && conditionHolds(failureCondition, object, true)) {
      return { object, failure: `failure condition '{${failureCondition}}' evaluated true` };
    }
    if (successCondition === "" || conditionHolds(successCondition, object, false)) {
      return successCondition === "" ? undefined : { object };
    }
    return undefined;
  }
}

/**
 * What a manifest holds: one object, or the operations of a JSON patch.
 *
 * @param mayBeEmpty the object is named elsewhere
 */
function readManifest(manifest: string, isPatch: boolean, mayBeEmpty: boolean): Json {
  const documents = parseAllDocuments(manifest).map((document) => document.toJS() as Json)
    .filter((document) => document !== null);
  const [only = null] = documents;
  if (documents.length === 0 && mayBeEmpty && !isPatch) return {};
  if (isPatch) {
    if (!mayBeEmpty) {
      throw new Error("a JSON patch needs the object in flags, for example [deployment, web]");
    }
    if (!Array.isArray(only)) throw new Error("a JSON patch must be a list of operations");
  } else if (documents.length !== 1 || !isJsonObject(only)) {
    throw new Error(`resource.manifest has ${documents.length} objects, it must have one`);
  }
  return only;
}

function readOutput(parameter: Parameter, object: JsonObject): Parameter {
  const { jsonPath, jqFilter, default: fallback } = parameter.valueFrom ?? {};
  if (jqFilter === undefined && jsonPath === undefined) return parameter;
  try {
    const value = jqFilter === undefined
      ? readJsonPathTemplate(jsonPath ?? "", object)
      : readJq(jqFilter, object);
    return { ...parameter, value: trimNewline(value) };
  } catch (error) {
    if (fallback !== undefined) return { ...parameter, value: fallback };
    throw new Error(`Output parameter "${parameter.name}": ${String(error)}`);
  }
}
