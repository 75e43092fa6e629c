/** Carries out callbacks of systems that have nothing but a URL. */
import { createHash } from "node:crypto";
import { type CallbackClaims, unknownCallback } from "../../auth/callback_token.ts";
import { withoutCallbackTokens } from "../../base/callback_tokens.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import { goneWith, useCallback } from "../../engine/orders/callback.ts";
import type { CallbackVerb } from "../../spec/callback.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { engineEnv } from "../engine_env.ts";
import { archivedState } from "../history/archived_source.ts";
import { isNotFound } from "../problem_kinds.ts";
import { executeOptions, type Idempotency } from "../idempotency.ts";
import { tokenRefusal, useRefusal } from "./metrics.ts";

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

/** As `checkCallback`, for a token that is about to be used: a refusal is counted. */
export async function admitCallback(
  deps: ServiceDeps,
  token: string,
  verb: CallbackVerb,
): Promise<CallbackClaims> {
  try {
    return await checkCallback(deps, token, verb);
  } catch (error) {
    deps.countCallback?.(verb, tokenRefusal(error));
    throw error;
  }
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
  try {
    const isRepeat = await carryOut(deps, claims, verb, body, idempotency);
    deps.countCallback?.(verb, isRepeat ? "repeated" : "accepted");
  } catch (error) {
    deps.countCallback?.(verb, useRefusal(error));
    throw error;
  }
  return { accepted: verb };
}

/** @returns whether it was carried out before */
async function carryOut(
  deps: ServiceDeps,
  claims: CallbackClaims,
  verb: CallbackVerb,
  body: CallbackBody,
  idempotency: Idempotency | undefined,
): Promise<boolean> {
  const said = { ...outputsOf(verb, body), ...messageOf(verb, body) };
  const { namespace, workflow, uid, node } = claims;
  const use = { uid, node, verb, digest: digestOf([verb, said]), ...said };
  try {
    const answer: Workflow & { isRepeat?: boolean } = await deps.host.execute(
      namespace,
      workflow,
      { type: "callback", use },
      executeOptions(idempotency),
    );
    return answer.isRepeat === true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const ended = deps.history && await archivedState(deps, namespace, workflow, uid);
    if (ended === undefined) throw goneWith("the workflow is gone");
    // A repeat is known; any other comes too late.
    useCallback(ended, use, engineEnv(deps));
    return true;
  }
}

/** Values of outputs as workflows have them: texts stay, everything else becomes its JSON text. */
function outputsOf(verb: CallbackVerb, { outputs = {} }: CallbackBody) {
  if (verb !== "resume") return {};
  if (!isJsonObject(outputs)) throw invalid("outputs: an object with a value for each output");
  const values = Object.entries(outputs)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      // A job may say whom it has called back.
      return [name, withoutCallbackTokens(text)];
    });
  return values.length === 0
    ? {}
    : { outputs: Object.fromEntries(values) as Record<string, string> };
}

function messageOf(verb: CallbackVerb, { message = "" }: CallbackBody) {
  if (verb !== "stop" || message === "") return {};
  if (message.length <= MAX_MESSAGE) return { message: withoutCallbackTokens(message) };
  throw invalid(`message: ${message.length} characters, at most ${MAX_MESSAGE} are allowed`);
}

function digestOf(said: unknown): string {
  return createHash("sha256").update(JSON.stringify(said)).digest("base64url");
}
