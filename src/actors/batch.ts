/**
 * Applies a batch of commands of one shard to its actors, in memory. Nothing here is visible to anybody before the
 * caller has committed it. A command that makes an actor throw (a defect of ours) is taken out and refused, and its
 * actor starts again from what is stored, so that it harms no other command.
 */
import type { Json } from "../base/json.ts";
import { isJsonObject } from "../base/json.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import { workingOn } from "../base/work.ts";
import { NewerSchema } from "../engine/codec.ts";
import type { EngineEnv, ManifestRef } from "../engine/engine.ts";
import type { WorkflowLimits } from "../engine/limits.ts";
import type { Clock } from "../platform/clock.ts";
import type { FairLimiter } from "../platform/fair_limiter.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { Turns } from "../platform/turns.ts";
import { manifestObject } from "../store/manifest_object.ts";
import type {
  ActorChange,
  ActorId,
  Cursor,
  IndexEntry,
  Lease,
  LoadBounds,
  Store,
  StoredActor,
  StoredManifest,
} from "../store/port.ts";
import type { ActorCache } from "./actor_cache.ts";
import { namespaceOf } from "./actor_ids.ts";
import type { ActorKind, Answer, HostEffect, HotEntry } from "./hot_actor.ts";
import { kindOf } from "./kinds.ts";
import type { LoopShare } from "./loop_share.ts";
import type { Result } from "./result.ts";
import type { Naming } from "../spec/naming.ts";

/** A command waiting in a shard's queue. */
export interface QueueItem {
  actor: ActorId;
  body: Json;
  /** Where it stood in the mailbox, if it came from there. */
  cursor?: Cursor;
  replyTo?: { replica: string; request: string };
  idempotency?: { key: string; fingerprint: string; ttlMs?: number };
  /** Hears the result, once. */
  settle?: (result: Result) => void;
  /** Row of the timer that made this command. */
  timer?: string;
  /** Monotonic time of arrival, ms. */
  arrivedAt: number;
}

/** The commands of one actor in a batch, and what they did. */
export interface Group {
  id: ActorId;
  kind: ActorKind;
  items: QueueItem[];
  entry: HotEntry;
  /** What each command is told, or why it was refused. */
  outcomes: Map<QueueItem, { answer: Answer | undefined } | { error: unknown }>;
  changes: ActorChange[];
  effects: HostEffect[];
  /** The actor was removed in this batch, maybe created again after. */
  removed: boolean;
  /** It was ended without a look at its nodes: what it has under way is cancelled. */
  isAside?: true;
  /** Tasks that it had under way are to be ended. */
  endsTasks: boolean;
}

export interface BatchDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Logger;
  cache: ActorCache;
  kinds: readonly ActorKind[];
  /** Bounds actors loaded at once, by namespace. */
  loads: FairLimiter;
  /** How the actors share the thread. */
  share: LoopShare;
  naming: Naming;
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default nothing bounds it */
  limits?: WorkflowLimits;
  /** Never goes on: commands are applied, nothing follows. */
  frozen: boolean;
}

/** The store can't be read now; the batch may be tried again. */
export class StoreTrouble extends Error {
  constructor(cause: unknown) {
    super("The store cannot be read", { cause });
    this.name = "StoreTrouble";
  }
}

/** How often an actor may fail to be loaded or to go on, in a row and from what is stored, before it is put aside. */
const MAX_FAILURES = 3;

/** Rounds of loading manifests that one command may need; beyond it is a defect. */
const MAX_ROUNDS = 1_000;

/**
 * Applies the items in order. The actors stay pinned in the cache until the caller unpins them.
 *
 * @param suspects actors that must be looked for in the store even when a command says it makes them
 * @throws {StoreTrouble} nothing was applied
 */
export async function applyBatch(
  lease: Lease,
  items: QueueItem[],
  suspects: ReadonlySet<ActorId>,
  deps: BatchDeps,
): Promise<Group[]> {
  const byActor = new Map<ActorId, QueueItem[]>();
  const groups: Promise<Group | undefined>[] = [];
  for (const item of items) {
    const own = byActor.get(item.actor);
    if (own) own.push(item);
    else byActor.set(item.actor, [item]);
  }
  const env = createEnv(deps);
  for (const [id, own] of byActor) groups.push(applyToActor(lease, id, own, suspects, env, deps));
  const settled = await Promise.allSettled(groups);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed) {
    for (const id of byActor.keys()) deps.cache.drop(id, lease);
    throw failed.reason;
  }
  return settled.flatMap((one) => one.status === "fulfilled" && one.value ? [one.value] : []);
}

async function applyToActor(
  lease: Lease,
  id: ActorId,
  items: QueueItem[],
  suspects: ReadonlySet<ActorId>,
  env: BatchEnv,
  deps: BatchDeps,
): Promise<Group> {
  const kind = kindOf(deps.kinds, id) ?? unknownKind;
  const isNew = items[0] !== undefined && kind.creates(items[0].body) && !suspects.has(id);
  const poison = new Map<QueueItem, unknown>();
  let entry = deps.cache.pin(id, lease);
  let stepwise = false;
  let failures = 0;
  for (;;) {
    const group: Group = {
      id,
      kind,
      items,
      entry: entry ?? { actor: kind.hydrate(id, undefined), version: undefined },
      outcomes: new Map(),
      changes: [],
      effects: [],
      removed: false,
      endsTasks: false,
    };
    try {
      if (!entry) {
        if (!isNew || poison.size > 0) {
          const left = items.filter((item) => !poison.has(item));
          group.entry = await load(lease.shard, id, kind, left, deps);
        }
        deps.cache.add(id, lease, group.entry);
      }
      await runGroup(group, poison, stepwise, env, deps);
      return group;
    } catch (defect) {
      deps.cache.drop(id, lease);
      entry = undefined;
      if (defect instanceof StoreTrouble) throw defect;
      const current = defect instanceof Poisoned ? defect.item : undefined;
      const cause = defect instanceof Poisoned ? defect.cause : defect;
      deps.log.error({ actor: id, command: typeOf(current?.body), err: cause }, "actor failed");
      if (cause instanceof Unreadable && items.some((item) => isEnough(kind, item))) {
        for (const item of items) if (!isEnough(kind, item)) poison.set(item, cause);
        continue;
      }
      const isRefusable = current !== undefined && kind.mayRefuse?.(current.body) !== false;
      const isNewer = cause instanceof Unreadable && cause.cause instanceof NewerSchema;
      const canBeAside = kind.putAside !== undefined && !isNewer;
      if (canBeAside && !isRefusable) {
        stepwise = true;
        if (++failures < MAX_FAILURES) continue;
        const aside = await putAside(lease, group, cause, env, deps);
        if (aside !== undefined) return aside;
      }
      if (current) poison.set(current, cause);
      else if (stepwise) { for (const item of items) poison.set(item, cause); }
      else stepwise = true;
      if (poison.size === items.length) {
        return {
          ...group,
          entry: { actor: kind.hydrate(id, undefined), version: undefined },
          outcomes: new Map(items.map((item) => [item, { error: poison.get(item) }])),
          changes: [],
          effects: [],
        };
      }
    }
  }
}

/** Ends an actor that can't go on: its commands are refused. Undefined when nothing of it is stored. */
async function putAside(
  lease: Lease,
  { id, kind, items }: Group,
  cause: unknown,
  env: EngineEnv,
  deps: BatchDeps,
): Promise<Group | undefined> {
  const stored = await readActor(lease.shard, id, deps);
  if (stored === undefined || kind.putAside === undefined) return undefined;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const { put, drop, index, effects } = kind.putAside(id, stored, reason, env);
  deps.log.error({ actor: id, err: cause }, "actor put aside");
  const { version } = stored;
  const actor = kind.hydrate(id, { ...stored, parts: { ...stored.parts, ...put } });
  const entry: HotEntry = { actor, version };
  deps.cache.add(id, lease, entry);
  const refusal = new Problem(
    ProblemCode.FailedPrecondition,
    `The workflow was put aside: ${reason}`,
  );
  return {
    id,
    kind,
    items,
    entry,
    outcomes: new Map(items.map((item) => [
      item,
      kind.mayRefuse?.(item.body) === false ? { answer: undefined } : { error: refusal },
    ])),
    changes: [{
      id,
      put,
      drop,
      ...(index === undefined ? {} : { index }),
      ...(kind.silent ? { silent: true as const } : {}),
    }],
    effects,
    removed: false,
    endsTasks: false,
    isAside: true,
  };
}

/** A command during which the actor threw. */
class Poisoned extends Error {
  readonly item: QueueItem;
  constructor(item: QueueItem, cause: unknown) {
    super("poisoned", { cause });
    this.item = item;
  }
}

/** What is stored of an actor cannot be read: only commands for which a part of it is enough can be carried out. */
class Unreadable extends Problem {
  constructor(id: ActorId, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      ProblemCode.FailedPrecondition,
      `"${id}" cannot be read from the store (${why}): it can only be terminated or deleted`,
      { cause },
    );
  }
}

/** Parts of an actor that are read in one go. */
const PARTS_AT_ONCE = 1_000;

/** @param items commands for which it is loaded: where part of it is enough for all of them, no more is loaded */
async function load(
  shard: number,
  id: ActorId,
  kind: ActorKind,
  items: QueueItem[],
  deps: BatchDeps,
): Promise<HotEntry> {
  const areModest = items.every((item) => isEnough(kind, item));
  const bounds = areModest ? kind.enough?.(items[0]?.body ?? null) : undefined;
  const stored = await readActor(shard, id, deps, bounds);
  const version = stored?.version;
  if (stored?.withoutNodes === true && kind.hydrateBare) {
    return { actor: kind.hydrateBare(stored), version };
  }
  if (deps.share.isTired) await deps.share.rest();
  try {
    const isLarge = stored !== undefined && Object.keys(stored.parts).length > PARTS_AT_ONCE;
    const actor = isLarge && kind.hydrateInTurns
      ? await kind.hydrateInTurns(stored)
      : deps.share.run(() => kind.hydrate(id, stored));
    return { actor, version };
  } catch (cause) {
    if (areModest && stored && kind.hydrateBare) {
      return { actor: kind.hydrateBare(stored, cause), version };
    }
    throw new Unreadable(id, cause);
  }
}

async function readActor(
  shard: number,
  id: ActorId,
  { loads, store }: BatchDeps,
  bounds?: LoadBounds,
): Promise<StoredActor | undefined> {
  return await loads.run(namespaceOf(id), () => store.shards.loadActor(shard, id, bounds)).catch(
    (cause) => {
      throw new StoreTrouble(cause);
    },
  );
}

/** Tells whether a command can be carried out when only a part of its actor is known. */
function isEnough(kind: ActorKind, { body }: QueueItem): boolean {
  return kind.enough?.(body) !== undefined;
}

/** Runs the commands of one actor; `stepwise` settles after each, to find the one that makes it throw. */
async function runGroup(
  group: Group,
  poison: Map<QueueItem, unknown>,
  stepwise: boolean,
  env: BatchEnv,
  deps: BatchDeps,
): Promise<void> {
  const draft = new Draft(group);
  if (deps.share.isTired) await deps.share.rest();
  // Whoever can't go on by itself must not be taken for one whose command is to blame.
  if (stepwise) await settle(draft, env, deps);
  for (const item of group.items) {
    if (poison.has(item)) {
      group.outcomes.set(item, { error: poison.get(item) });
      continue;
    }
    // Many commands of one actor may take long together.
    if (deps.share.isTired) await deps.share.rest();
    workingOn("workflow", group.id);
    try {
      let answer = deps.share.run(() => group.entry.actor.receive(item.body, env));
      if (typeof answer === "object") {
        const turns = new Turns();
        answer = await turns.run(answer);
        await turns.pause();
      }
      group.outcomes.set(item, { answer });
      draft.afterReceive();
      if (stepwise) await settle(draft, env, deps);
    } catch (cause) {
      if (cause instanceof StoreTrouble) throw cause;
      if (!(cause instanceof Problem)) throw new Poisoned(item, cause);
      group.outcomes.set(item, { error: cause });
    }
  }
  if (!stepwise) await settle(draft, env, deps);
  draft.finish();
}

/** Lets the actor go on until it needs nothing more. */
async function settle(draft: Draft, env: BatchEnv, deps: BatchDeps): Promise<void> {
  const { actor } = draft.group.entry;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    workingOn("workflow", draft.group.id);
    if (!deps.frozen && actor.exists()) deps.share.run(() => actor.advance(env));
    const needs = draft.take();
    if (needs.length === 0 || deps.frozen) return;
    await env.load(needs);
  }
  throw new Error(`Actor needs manifests again and again`);
}

/** Gathers what one actor changed in a batch into changes for the commit. */
class Draft {
  readonly group: Group;
  #put: Record<string, string> = {};
  #drop = new Set<string>();
  #index: IndexEntry | undefined;
  #remains: string | undefined;
  #touched = false;
  #stored: boolean;
  #existed: boolean;

  constructor(group: Group) {
    this.group = group;
    this.#stored = group.entry.version !== undefined;
    this.#existed = this.#stored;
  }

  /** Notices that a command removed the actor. */
  afterReceive(): void {
    const exists = this.group.entry.actor.exists();
    if (this.#existed && !exists) {
      this.take();
      const survivors = this.group.effects.filter(survivesRemoval);
      this.group.effects.splice(0, this.group.effects.length, ...survivors);
      if (this.#stored) {
        const { id } = this.group;
        const left = this.#remains === undefined ? {} : { remains: this.#remains };
        this.group.changes.push({
          id,
          put: {},
          drop: [],
          remove: true,
          ...left,
          ...this.#silent(),
        });
      }
      this.#remains = undefined;
      this.#put = {};
      this.#drop.clear();
      this.#index = undefined;
      this.#touched = false;
      this.#stored = false;
      this.group.removed = true;
    }
    this.#existed = exists;
  }

  take(): ManifestRef[] {
    const taken = this.group.entry.actor.take();
    for (const key of taken.drop) {
      delete this.#put[key];
      this.#drop.add(key);
      this.#touched = true;
    }
    for (const key in taken.put) {
      this.#put[key] = taken.put[key] ?? "";
      this.#drop.delete(key);
      this.#touched = true;
    }
    if (taken.index) {
      this.#index = taken.index;
      this.#touched = true;
    }
    if (taken.remains !== undefined) this.#remains = taken.remains;
    if (taken.endsTasks === true) this.group.endsTasks = true;
    for (const effect of taken.effects) this.group.effects.push(effect);
    return taken.needs;
  }

  finish(): void {
    if (!this.#touched) return;
    const change: ActorChange = {
      id: this.group.id,
      put: this.#put,
      drop: [...this.#drop],
      ...this.#silent(),
    };
    if (this.#index) change.index = this.#index;
    if (!this.#stored) change.create = true;
    this.group.changes.push(change);
  }

  #silent(): { silent?: true } {
    return this.group.kind.silent ? { silent: true } : {};
  }
}

/** Effects that still make sense when their actor is gone; its tasks are cancelled by the host. */
function survivesRemoval(effect: HostEffect): boolean {
  return effect.type === "clear-timer" || effect.type === "release-locks" ||
    effect.type === "clean-tasks" || effect.type === "remove-claims" ||
    effect.type === "collect-artifacts" || effect.type === "release-all-locks" ||
    effect.type === "sweep-remains" ||
    effect.type === "observe-metric" || effect.type === "send";
}

interface BatchEnv extends EngineEnv {
  load(needs: ManifestRef[]): Promise<void>;
}

/** Time, names and manifests for one batch. Manifests are read afresh in every batch: what was stored before a command was sent is seen by it. */
function createEnv(deps: BatchDeps): BatchEnv {
  const manifests = new Map<string, unknown>();
  const loading = new Map<string, Promise<void>>();
  const keyOf = (kind: string, namespace: string, name: string) => `${kind}/${namespace}/${name}`;
  return {
    now: deps.clock.now(),
    ...deps.naming,
    ...(deps.artifactKeys !== undefined && { artifactKeys: deps.artifactKeys }),
    ...(deps.limits === undefined ? {} : { limits: deps.limits }),
    mayGoOn: deps.share.mayGoOn,
    randomSuffix: (length) => deps.ids.suffix(length),
    findManifest: (kind, namespace, name) => manifests.get(keyOf(kind, namespace, name)),
    async load(needs) {
      await Promise.all(needs.map(({ kind, namespace, name }) => {
        const key = keyOf(kind, namespace, name);
        let load = loading.get(key);
        if (!load) {
          const scope = kind === "ClusterWorkflowTemplate" ? "" : namespace;
          load = deps.store.manifests.get(kind, scope, name).then(
            (stored) => void manifests.set(key, stored ? readable(stored, deps.log) : null),
            (cause) => {
              throw new StoreTrouble(cause);
            },
          );
          loading.set(key, load);
        }
        return load;
      }));
    },
  };
}

/** The object of a manifest; null, as if there was none, when it cannot be read. */
function readable(stored: StoredManifest, log: Logger): object | null {
  try {
    return manifestObject<object>(stored);
  } catch (cause) {
    log.error({ err: cause }, "a stored manifest cannot be read");
    return null;
  }
}

/** Stands in for kinds that a newer program has, so that their commands are refused and harm nobody. */
const unknownKind: ActorKind = {
  prefix: "",
  silent: true,
  creates: () => true,
  hydrate: (id) => ({
    id,
    exists: () => false,
    receive() {
      throw new Problem(ProblemCode.Unimplemented, `This version knows no actor "${id}"`);
    },
    advance() {},
    take: () => ({ put: {}, drop: [], effects: [], needs: [] }),
    weight: () => 0,
    rests: () => true,
    isGrowing: () => false,
  }),
};

/** The word that tells what a command is about, for logs. */
export function typeOf(body: Json | undefined): string {
  return isJsonObject(body) && typeof body["type"] === "string" ? body["type"] : "unknown";
}

/** The refusal for an idempotency key that came with another request. */
export function keyReused(): Problem {
  return new Problem(
    ProblemCode.Aborted,
    "The idempotency key was used with another request; take a new key",
    { status: 422 },
  );
}

/** The refusal of a command that no actor understands. */
export function unknownCommand(body: Json): Problem {
  return invalid(`Unknown command "${typeOf(body)}"`);
}
