/** Workflows that only the archive has, as commands bring them back. */
import { archivedActorName } from "../../actors/actor_ids.ts";
import { notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { loadSteps } from "../../engine/codec.ts";
import { pastOf, type WorkflowPast } from "../../engine/past.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewSteps } from "../../engine/view.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { undefinedWhenNotFound } from "../problem_kinds.ts";

export interface ArchivedSource {
  workflow: Workflow;
  past: WorkflowPast;
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
  const workflow = await new Turns().run(viewSteps(state));
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
 * Deletes a workflow that only the archive has, with what it left outside. It stays there as a deleted one, if those are
 * kept.
 */
export async function deleteFromArchive(
  deps: Deps & Pick<ServiceDeps, "host">,
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
  forGood = false,
): Promise<void> {
  const source = await archivedSource(deps, namespace, name, uid);
  if (source === undefined) throw notFound("not found");
  const place = archivedActorName(name, uid);
  const removed = async () => {
    await deps.history?.archive.remove([uid]);
    if (await isArchivedOnly(deps, uid)) return;
    // Somebody else has deleted it at the same moment, to be kept.
    await deps.host.execute(namespace, place, { type: "delete", force: true })
      .catch(undefinedWhenNotFound);
    await deps.history?.archive.remove([uid]);
  };
  const command = { type: "delete-archived", ...source, ...(forGood && { forGood }) } as const;
  await deps.host.execute(namespace, place, command);
  if (forGood || await isArchivedOnly(deps, uid)) return await removed();
  // It is kept, unless somebody else has deleted it for good meanwhile.
  if (await deps.history?.archive.get(uid) === undefined) await removed();
}
