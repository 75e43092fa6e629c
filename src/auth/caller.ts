/** Callers whose rights need no rules. */
import { defined } from "../base/defined.ts";
import type { Caller, Identity } from "./port.ts";

/** A caller who may do everything: the server itself, and everybody when authentication is off. */
export function unrestrictedCaller(identity: Identity = {}): Caller {
  return {
    identity,
    isUnrestricted: true,
    may: () => Promise.resolve(true),
    namespaces: () => ["*"],
  };
}

/** A caller who may do nothing. */
export function powerlessCaller(identity: Identity, apiGroup?: string): Caller {
  return {
    identity,
    ...defined({ apiGroup }),
    may: () => Promise.resolve(false),
    namespaces: () => [],
  };
}
