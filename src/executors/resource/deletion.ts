/** The deletion of an object, or of all with some labels, as `kubectl delete` does it: it ends when they are gone. */
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { KubeError, type KubeRequest } from "../../kubernetes/kube_client.ts";
import type { ResourceFlags } from "./flags.ts";
import { objectPath, type Place } from "./place.ts";

/** Waits before an object that is being deleted is looked for again, ms: the first and the longest one. */
const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 5_000;

export interface DeletionDeps {
  /** Repeats what may pass. */
  call(request: KubeRequest): Promise<JsonObject>;
  /** True once it was noted for this task that the object was there. */
  isNoted(): Promise<boolean>;
  note(): Promise<void>;
  /** Ends early when the task is stopped; the next call fails then. */
  sleep(ms: number): Promise<void>;
}

export class Deletion {
  readonly #place: Place;
  readonly #flags: ResourceFlags;
  readonly #deps: DeletionDeps;

  constructor(place: Place, flags: ResourceFlags, deps: DeletionDeps) {
    this.#place = place;
    this.#flags = flags;
    this.#deps = deps;
  }

  /** @throws {KubeError} */
  async carryOut(): Promise<void> {
    const { query, deletion, selector, ignoreNotFound, isAwaited } = this.#flags;
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...deletion };
    const { call } = this.#deps;
    const labels = selector === undefined ? {} : { labelSelector: selector };
    const path = selector === undefined ? objectPath(this.#place) : this.#place.path;
    // As in the reference, an object that is missing is as good as deleted, unless the flags say otherwise.
    if (selector === undefined && ignoreNotFound === false) await this.#mustBeThere(path);
    const answer = await call({ method: "DELETE", path, query: { ...query, ...labels }, body })
      .catch(nothingAt(404));
    if (isAwaited) await this.#untilGone({ path, query: labels }, answer);
  }

  /** What is missing once this is noted was deleted by an earlier call, whose answer got lost. @throws {KubeError} */
  async #mustBeThere(path: string): Promise<void> {
    if (await this.#deps.isNoted()) return;
    await this.#deps.call({ path }).catch(unless(403));
    await this.#deps.note();
  }

  /**
   * Waits for objects that stay for a while: those with finalizers, and pods until their containers have ended.
   *
   * @param look finds them
   * @param answer to the deletion
   */
  async #untilGone(look: KubeRequest, answer: JsonObject): Promise<void> {
    const leaving = new Set(leavingIn(answer));
    for (let wait = FIRST_LOOK_MS; leaving.size > 0; wait = Math.min(wait * 2, MAX_LOOK_MS)) {
      await this.#deps.sleep(wait);
      // Whoever may delete need not be allowed to look.
      const there = leavingIn(await this.#deps.call(look).catch(nothingAt(403, 404)));
      for (const uid of leaving) if (!there.includes(uid)) leaving.delete(uid);
    }
  }
}

/** Uids of the objects in an answer that are being deleted. What is gone at once is told by a status. */
function leavingIn(answer: JsonObject): string[] {
  const { items } = answer;
  return (Array.isArray(items) ? items : [answer]).flatMap((object: Json) => {
    const metadata = isJsonObject(object) ? object["metadata"] : undefined;
    if (!isJsonObject(metadata) || metadata["deletionTimestamp"] === undefined) return [];
    return [String(metadata["uid"])];
  });
}

/** Throws an error, unless the API answered with one of these statuses. */
export function unless(...statuses: number[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof KubeError && statuses.includes(error.status))) throw error;
  };
}

/** An empty answer in place of one with these statuses. */
function nothingAt(...statuses: number[]): (error: unknown) => JsonObject {
  return (error) => {
    unless(...statuses)(error);
    return {};
  };
}
