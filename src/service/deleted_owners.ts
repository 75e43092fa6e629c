/**
 * Workflows go with the cron workflow or workflow that owns them, as a cluster's garbage collector would have it. Before the owner is
 * removed, the store gets a note of it, so a crash in between loses nothing: whichever replica finds the note deletes what
 * is left. Only what is noted counts, so workflows that came from elsewhere with an owner that was never here stay.
 */
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import { type Clock, Pause } from "../platform/clock.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { ownedByLabel } from "../spec/naming.ts";
import type { ManifestStore, StoredManifest } from "../store/manifest_port.ts";
import type { QueryStore } from "../store/port.ts";
import type { DeleteRequest } from "./deletions.ts";
import { metadataOf } from "./workflows/stored_workflow.ts";

const KIND = ManifestKind.DeletedOwner;
/** How often the notes of others are looked for. */
const LOOK_EVERY_MS = 30_000;
/** After so long, a deletion that was on its way has mostly happened. */
const SOON_MS = 1_000;
/** So long after the deletion a run that was just being made may still appear. */
export const NOTE_KEPT_MS = 120_000;

/** A cron workflow or workflow that is being deleted. */
export interface DeletedOwner {
  /** @default a cron workflow */
  kind?: "Workflow";
  namespace: string;
  name: string;
  uid: string;
  /** Its workflows stay. */
  orphans: boolean;
  /** Epoch ms. */
  at: number;
}

/** Tells whether a deletion leaves the workflows alone. */
export function orphansDependents(
  { propagationPolicy, orphanDependents }: DeleteRequest,
): boolean {
  return propagationPolicy === "Orphan" || orphanDependents === true;
}

/**
 * Notes that a cron workflow goes away although nobody asked for it here: its object in the cluster is gone. What somebody
 * asked for here counts.
 */
export async function noteLostOwner(
  manifests: Pick<ManifestStore, "put">,
  { kind, namespace, name, text }: StoredManifest,
  now: number,
): Promise<void> {
  if (kind !== ManifestKind.CronWorkflow) return;
  const { uid, finalizers } = metadataOf(text) ?? {};
  if (typeof uid !== "string") return;
  // So the cluster notes that it was asked to leave what belongs to the object.
  const orphans = Array.isArray(finalizers) && finalizers.includes("orphan");
  await manifests.put(manifestOf({ namespace, name, uid, orphans, at: now }), undefined);
}

/** A workflow that is to be deleted. */
interface OwnerPlace {
  namespace: string;
  name: string;
  uid?: string | undefined;
}

/** Deletes a workflow, and then, in the background, the workflows that belong to it. */
export async function withDependents<T>(
  { deletedOwners }: { deletedOwners?: DeletedOwners | undefined },
  owner: OwnerPlace,
  remove: () => Promise<T>,
): Promise<T> {
  const isOwner = await deletedOwners?.noteWorkflow(owner);
  const done = await remove();
  if (isOwner === true) deletedOwners?.removed();
  return done;
}

/** What this replica knows of owners that are being deleted. */
export class DeletedOwners {
  readonly #manifests: Pick<ManifestStore, "put">;
  readonly #query: Pick<QueryStore, "list">;
  readonly #clock: Clock;
  /** Uids of those that were noted here, and until when this replica looks after them. */
  readonly #own = new Map<string, number>();
  readonly #pause: Pause;

  /** @param store without the archive: what is there only stays */
  constructor(
    { manifests, query }: {
      manifests: Pick<ManifestStore, "put">;
      query: Pick<QueryStore, "list">;
    },
    clock: Clock,
  ) {
    this.#manifests = manifests;
    this.#query = query;
    this.#clock = clock;
    this.#pause = new Pause(clock);
  }

  /** Notes a workflow before it is deleted, if others belong to it. Tells whether that is so. */
  async noteWorkflow({ namespace, name, uid = "" }: OwnerPlace): Promise<boolean> {
    if (uid === "") return false;
    const labels = [{ key: ownedByLabel(uid), operator: "=" as const, values: [""] }];
    const query = { kind: "wf" as const, namespace, labels, limit: 1, parts: [] };
    const { items } = await this.#query.list(query);
    if (items.length === 0) return false;
    await this.note({ kind: "Workflow", namespace, name, uid, orphans: false });
    return true;
  }

  /** Notes an owner before it is removed. If it is not removed after all, nothing happens to its workflows. */
  async note(owner: Omit<DeletedOwner, "at">): Promise<void> {
    const at = this.#clock.now();
    await this.#manifests.put(manifestOf({ ...owner, at }), "*");
    for (const [uid, until] of this.#own) if (until < at) this.#own.delete(uid);
    this.#own.set(owner.uid, at + NOTE_KEPT_MS);
  }

  /** An owner that was noted is removed. */
  removed(): void {
    this.#pause.end();
  }

  /** As `noteWorkflow`, of one whose deletion is on its way. */
  async noteEnding(owner: OwnerPlace): Promise<void> {
    if (await this.noteWorkflow(owner)) this.#clock.after(SOON_MS, () => this.#pause.end());
  }

  /** Tells whether an owner was deleted here, so that this replica need not be asked to look after it. */
  isOwn({ uid }: DeletedOwner): boolean {
    return this.#own.has(uid);
  }

  /** Waits until something was deleted here, or others may have left something. */
  rest(signal: AbortSignal): Promise<void> {
    return this.#pause.take(LOOK_EVERY_MS, signal);
  }
}

function manifestOf(owner: DeletedOwner): Omit<StoredManifest, "version"> {
  const { namespace, uid } = owner;
  return { kind: KIND, namespace, name: uid, text: JSON.stringify(owner), labels: {} };
}

/** Reads a note; undefined when the text is not one. */
export function parseDeletedOwner(text: string): DeletedOwner | undefined {
  const owner = parseOrUndefined(text);
  if (!isJsonObject(owner)) return undefined;
  const { kind, namespace, name, uid, orphans, at } = owner;
  const isOwner = (kind === undefined || kind === "Workflow") && typeof namespace === "string" &&
    typeof name === "string" &&
    typeof uid === "string" && typeof orphans === "boolean" && Number.isFinite(at);
  return isOwner ? owner as unknown as DeletedOwner : undefined;
}
