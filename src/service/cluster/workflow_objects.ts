/**
 * Runs Workflow objects of the cluster as workflows. One replica works here at a time. When the leader changes, two may do
 * so for a moment, which does no harm: an object is claimed by a write on condition of its version, its workflow has the
 * object's uid, and the submission carries a key that derives from it, so that it is run once.
 */
import type { ControlRequest } from "../../engine/command.ts";
import { parseWorkflowActorId } from "../../actors/actor_ids.ts";
import { unrestrictedCaller } from "../../auth/caller.ts";
import { defined } from "../../base/defined.ts";
import { Problem } from "../../base/problem.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import { type ClusterObject, keyOf } from "../../kubernetes/cluster_object.ts";
import { KubeError } from "../../kubernetes/kube_client.ts";
import type { ObjectSink } from "../../kubernetes/object_watch.ts";
import { decodeManifest } from "../../spec/schema/decode_manifest.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { Change, StoredActor } from "../../store/port.ts";
import type { JsonObject } from "../../base/json.ts";
import { withDependents } from "../deleted_owners.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { fitStatus } from "./fit_status.ts";
import type { ObjectCalls } from "./object_calls.ts";
import { StatusWriter, type WriteOutcome } from "./status_writer.ts";
import { Turns } from "../../platform/turns.ts";
import { readStoredWorkflow } from "../workflows/stored_workflow.ts";
import { validateNewWorkflow } from "../manifests/validation.ts";
import { newWorkflow, storeWorkflow, withStoredTemplates } from "../workflows/create.ts";
import { isFromObject, SOURCE, SOURCE_LABEL } from "../workflows/object_origin.ts";
import { NOT_ARCHIVED } from "../workflows/reads.ts";
import { keyOfFacts, KnownObjects } from "./known_objects.ts";
import {
  type EditCommand,
  editsOf,
  isTakenOver,
  manifestOf,
  mayHaveMissed,
  mayShow,
  type ObjectFacts,
  type RunNote,
  withoutWorkflow,
} from "./object_facts.ts";
import { claimPatch, endPatch, statusPatch } from "./object_patches.ts";

/** Workflows that are compared at a time after a list. */
const PAGE = 500;
/** How long a repeated submission of an object is recognised. */
const KEY_TTL_MS = 7 * 86_400_000;

const COMMANDS: Record<EditCommand, ControlRequest> = {
  suspend: { type: "suspend" },
  unsuspend: { type: "resume", onlyWorkflow: true },
  stop: { type: "stop" },
  terminate: { type: "terminate" },
};

export interface WorkflowObjectsOptions {
  calls: ObjectCalls;
  /** Names this store among those that may run objects of the same cluster. */
  storeId: string;
  /** Writes a second. */
  rate: number;
}

export class WorkflowObjects {
  readonly #deps: ServiceDeps;
  readonly #options: WorkflowObjectsOptions;
  readonly #known: KnownObjects;
  readonly #writer: StatusWriter;
  readonly #calls: ObjectCalls;

  constructor(deps: ServiceDeps, options: WorkflowObjectsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#calls = options.calls;
    this.#known = new KnownObjects(deps.settings.naming.labelPrefix);
    this.#writer = new StatusWriter({
      clock: deps.clock,
      rate: options.rate,
      write: (key) => this.#write(key),
      onTrouble: (key, error) =>
        deps.log.warn({ workflow: key, err: error }, "workflow object was not written"),
    });
  }

  /** Objects that are known. */
  get size(): number {
    return this.#known.size;
  }

  /** Writes what is to be written until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#writer.run(signal);
  }

  /** Receives the objects of a namespace, or of all namespaces. */
  sink(namespace: string | undefined): ObjectSink {
    return {
      see: (object) => this.#see(object),
      gone: (object) => this.#gone(object),
      listed: (keys) => this.#listed(keys, namespace),
    };
  }

  /** Handles a change of the store's feed. */
  async changed({ type, id, index }: Change): Promise<void> {
    const place = parseWorkflowActorId(id);
    if (place === undefined || index === undefined || !isFromObject(index)) return;
    const key = `${place.namespace}/${place.name}`;
    const facts = this.#known.get(key);
    if (facts?.uid !== index.uid) return;
    if (type === "DELETED") await this.#removeObject(facts);
    else this.#writer.want(key, (index.finishedAt ?? 0) > 0);
  }

  /** Goes through all workflows that were made from objects, and finds those that their object does not show, or that lost it. */
  async compare(namespace: string | undefined): Promise<Set<string>> {
    const found = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await this.#deps.store.query.list({
        kind: "wf",
        labels: [{ key: SOURCE_LABEL, operator: "=", values: [SOURCE] }, NOT_ARCHIVED],
        ...defined({ namespace, continue: cursor }),
        limit: PAGE,
        parts: [],
      });
      for (const { index, version } of page.items) {
        if (!isFromObject(index)) continue;
        const key = `${index.namespace}/${index.name}`;
        const facts = this.#known.get(key);
        if (facts?.uid === index.uid) {
          found.add(key);
          if (facts.run?.version !== version) this.#writer.want(key);
        } else await this.#checkGone(index);
      }
      cursor = page.continue;
    } while (cursor !== undefined);
    return found;
  }

  async #listed(keys: ReadonlySet<string>, namespace: string | undefined): Promise<void> {
    const listed = this.#known.inNamespace(namespace);
    for (const [key] of listed) if (!keys.has(key)) this.#forget(key);
    const strangers = listed.filter(([, { run, isCompleted }]) =>
      run !== undefined && run.store !== this.#options.storeId && !isCompleted
    );
    if (strangers.length > 0) {
      this.#deps.log.warn(
        { namespace, objects: strangers.length, first: strangers[0]?.[0] },
        "Workflow objects belong to another store; they are left as they are",
      );
    }
    const found = await this.compare(namespace);
    for (const [key, facts] of listed) {
      if (keys.has(key) && !found.has(key)) {
        await this.#guard(facts, () => this.#settleWithoutWorkflow(facts));
      }
    }
  }

  #forget(key: string): void {
    this.#known.forget(key);
    this.#writer.forget(key);
  }

  async #see(object: ClusterObject): Promise<void> {
    const before = this.#known.get(keyOf(object));
    const facts = this.#known.readEdited(object);
    if (!this.#known.keep(facts) || facts.isForeign || facts.isDeleting) return;
    await this.#guard(facts, async () => {
      const { run } = facts;
      if (run === undefined) {
        if (facts.phase === "") await this.#take(object, facts);
      } else if (run.store === this.#options.storeId) {
        if (!isTakenOver(facts)) await this.#edit(facts, run);
        else if (mayHaveMissed(before, run, facts.uid)) this.#writer.want(keyOfFacts(facts));
      }
    });
  }

  async #gone(object: ClusterObject): Promise<void> {
    this.#forget(keyOf(object));
    await this.#deleteWorkflow(this.#known.read(object));
  }

  /** A fault of one object does not affect others. After trouble with the store or the API server, everything is read again. */
  async #guard(facts: ObjectFacts, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (error instanceof KubeError ? error.isTransient : isTransient(error)) throw error;
      this.#deps.log.error({ ...placeOf(facts), err: error }, "workflow object is passed over");
    }
  }

  /** Runs an object that nobody has taken. */
  async #take(object: ClusterObject, facts: ObjectFacts): Promise<void> {
    const before = await this.#findWorkflow(facts);
    const owner = before?.metadata.uid ?? "";
    if (before !== undefined && owner !== facts.uid) {
      const { namespace, name } = facts;
      if (!isFromObject({ uid: owner, labels: before.metadata.labels ?? {} })) {
        const message = "a workflow of this name exists that was not made by kubectl; use another";
        return await this.#end(facts, "Failed", message);
      }
      await this.#checkGone({ namespace, name, uid: owner });
    }
    const workflow = owner === facts.uid ? undefined : await this.#checked(object, facts);
    if (workflow === "invalid") return;
    if (!await this.#patch(facts, claimPatch(facts, this.#options.storeId))) return;
    if (workflow !== undefined) await this.#submit(facts, workflow);
    this.#writer.want(keyOfFacts(facts), true);
  }

  async #submit(facts: ObjectFacts, workflow: Workflow): Promise<void> {
    const { namespace, uid } = facts;
    const key = `object:${uid}`;
    let reason = "";
    try {
      await storeWorkflow(this.#deps, unrestrictedCaller(), {
        namespace,
        workflow,
        uid,
        idempotency: { key, fingerprint: key, ttlMs: KEY_TTL_MS },
      });
      this.#deps.log.info({ ...placeOf(facts), uid }, "workflow object taken");
    } catch (error) {
      if (!(error instanceof Problem) || isTransient(error)) throw error;
      reason = error.message;
    }
    const now = await this.#findWorkflow(facts);
    if (now?.metadata.uid === uid) return;
    const current = this.#known.get(keyOfFacts(facts)) ?? facts;
    if (reason !== "") await this.#end(current, "Failed", reason);
    // It ran earlier and has been deleted here since.
    else await this.#removeObject(current);
  }

  /** The workflow of an object; one that can't be run is ended. */
  async #checked(object: ClusterObject, facts: ObjectFacts): Promise<Workflow | "invalid"> {
    try {
      const decoded = decodeManifest("Workflow", manifestOf(object, this.#deps.settings.naming));
      const caller = unrestrictedCaller();
      const workflow = newWorkflow(this.#deps, decoded, caller);
      const templates = await validateNewWorkflow(this.#deps, caller, workflow, facts.namespace);
      return withStoredTemplates(workflow, templates);
    } catch (error) {
      if (!(error instanceof Problem) || isTransient(error)) throw error;
      await this.#end(facts, "Failed", `invalid spec: ${error.message}`);
      return "invalid";
    }
  }

  /** Does what somebody asked for by an edit of the object. A refused edit is reverted. */
  async #edit(facts: ObjectFacts, run: RunNote): Promise<void> {
    const { host, log } = this.#deps;
    for (const edit of editsOf(facts)) {
      try {
        await host.execute(facts.namespace, facts.name, {
          type: "control",
          request: COMMANDS[edit],
        });
        log.info({ ...placeOf(facts), edit }, "workflow object edited");
      } catch (error) {
        if (!(error instanceof Problem) || isTransient(error)) throw error;
        log.info({ ...placeOf(facts), edit, reason: error.message }, "edit refused");
      }
    }
    this.#known.takeOver(facts, run);
    this.#writer.want(keyOfFacts(facts), true);
  }

  async #settleWithoutWorkflow(facts: ObjectFacts): Promise<void> {
    switch (withoutWorkflow(facts, this.#options.storeId)) {
      case "leave":
        return;
      case "remove":
        return await this.#removeObject(facts);
      case "lost":
        return await this.#end(facts, "Error", "the workflow is not in the store any more");
      case "run": {
        // The object was claimed, but its submission was interrupted. It is treated as a new one.
        const object = await this.#calls.read(facts);
        if (object === undefined || object.metadata.uid !== facts.uid) return;
        const now = this.#known.read(object);
        if (now.phase === "" && !now.isDeleting) await this.#take(object, now);
        return;
      }
    }
  }

  /** Deletes a workflow whose object seems to be gone, if it is. */
  async #checkGone(
    index: { namespace: string; name: string; uid: string },
  ): Promise<void> {
    const object = await this.#calls.read(index);
    if (object?.metadata.uid !== index.uid) await this.#deleteWorkflow(index);
  }

  async #deleteWorkflow(
    { namespace, name, uid }: { namespace: string; name: string; uid: string },
  ): Promise<void> {
    const workflow = await this.#findWorkflow({ namespace, name });
    if (
      workflow?.metadata.uid !== uid ||
      !isFromObject({ uid, labels: workflow.metadata.labels ?? {} })
    ) return;
    try {
      const command = { type: "delete", uid, force: true } as const;
      await withDependents(
        this.#deps,
        { namespace, name, uid },
        () => this.#deps.host.execute(namespace, name, command),
      );
      this.#deps.log.info({ namespace, workflow: name, uid }, "workflow object deleted");
    } catch (error) {
      if (!(error instanceof Problem) || isTransient(error)) throw error;
    }
  }

  #removeObject({ namespace, name, uid }: ObjectFacts): Promise<void> {
    return this.#calls.remove(namespace, name, uid);
  }

  async #end(facts: ObjectFacts, phase: "Failed" | "Error", message: string): Promise<void> {
    this.#deps.log.warn({ ...placeOf(facts), reason: message }, "workflow object ended");
    const at = rfc3339(this.#deps.clock.now());
    const { labelPrefix } = this.#deps.settings.naming;
    await this.#patch(facts, endPatch(facts, { phase, message, at, labelPrefix }));
  }

  /** Shows the state of a workflow in its object. */
  async #write(key: string): Promise<WriteOutcome> {
    const facts = this.#known.get(key);
    const isOurs = facts?.run === undefined || facts.run.store === this.#options.storeId;
    if (facts === undefined || !isOurs || !mayShow(facts)) return { type: "done" };
    // Read after the object's version is known, so that a write that succeeds never shows a state older than the object.
    const stored = await this.#find(facts);
    if (stored === undefined) return { type: "done" };
    const workflow = await this.#read(stored);
    if (workflow.metadata.uid !== facts.uid || facts.run?.version === stored.version) {
      return { type: "done" };
    }
    const patch = statusPatch(facts, {
      workflow,
      status: await fitStatus(workflow),
      version: stored.version,
      store: this.#options.storeId,
      labelPrefix: this.#deps.settings.naming.labelPrefix,
    });
    try {
      if (!await this.#patch(facts, patch)) return { type: "later" };
      this.#known.shown(facts);
      return { type: "done" };
    } catch (error) {
      if (!(error instanceof KubeError) || !error.isTransient) throw error;
      this.#deps.log.info({ workflow: key, reason: error.message }, "status is written later");
      return { type: "later", pauseMs: (error.retryAfterSeconds ?? 0) * 1000 };
    }
  }

  /**
   * Patches the known version of an object. Afterwards the new version is known, or what somebody else has made of the object.
   * @returns false when somebody else has changed it, or it is gone
   */
  async #patch(facts: ObjectFacts, patch: JsonObject[]): Promise<boolean> {
    const { isDone, object } = await this.#calls.patch(facts, patch);
    if (isDone) this.#known.keepPatched(this.#known.read(object));
    // Somebody may have edited it; the edit is carried out.
    else if (object?.metadata.uid === facts.uid) await this.#see(object);
    return isDone;
  }

  #find({ namespace, name }: { namespace: string; name: string }): Promise<
    StoredActor | undefined
  > {
    return this.#deps.workflows.find(namespace, name);
  }

  async #findWorkflow(
    place: { namespace: string; name: string },
  ): Promise<Workflow | undefined> {
    const stored = await this.#find(place);
    return stored && await this.#read(stored);
  }

  #read(stored: StoredActor): Promise<Workflow> {
    return readStoredWorkflow(stored, this.#deps, new Turns());
  }
}

function placeOf({ namespace, name }: ObjectFacts): { namespace: string; name: string } {
  return { namespace, name };
}
