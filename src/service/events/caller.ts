/** The rights of an event: those that its sender has when it is dispatched. */
import { powerlessCaller, unrestrictedCaller } from "../../auth/caller.ts";
import type { Caller, Identity } from "../../auth/port.ts";
import type { ServiceDeps } from "../deps.ts";

/** The caller for an identity that was proved when the event arrived. */
export function eventCaller(deps: ServiceDeps, identity: Identity): Caller {
  if (deps.callerOf !== undefined) return deps.callerOf(identity);
  const { authRequired, naming } = deps.settings;
  return authRequired ? powerlessCaller(identity, naming.apiGroup) : unrestrictedCaller(identity);
}
