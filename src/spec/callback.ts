/**
 * Callbacks of suspend templates, and the marks that stand for their URLs. A mark is what a workflow shows and stores
 * wherever a manifest asks for a URL. The URL itself exists only while a task is handed to its executor.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { durationMs } from "./duration.ts";
import type { SuspendCallback, Template } from "./manifest.ts";

/** What a callback may do to a step that waits. */
export const CALLBACK_VERBS = ["resume", "stop", "heartbeat"] as const;
export type CallbackVerb = typeof CALLBACK_VERBS[number];

/** What a manifest may ask of a callback: the URL of one verb, or the token of all. */
export const CALLBACK_FORMS = [...CALLBACK_VERBS, "token"] as const;
export type CallbackForm = typeof CALLBACK_FORMS[number];

const DEFAULT_EXPIRES_MS = 24 * 3_600_000;
const MIN_EXPIRES_MS = 1_000;
/** Longest time that a URL is good, ms. */
export const MAX_CALLBACK_MS = 400 * 24 * 3_600_000;

/** Longest name of a node that can be called back, UTF-8 bytes: it is in the token. */
export const MAX_CALLBACK_NAME = 1_000;

/**
 * How long the URLs of a callback are good, ms.
 * @throws {Error} with a text for users when it is no duration or out of bounds
 */
export function callbackExpiresMs({ expires }: SuspendCallback): number {
  if (expires === undefined || expires === "") return DEFAULT_EXPIRES_MS;
  const ms = durationMs(expires);
  if (ms >= MIN_EXPIRES_MS && ms <= MAX_CALLBACK_MS) return ms;
  throw new Error(`${expires} is not between 1s and 9600h`);
}

/** Names of the outputs that a caller may give. */
export function callbackOutputs({ outputs, suspend }: Template): string[] {
  const given = suspend?.callback?.outputs;
  return (outputs?.parameters ?? [])
    .filter(({ name, valueFrom }) =>
      valueFrom?.supplied !== undefined && (given?.includes(name) ?? true)
    )
    .map(({ name }) => name);
}

/** What a mark stands for. */
export interface CallbackMark {
  form: CallbackForm;
  workflowUid: string;
  /** Full name of the step's node. */
  nodeName: string;
  /** How long the URL is good from the moment in which it is made, s. */
  seconds: number;
}

/** A mark that was found in a text. */
export interface FoundMark extends CallbackMark {
  /** Proves that the workflow itself wrote it, see {@link isGenuine}. */
  seal: string;
}

const MARK =
  /callback:(resume|stop|heartbeat|token)\(([0-9A-Za-z-]{1,64})\/([0-9A-Za-z_.%-]{1,3000});(\d{1,8});([0-9a-f]{32})\)/g;

/**
 * The text of a mark. It has no character that JSON, a shell or a URL would write in another way, except brackets.
 * @param secret of the workflow: without it nobody can write a mark, such as a job in its outputs
 */
export function writeMark(mark: CallbackMark, secret: string): string {
  const { form, workflowUid, nodeName, seconds } = mark;
  const name = encodeURIComponent(nodeName.toWellFormed())
    .replaceAll(/[!'()*~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `callback:${form}(${workflowUid}/${name};${seconds};${sealOf(mark, secret)})`;
}

/** Tells whether a mark was written with this secret. */
export function isGenuine(mark: FoundMark, secret: string): boolean {
  return mark.seal === sealOf(mark, secret);
}

function sealOf({ form, workflowUid, nodeName, seconds }: CallbackMark, secret: string): string {
  const said = JSON.stringify([form, workflowUid, nodeName.toWellFormed(), seconds]);
  return bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(said)).subarray(0, 16));
}

/**
 * Puts other texts in the place of the marks in a text.
 * @param replace gets the mark, and its own text
 */
export function replaceMarks(
  text: string,
  replace: (mark: FoundMark, found: string) => string,
): string {
  return text.replaceAll(
    MARK,
    (found, form: string, uid: string, name: string, given: string, seal: string) => {
      const nodeName = decoded(name);
      if (nodeName === undefined) return found;
      const seconds = Math.min(Number(given), MAX_CALLBACK_MS / 1_000);
      return replace(
        { form: form as CallbackForm, workflowUid: uid, nodeName, seconds, seal },
        found,
      );
    },
  );
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
