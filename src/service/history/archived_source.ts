/** Workflows that only the archive has, as commands bring them back. */
import { archivedActorName } from "../../actors/actor_ids.ts";
import { isProblem, notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { loadSteps } from "../../engine/codec.ts";
import { pastOf, type WorkflowPast } from "../../engine/past.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewSteps } from "../../engine/view.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { objectNotFound } from "../object_names.ts";
import { isGone, undefinedWhenNotFound } from "../problem_kinds.ts";
import { isDeleted } from "./archived_form.ts";

export interface ArchivedSource {
  workflow: Workflow;
  past: WorkflowPast;
}

/** An archived workflow. */
export interface ArchivedPlace {
  namespace: string;
  name: string;
  uid: string;
}

export interface ArchivedDeletion {
  /** It does not stay as a deleted one. @default {false} */
  forGood?: boolean;
  /** It stays in the store if somebody brings it back at the same moment. @default {false} */
  sparesReturned?: boolean;
}

type Deps = Pick<ServiceDeps, "workflows" | "history">;

/**
 * A workflow as it was when it went into the archive; undefined when there is none.
 * @param uid absent: the newest one of this name that was not deleted
 * @throws {Problem} FailedPrecondition when it cannot be read
 */
export async function archivedSource(
  deps: Deps,
  namespace: string,
  name: string,
  uid?: string,
): Promise<ArchivedSource | undefined> {
  const state = await archivedState(deps, namespace, name, uid);
  if (state === undefined) return undefined;
  const workflow = await new Turns().run(viewSteps(state, { exactTimes: true }));
  return { workflow, past: pastOf(state) };
}

/** The same as a state that can be asked, and is thrown away. */
export async function archivedState(
  { workflows }: Deps,
  namespace: string,
  name: string,
  uid?: string,
): Promise<WorkflowState | undefined> {
  const place = uid === undefined ? name : archivedActorName(name, uid);
  const stored = await workflows.find(namespace, place);
  if (stored === undefined) return undefined;
  try {
    return await new Turns().run(loadSteps(stored.parts));
  } catch {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `workflow "${name}" cannot be read in the archive: it can only be deleted`,
    );
  }
}

/** Tells whether the archive alone has a workflow. */
export async function isArchivedOnly({ history }: Deps, uid: string | undefined): Promise<boolean> {
  if (history === undefined || uid === undefined || uid === "") return false;
  return await history.live.query.findByUid(uid) === undefined;
}

/**
 * Carries out a command by which a workflow of the archive comes into the store. The archive notes first that the store may
 * have it, so that no count takes it for two; and once more afterwards, in case that the note was taken for a stale one.
 */
async function comesBack<T>(
  { history }: Pick<Deps, "history">,
  uid = "",
  execute: () => Promise<T>,
): Promise<T> {
  if (history === undefined) return await execute();
  await history.archive.noteBack([uid]);
  const done = await execute();
  // The command is done, whether the archive answers or not.
  await history.archive.noteBack([uid]).catch(() => {});
  return done;
}

/**
 * Deletes a workflow that only the archive has, with what it left outside. It stays there as a deleted one, if those are
 * kept.
 */
export async function deleteFromArchive(
  deps: Deps & Pick<ServiceDeps, "host">,
  ref: ArchivedPlace,
  { forGood = false, sparesReturned = false }: ArchivedDeletion = {},
): Promise<void> {
  await deleteThere(deps, ref, forGood);
  if (!sparesReturned) await deleteReturned(deps, ref, forGood);
}

/**
 * A retry may have brought a workflow back while it was deleted in the archive. The deletion looks at the store after it has
 * removed the row, and a retry at the row after it has brought the workflow back (`broughtBack`): so at least one of them
 * sees the other, and nothing that was deleted is left.
 */
export async function deleteReturned(
  { host }: Pick<ServiceDeps, "host">,
  { namespace, name, uid }: ArchivedPlace,
  forGood: boolean,
): Promise<void> {
  await host.execute(namespace, name, { type: "delete", uid, ...(forGood && { forGood }) })
    .catch((error: unknown) => {
      // Mostly it has not come back, and perhaps another one has its name.
      if (!isGone(error)) throw error;
    });
}

/**
 * Brings a workflow of the archive back. If it was deleted there at the same moment, that came first.
 * @throws {Problem} NotFound
 */
export async function broughtBack<T>(
  deps: Deps & Pick<ServiceDeps, "host" | "settings">,
  { namespace, name, uid, labels }: ArchivedPlace & { labels?: Record<string, string> | undefined },
  restore: () => Promise<T>,
): Promise<T> {
  const done = await comesBack(deps, uid, restore);
  const { naming } = deps.settings;
  const isThere = async () => {
    const copy = await archivedSource(deps, namespace, name, uid);
    return copy !== undefined &&
      (isDeleted(labels, naming) || !isDeleted(copy.workflow.metadata.labels, naming));
  };
  // If the archive does not tell, nobody has deleted it there.
  if (await isThere().catch(() => true)) return done;
  try {
    const undo = { type: "delete", uid, force: true, keepsArchived: true } as const;
    await deps.host.execute(namespace, name, undo);
  } catch (error) {
    // The deletion has seen it, so it came after the retry.
    if (isGone(error)) return done;
    throw error;
  }
  throw objectNotFound(deps, WORKFLOW, name);
}

async function deleteThere(
  deps: Deps & Pick<ServiceDeps, "host">,
  { namespace, name, uid }: ArchivedPlace,
  forGood: boolean,
): Promise<void> {
  let source: ArchivedSource | undefined;
  try {
    source = await archivedSource(deps, namespace, name, uid);
  } catch (error) {
    // One that cannot be read leaves nothing that could be found.
    if (!isProblem(error, ProblemCode.FailedPrecondition)) throw error;
    await deps.history?.archive.remove([uid]);
    return;
  }
  if (source === undefined) throw notFound("not found");
  const place = archivedActorName(name, uid);
  const removed = async () => {
    await deps.history?.archive.remove([uid]);
    if (await isArchivedOnly(deps, uid)) return;
    // Somebody else has deleted it at the same moment, to be kept.
    await deps.host.execute(namespace, place, { type: "delete", force: true, forGood: true })
      .catch(undefinedWhenNotFound);
    await deps.history?.archive.remove([uid]);
  };
  const command = { type: "delete-archived", ...source, ...(forGood && { forGood }) } as const;
  await comesBack(deps, uid, () => deps.host.execute(namespace, place, command));
  if (forGood || await isArchivedOnly(deps, uid)) return await removed();
  // It is kept, unless somebody else has deleted it for good meanwhile.
  if (await deps.history?.archive.get(uid) === undefined) await removed();
}
