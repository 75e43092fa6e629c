/** Callers whose rights need no rules. */
import type { Caller, Identity } from "./port.ts";

/** A caller who may do everything: the server itself, and everybody when authentication is off. */
export function unrestrictedCaller(identity: Identity = {}): Caller {
  return { identity, isUnrestricted: true, may: () => Promise.resolve(true) };
}

/** A caller who may do nothing. */
export function powerlessCaller(identity: Identity, apiGroup?: string): Caller {
  const group = apiGroup === undefined ? {} : { apiGroup };
  return { identity, ...group, may: () => Promise.resolve(false) };
}
