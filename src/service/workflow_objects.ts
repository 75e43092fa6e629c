/**
 * Workflow objects of the cluster as workflows. One replica works here at a time; what two do in the moment of a change of
 * leaders harms nothing: an object is claimed by a write on condition of its version, its workflow has the object's uid, and
 * the submission carries a key that derives from it, so that it is run once.
 */
import type { ControlRequest } from "../engine/command.ts";
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import { unrestrictedCaller } from "../auth/caller.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { rfc3339 } from "../engine/time_text.ts";
import { type ClusterObject, isOlderVersion, keyOf } from "../kubernetes/cluster_object.ts";
import { KubeError } from "../kubernetes/kube_client.ts";
import type { ObjectSink } from "../kubernetes/object_watch.ts";
import { decodeManifest } from "../spec/decode_manifest.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { Change, StoredActor } from "../store/port.ts";
import type { JsonObject } from "../base/json.ts";
import type { ServiceDeps } from "./deps.ts";
import { fitStatus } from "./fit_status.ts";
import type { ObjectCalls } from "./object_calls.ts";
import { StatusWriter, type WriteOutcome } from "./status_writer.ts";
import { Turns } from "../platform/turns.ts";
import { readStoredWorkflow } from "./stored_workflow.ts";
import { validateNewWorkflow } from "./validation.ts";
import { labelled, storeWorkflow, withStoredTemplates } from "./workflow_create.ts";
import { NOT_ARCHIVED } from "./workflow_reads.ts";
import {
  claimPatch,
  type EditCommand,
  editsOf,
  endPatch,
  factsOf,
  isFromObject,
  isTakenOver,
  manifestOf,
  type ObjectFacts,
  type RunNote,
  SOURCE,
  SOURCE_LABEL,
  statusPatch,
  switchText,
  withoutWorkflow,
} from "./workflow_object.ts";

/** Workflows that are compared at a time after a list. */
const PAGE = 500;
/** How long a repeated submission of an object is recognized. */
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
  readonly #seen = new Map<string, ObjectFacts>();
  /** By uid: switches that were taken over from an object, until a write says so in it. */
  readonly #taken = new Map<string, string>();
  readonly #writer: StatusWriter;
  readonly #calls: ObjectCalls;

  constructor(deps: ServiceDeps, options: WorkflowObjectsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#calls = options.calls;
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
    return this.#seen.size;
  }

  /** Writes what is to be written until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#writer.run(signal);
  }

  /** What hears of the objects of a namespace, or of all. */
  sink(namespace: string | undefined): ObjectSink {
    return {
      see: (object) => this.#see(object),
      gone: (object) => this.#gone(object),
      listed: (keys) => this.#listed(keys, namespace),
    };
  }

  /** A change of the store's feed. */
  async changed({ type, id, index }: Change): Promise<void> {
    const place = parseWorkflowActorId(id);
    if (place === undefined || index === undefined || !isFromObject(index)) return;
    const key = `${place.namespace}/${place.name}`;
    const facts = this.#seen.get(key);
    if (facts?.uid !== index.uid) return;
    if (type === "DELETED") await this.#removeObject(facts);
    else this.#writer.want(key, (index.finishedAt ?? 0) > 0);
  }

  /** Looks at all workflows that were made from objects: which are not shown as they are, which lost their object. */
  async compare(namespace: string | undefined): Promise<Set<string>> {
    const found = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await this.#deps.store.query.list({
        kind: "wf",
        labels: [{ key: SOURCE_LABEL, operator: "=", values: [SOURCE] }, NOT_ARCHIVED],
        ...(namespace === undefined ? {} : { namespace }),
        limit: PAGE,
        parts: [],
        ...(cursor === undefined ? {} : { continue: cursor }),
      });
      for (const { index, version } of page.items) {
        if (!isFromObject(index)) continue;
        const key = `${index.namespace}/${index.name}`;
        const facts = this.#seen.get(key);
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
    const listed = [...this.#seen].filter(([, facts]) =>
      namespace === undefined || facts.namespace === namespace
    );
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
    this.#taken.delete(this.#seen.get(key)?.uid ?? "");
    this.#seen.delete(key);
    this.#writer.forget(key);
  }

  async #see(object: ClusterObject): Promise<void> {
    const facts = this.#withTaken(factsOf(object, this.#deps.settings.naming.labelPrefix));
    const before = this.#seen.get(keyOf(object));
    if (!this.#know(facts) || facts.isForeign || facts.isDeleting) return;
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
    await this.#deleteWorkflow(factsOf(object, this.#deps.settings.naming.labelPrefix));
  }

  /** An edit that was taken over, and is taken back before the object says so, is an edit again. */
  #withTaken(facts: ObjectFacts): ObjectFacts {
    const spec = this.#taken.get(facts.uid);
    const { run } = facts;
    if (spec === undefined || run === undefined || run.spec === spec) return facts;
    return { ...facts, run: { ...run, spec, version: "" } };
  }

  /** Keeps what is known of an object, unless something newer is. @returns false when it is old */
  #know(facts: ObjectFacts): boolean {
    const key = keyOfFacts(facts);
    const known = this.#seen.get(key);
    if (known?.uid === facts.uid && isOlderVersion(facts.version, known.version)) return false;
    this.#seen.set(key, facts);
    return true;
  }

  /** What is wrong with one object holds up no other; trouble with store or API server begins all anew. */
  async #guard(facts: ObjectFacts, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (error instanceof KubeError ? error.isTransient : isTrouble(error)) throw error;
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
      if (!(error instanceof Problem) || isTrouble(error)) throw error;
      reason = error.message;
    }
    const now = await this.#findWorkflow(facts);
    if (now?.metadata.uid === uid) return;
    const current = this.#seen.get(keyOfFacts(facts)) ?? facts;
    if (reason !== "") await this.#end(current, "Failed", reason);
    // It ran before, and has been deleted here.
    else await this.#removeObject(current);
  }

  /** The workflow of an object; one that can't be run is ended. */
  async #checked(object: ClusterObject, facts: ObjectFacts): Promise<Workflow | "invalid"> {
    try {
      const decoded = decodeManifest("Workflow", manifestOf(object, this.#deps.settings.naming));
      const caller = unrestrictedCaller();
      const workflow = labelled(this.#deps, decoded, caller);
      const templates = await validateNewWorkflow(this.#deps, caller, workflow, facts.namespace);
      return withStoredTemplates(workflow, templates);
    } catch (error) {
      if (!(error instanceof Problem) || isTrouble(error)) throw error;
      await this.#end(facts, "Failed", `invalid spec: ${error.message}`);
      return "invalid";
    }
  }

  /** Does what somebody asked for by an edit of the object; what is refused is put back. */
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
        if (!(error instanceof Problem) || isTrouble(error)) throw error;
        log.info({ ...placeOf(facts), edit, reason: error.message }, "edit refused");
      }
    }
    this.#taken.set(facts.uid, switchText(facts));
    this.#know({ ...facts, run: { ...run, spec: switchText(facts), version: "" } });
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
        // A claimed object whose submission was cut off: looked at as if it were new.
        const object = await this.#calls.read(facts);
        if (object === undefined || object.metadata.uid !== facts.uid) return;
        const now = factsOf(object, this.#deps.settings.naming.labelPrefix);
        if (now.phase === "" && !now.isDeleting) await this.#take(object, now);
        return;
      }
    }
  }

  /** Deletes a workflow whose object seems to be gone, when it is. */
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
      await this.#deps.host.execute(namespace, name, { type: "delete", uid, force: true });
      this.#deps.log.info({ namespace, workflow: name, uid }, "workflow object deleted");
    } catch (error) {
      if (!(error instanceof Problem) || isTrouble(error)) throw error;
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
    const facts = this.#seen.get(key);
    const isOurs = facts?.run === undefined || facts.run.store === this.#options.storeId;
    if (facts === undefined || !isOurs || !isTakenOverOrNew(facts)) return { type: "done" };
    // Read after the object's version is known: a write that succeeds shows a state that is not older than the object.
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
      this.#taken.delete(facts.uid);
      return { type: "done" };
    } catch (error) {
      if (!(error instanceof KubeError) || !error.isTransient) throw error;
      this.#deps.log.info({ workflow: key, reason: error.message }, "status is written later");
      return { type: "later", pauseMs: (error.retryAfterSeconds ?? 0) * 1000 };
    }
  }

  /**
   * Patches an object in the version that is known; what it is then, or is instead, is known afterwards.
   * @returns false when it was changed by somebody else, or is gone
   */
  async #patch(facts: ObjectFacts, patch: JsonObject[]): Promise<boolean> {
    const { isDone, object } = await this.#calls.patch(facts, patch);
    if (isDone) this.#know(factsOf(object, this.#deps.settings.naming.labelPrefix));
    // Not only known but dealt with: it may be somebody's edit.
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

function keyOfFacts({ namespace, name }: ObjectFacts): string {
  return `${namespace}/${name}`;
}

function isTakenOverOrNew(facts: ObjectFacts): boolean {
  return facts.run === undefined || isTakenOver(facts);
}

/**
 * Somebody else has claimed an object, or shown its state: the leader before this one. What its workflow did then may have been
 * told before the object was known here.
 */
function mayHaveMissed(before: ObjectFacts | undefined, run: RunNote, uid: string): boolean {
  return before?.uid === uid ? before.run?.version !== run.version : run.version === "";
}

function isTrouble(error: unknown): boolean {
  return error instanceof Problem &&
    (error.code === ProblemCode.Unavailable || error.code === ProblemCode.DeadlineExceeded);
}
