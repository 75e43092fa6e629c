/** The keys of callback URLs, for those who run the service. No secret leaves it. */
import type { Caller } from "../../auth/port.ts";
import { errorText } from "../../base/error_text.ts";
import type { JsonObject } from "../../base/json.ts";
import { invalid, Problem, ProblemCode } from "../../base/problem.ts";
import { MAX_CALLBACK_MS } from "../../spec/callback.ts";
import { durationMs } from "../../spec/duration.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { CALLBACK_KEYS } from "../kinds.ts";
import { StoredCallbackKeys } from "./keys.ts";
import { signingAt, type TimedKey } from "./key_log.ts";

/** The keys that are accepted, oldest first. @throws {Problem} PermissionDenied, FailedPrecondition, Unavailable */
export async function listCallbackKeys(deps: ServiceDeps, caller: Caller): Promise<JsonObject> {
  await requireAccess(caller, { verb: "list", resource: CALLBACK_KEYS.resource, namespace: "" });
  return shown(await storedKeys(deps).list(), deps.clock.now());
}

/**
 * Makes a new key, which signs in a moment.
 * @param acceptEarlier a duration: how long tokens of earlier keys stay good from then on. @default until all are past
 * @throws {Problem} PermissionDenied, InvalidArgument, Aborted, FailedPrecondition, Unavailable
 */
export async function rotateCallbackKeys(
  deps: ServiceDeps,
  caller: Caller,
  acceptEarlier = "",
): Promise<JsonObject> {
  await requireAccess(caller, { verb: "create", resource: CALLBACK_KEYS.resource, namespace: "" });
  const ms = acceptEarlier === "" ? MAX_CALLBACK_MS : acceptedMs(acceptEarlier);
  return shown(await storedKeys(deps).rotate(ms), deps.clock.now());
}

function storedKeys({ callbacks }: ServiceDeps): StoredCallbackKeys {
  if (callbacks?.keys instanceof StoredCallbackKeys) return callbacks.keys;
  throw new Problem(
    ProblemCode.FailedPrecondition,
    "the keys of callback URLs come from the file of --callback-keys: change that file",
  );
}

function acceptedMs(text: string): number {
  let ms: number;
  try {
    ms = durationMs(text);
  } catch (error) {
    throw invalid(`acceptEarlier: ${errorText(error)}`);
  }
  if (ms >= 0 && ms <= MAX_CALLBACK_MS) return ms;
  throw invalid(`acceptEarlier: ${text} is not between 0s and 9600h`);
}

function shown(keys: readonly TimedKey[], now: number): JsonObject {
  const signing = signingAt(keys, now);
  const items = keys.map((timed) => {
    const { key, from, until } = timed;
    return {
      id: key.id,
      signs: timed === signing,
      ...(from > 0 && { signsFrom: new Date(from).toISOString() }),
      ...(until < Infinity && { acceptedUntil: new Date(until).toISOString() }),
    };
  });
  return { items };
}
