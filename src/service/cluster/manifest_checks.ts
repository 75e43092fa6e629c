/**
 * Reports what is wrong with objects of the cluster: by a condition `SpecError` in their status and a line in the log. An
 * object that has become valid loses the condition. A template may depend on others, so all faulty objects are checked again
 * when anything changes.
 */
import { unrestrictedCaller } from "../../auth/caller.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { isProblem, ProblemCode } from "../../base/problem.ts";
import {
  asObject,
  type ClusterKind,
  type ClusterObject,
  objectPath,
} from "../../kubernetes/cluster_object.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { decodeManifest } from "../../spec/schema/decode_manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { type CheckedManifest, validateManifest } from "../manifests/validation.ts";

const CONDITION = "SpecError";
/** Changes that arrive together are checked together. */
const PAUSE_MS = 300;
const RETRY_MS = 5_000;

/** Objects of the cluster are checked with the rights of the server itself. */
const SERVER = unrestrictedCaller();

interface Waiting {
  kind: ClusterKind;
  object: ClusterObject;
  /** Why it could not be decoded, if so. */
  fault?: string;
}

export class ManifestChecks {
  readonly #deps: ServiceDeps;
  readonly #options: { client: KubeClient; group: string };
  readonly #waiting = new Map<string, Waiting>();
  /** What is checked at present, or next, without those that went meanwhile. */
  #batch = new Map<string, Waiting>();
  /** The objects that are faulty at present, with the reasons. */
  readonly #faulty = new Map<string, Waiting & { reason: string }>();
  /** Version and reason of the last write, which is not repeated: some definitions of kinds drop the condition. */
  readonly #written = new Map<string, string>();
  #awake = Promise.withResolvers<void>();

  constructor(deps: ServiceDeps, options: { client: KubeClient; group: string }) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Has an object checked soon. */
  want(kind: ClusterKind, object: ClusterObject): void {
    this.#waiting.set(keyOf(kind, object), { kind, object });
    this.#awake.resolve();
  }

  /** Has an object reported that is no manifest of its kind. */
  malformed(kind: ClusterKind, object: ClusterObject, fault: string): void {
    this.#waiting.set(keyOf(kind, object), { kind, object, fault });
    this.#awake.resolve();
  }

  forget(kind: ClusterKind, namespace: string, name: string): void {
    const key = `${kind}/${namespace}/${name}`;
    this.#waiting.delete(key);
    this.#batch.delete(key);
    this.#faulty.delete(key);
    this.#written.delete(key);
    this.#awake.resolve();
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const wake = () => this.#awake.resolve();
    signal.addEventListener("abort", wake);
    while (!signal.aborted) {
      await this.#awake.promise;
      await clock.sleep(PAUSE_MS, signal);
      this.#awake = Promise.withResolvers<void>();
      this.#batch = new Map<string, Waiting>([...this.#faulty, ...this.#waiting]);
      this.#waiting.clear();
      for (const [key, one] of this.#batch) {
        if (signal.aborted) break;
        try {
          await this.#check(key, one);
        } catch (error) {
          log.warn({ manifest: key, err: error }, "manifest could not be checked");
          if (this.#batch.has(key) && !this.#waiting.has(key)) this.#waiting.set(key, one);
          clock.after(RETRY_MS, wake);
        }
      }
    }
    signal.removeEventListener("abort", wake);
  }

  async #check(key: string, one: Waiting): Promise<void> {
    const reason = one.fault ?? await this.#faultOf(one.kind, one.object);
    if (!this.#batch.has(key)) return;
    const known = this.#faulty.get(key)?.reason;
    if (reason === undefined) this.#faulty.delete(key);
    else {
      const { kind, object } = one;
      const { namespace = "", name } = object.metadata;
      this.#faulty.set(key, { ...one, reason });
      if (known !== reason) {
        this.#deps.log.warn({ kind, namespace, name, reason }, "faulty manifest");
      }
    }
    await this.#show(key, one, reason);
  }

  /** What is wrong; undefined when nothing is. */
  async #faultOf(kind: ClusterKind, object: ClusterObject): Promise<string | undefined> {
    const { namespace = "" } = object.metadata;
    try {
      const manifest = decodeManifest(kind, object);
      await validateManifest(this.#deps, SERVER, { kind, manifest } as CheckedManifest, namespace);
      return undefined;
    } catch (error) {
      const isTrouble = isProblem(error, ProblemCode.Unavailable);
      if (isTrouble || !(error instanceof Error)) throw error;
      return error.message;
    }
  }

  /** Writes the condition if it is not what it should be. */
  async #show(key: string, { kind, object }: Waiting, reason: string | undefined): Promise<void> {
    const conditions = conditionsOf(object);
    const shown = conditions.find((one) => one["type"] === CONDITION);
    if (shown?.["message"] === reason) return;
    // The runs of a cron workflow write this condition too, and remove it themselves.
    if (reason === undefined && kind === "CronWorkflow" && !this.#isOurs(shown)) return;
    const others = conditions.filter((one) => one["type"] !== CONDITION);
    const after: JsonObject[] = reason === undefined
      ? others
      : [...others, { type: CONDITION, status: "True", message: reason, reason: "Invalid" }];
    const { namespace = "", name, resourceVersion } = object.metadata;
    const writing = `${resourceVersion} ${reason ?? ""}`;
    if (this.#written.get(key) === writing) return;
    this.#written.set(key, writing);
    try {
      const answer = await this.#options.client.call({
        method: "PATCH",
        path: objectPath(this.#options.group, kind, namespace, name),
        body: {
          metadata: { resourceVersion },
          status: { conditions: after.length === 0 ? null : after },
        },
      });
      const known = this.#faulty.get(key);
      if (known !== undefined) known.object = asObject(answer);
    } catch (error) {
      // The watch tells about objects that have changed or are gone.
      if (error instanceof KubeError && (error.status === 409 || error.status === 404)) return;
      this.#written.delete(key);
      throw error;
    }
  }

  #isOurs(condition: JsonObject | undefined): boolean {
    return condition?.["reason"] === "Invalid";
  }
}

function keyOf(kind: ClusterKind, { metadata }: ClusterObject): string {
  return `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
}

function conditionsOf({ status }: ClusterObject): JsonObject[] {
  const list: Json | undefined = isJsonObject(status) ? status["conditions"] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
