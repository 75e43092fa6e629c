/** The Sluice server that objects are imported into. */
import type { JsonObject } from "../../base/json.ts";
import { ClientError } from "../../client/transport.ts";
import type { ConfigMap, Workflow } from "../../spec/manifest.ts";
import { type Context, isNotFound, labelPrefix } from "../context.ts";
import { metadataOf } from "../manifests.ts";
import { asJson, createObject, resourceOf, updateObject } from "../resources.ts";
import { type ExecutorName, EXECUTORS } from "./check.ts";
import {
  type Activity,
  isSame,
  prepared,
  replacement,
  withLaterRuns,
  withPrefix,
} from "./prepared.ts";

/**
 * `created`: it was not there. `unchanged`: it is there already. `differs`: it is there, and another. `replaced`: it was there, and
 * another. `left`: it is not for this server. `refused`: the server does not take it.
 */
export const OUTCOMES = [
  "created",
  "unchanged",
  "differs",
  "replaced",
  "left",
  "refused",
] as const;
export type OutcomeName = typeof OUTCOMES[number];

export interface Outcome {
  outcome: OutcomeName;
  message?: string;
}

export interface TargetOptions extends Activity {
  /** Nothing is changed; outcomes say what would be. */
  isDryRun: boolean;
  overwrite: boolean;
}

/** Refusals of one object; 500 is trouble with that object. Others end the command: no answer, no rights to anything. */
const REFUSALS = [400, 403, 404, 409, 412, 413, 422, 431, 500];
/** Refusals of something that succeeds later. */
const LATER = [429, 503];
const MAX_WAIT_MS = 8_000;
/** Waits of 0.25 s, 0.5 s … 8 s: 40 s together. */
const MAX_TRIES = 10;

export class Target {
  readonly #context: Context;
  readonly #options: TargetOptions;
  /** Undefined until the server has said it. */
  #prefix: string | undefined;

  constructor(context: Context, options: TargetOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** What runs steps there, if it says so. @throws {ClientError} with status 0 when there is no answer */
  async executor(): Promise<ExecutorName | undefined> {
    try {
      const { replicas = [] } = await this.#context.client.call("SystemService_GetSystem", {});
      const name = replicas.map(({ about }) => about?.["executor"]).find((one) =>
        one !== undefined
      );
      return EXECUTORS.find((one) => one === name);
    } catch (error) {
      if (error instanceof ClientError && error.status !== 0) return undefined;
      throw error;
    }
  }

  /** Imports a template, cron workflow, binding or ConfigMap. */
  manifest(object: JsonObject): Promise<Outcome> {
    return tolerant(async () => {
      const wanted = withPrefix(prepared(object, this.#options), await this.#labelPrefix());
      return wanted["kind"] === "ConfigMap" ? this.#configMap(wanted) : this.#stored(wanted);
    });
  }

  /** Imports a finished workflow with its nodes. */
  workflow(workflow: JsonObject): Promise<Outcome> {
    const namespace = String(metadataOf(workflow)["namespace"] ?? "");
    const { isDryRun, overwrite } = this.#options;
    // A dry run sends it with its nodes too: they may be what the server refuses.
    return tolerant(async () => {
      const wanted = withPrefix(workflow, await this.#labelPrefix()) as unknown as Workflow;
      return asJson(
        await this.#context.client.call("ImportService_ImportWorkflow", {
          params: { namespace },
          body: { workflow: wanted, dryRun: isDryRun, overwrite },
        }),
      ) as unknown as Outcome;
    });
  }

  async #labelPrefix(): Promise<string> {
    return this.#prefix ??= await labelPrefix(this.#context);
  }

  async #configMap(object: JsonObject): Promise<Outcome> {
    const namespace = String(metadataOf(object)["namespace"] ?? "");
    const { isDryRun, overwrite } = this.#options;
    return asJson(
      await this.#context.client.call("ImportService_ImportConfigMap", {
        params: { namespace },
        body: { configMap: object as unknown as ConfigMap, dryRun: isDryRun, overwrite },
      }),
    ) as unknown as Outcome;
  }

  async #stored(wanted: JsonObject): Promise<Outcome> {
    const resource = resourceOf(wanted["kind"]);
    if (resource === undefined) return { outcome: "left", message: "not a kind that is imported" };
    const { isDryRun, overwrite } = this.#options;
    const { name, namespace } = metadataOf(wanted);
    const params = { name: String(name ?? ""), namespace: String(namespace ?? "") };
    const known = await this.#context.client.call(resource.get, { params }).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (known === undefined) {
      if (!isDryRun) await createObject(this.#context, resource, wanted);
      return { outcome: "created" };
    }
    const current = asJson(known);
    const isKnown = isSame(current, wanted, this.#options);
    const next = isKnown ? withLaterRuns(current, wanted) : replacement(current, wanted);
    if (next === undefined) return { outcome: "unchanged" };
    if (!isKnown && !overwrite) {
      return { outcome: "differs", message: "the server has another one; --overwrite replaces it" };
    }
    if (!isDryRun) await updateObject(this.#context, resource, next);
    return { outcome: "replaced" };
  }
}

/** Makes an outcome of a refusal, and tries again what may succeed later. */
async function tolerant(act: () => Promise<Outcome>): Promise<Outcome> {
  for (let tries = 1;; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (REFUSALS.includes(error.status)) {
        return { outcome: "refused", message: error.message + adviceOn(error.status) };
      }
      if (!LATER.includes(error.status) || tries === MAX_TRIES) throw error;
      const wait = Math.min(MAX_WAIT_MS, 125 * 2 ** tries);
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

function adviceOn(status: number): string {
  return status === 413 ? ": raise --max-body-bytes of the server for the import" : "";
}
