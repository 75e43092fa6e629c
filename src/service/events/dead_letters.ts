/** Deliveries of subscriptions that were given up: reading them, and trying them again. */
import { type DeadLetter, deadLettersOf } from "../../actors/webhooks/dead_letters.ts";
import { deadLettersId } from "../../actors/webhooks/delivery.ts";
import type { Caller, Verb } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import { findManifest } from "../manifests/reads.ts";

const { resource } = MANIFEST_RESOURCES.Subscription;
const MAX_PAGE = 500;
const MAX_IDS = 1_000;

/**
 * The newest ones first.
 *
 * @param limit 0 asks for the most that an answer holds, 500
 * @throws {Problem} NotFound without such a subscription
 */
export async function listDeadLetters(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
  limit: number,
): Promise<DeadLetter[]> {
  await requireRight(caller, "get", namespace, name);
  const letters = await readLetters(deps, namespace, name);
  return letters.reverse().slice(0, limit > 0 ? Math.min(limit, MAX_PAGE) : MAX_PAGE);
}

/**
 * Has dead letters delivered again, oldest first. They keep their ids.
 *
 * @param ids which ones; undefined: all
 * @returns how many there were
 * @throws {Problem} NotFound without such a subscription, InvalidArgument when `ids` is empty: whoever found none means none
 */
export async function replayDeadLetters(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
  ids: readonly string[] | undefined,
): Promise<number> {
  await requireRight(caller, "update", namespace, name);
  if (ids?.length === 0) throw invalid("ids is empty: name dead letters, or leave it out for all");
  if ((ids?.length ?? 0) > MAX_IDS) throw invalid(`ids has more than ${MAX_IDS} members`);
  const letters = await readLetters(deps, namespace, name);
  const known = letters.map(({ delivery }) => delivery.id);
  const chosen = known.filter((id) => ids?.includes(id) ?? true);
  if (chosen.length === 0) return 0;
  const body = { type: "replay", ids: chosen };
  await deps.host.deliver(`replay/${deps.ids.uuid()}`, deadLettersId(namespace, name), body);
  return chosen.length;
}

/**
 * Also those of a subscription that was deleted since.
 * @throws {Problem} NotFound when there is neither a letter nor a subscription: an empty list would hide a wrong name
 */
async function readLetters(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<DeadLetter[]> {
  const letters = deadLettersOf(
    await deps.workflows.actors.load(deadLettersId(namespace, name)),
  );
  if (letters.length === 0) await findManifest(deps, "Subscription", namespace, name);
  return letters;
}

async function requireRight(
  caller: Caller,
  verb: Verb,
  namespace: string,
  name: string,
): Promise<void> {
  if (namespace === "" || name === "") throw invalid("the path must name a subscription");
  await requireAccess(caller, { verb, resource, namespace, name });
}
