/** Carries out callbacks of systems that have nothing but a URL. */
import { createHash } from "node:crypto";
import { type CallbackClaims, unknownCallback } from "../../auth/callback_token.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import { goneWith, useCallback } from "../../engine/orders/callback.ts";
import type { CallbackVerb } from "../../spec/callback.ts";
import type { ServiceDeps } from "../deps.ts";
import { archivedState } from "../history/archived_source.ts";
import { isNotFound } from "../problem_kinds.ts";
import { executeOptions, type Idempotency } from "../idempotency.ts";

/** Longest message of a stop, characters. */
const MAX_MESSAGE = 4_096;

/**
 * What a token allows. Reads nothing of the workflow.
 * @throws {Problem} NotFound with one text for whatever is wrong, status 410 when it has expired, Unavailable
 */
export async function checkCallback(
  { callbacks }: ServiceDeps,
  token: string,
  verb: CallbackVerb,
): Promise<CallbackClaims> {
  if (callbacks === undefined) throw unknownCallback();
  return await callbacks.check(token, verb);
}

/** What the sender says: outputs of a resume, the message of a stop. */
export interface CallbackBody {
  outputs?: Json;
  message?: string;
}

/**
 * Carries out a callback; a repeat has the same answer and no effect.
 * @throws {Problem} InvalidArgument that names the wrong output, status 409 or 410 when it comes too late, Unavailable
 */
export async function takeCallback(
  deps: ServiceDeps,
  claims: CallbackClaims,
  verb: CallbackVerb,
  body: CallbackBody,
  idempotency?: Idempotency,
): Promise<JsonObject> {
  const said = { ...outputsOf(verb, body), ...messageOf(verb, body) };
  const { namespace, workflow, uid, node } = claims;
  const use = { uid, node, verb, digest: digestOf([verb, said]), ...said };
  try {
    await deps.host.execute(
      namespace,
      workflow,
      { type: "callback", use },
      executeOptions(idempotency),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const ended = deps.history && await archivedState(deps, namespace, workflow, uid);
    if (ended === undefined) throw goneWith("the workflow is gone");
    // A repeat is known; any other comes too late.
    useCallback(ended, use, {
      now: deps.clock.now(),
      randomSuffix: (length) => deps.ids.suffix(length),
      findManifest: () => undefined,
      ...deps.settings.naming,
    });
  }
  return { accepted: verb };
}

/** Values of outputs as workflows have them: texts stay, everything else becomes its JSON text. */
function outputsOf(verb: CallbackVerb, { outputs = {} }: CallbackBody) {
  if (verb !== "resume") return {};
  if (!isJsonObject(outputs)) throw invalid("outputs: an object with a value for each output");
  const values = Object.entries(outputs)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  return values.length === 0
    ? {}
    : { outputs: Object.fromEntries(values) as Record<string, string> };
}

function messageOf(verb: CallbackVerb, { message = "" }: CallbackBody) {
  if (verb !== "stop" || message === "") return {};
  if (message.length <= MAX_MESSAGE) return { message };
  throw invalid(`message: ${message.length} characters, at most ${MAX_MESSAGE} are allowed`);
}

function digestOf(said: unknown): string {
  return createHash("sha256").update(JSON.stringify(said)).digest("base64url");
}
