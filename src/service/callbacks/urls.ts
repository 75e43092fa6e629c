/** Makes callback URLs, checks them, and puts them into tasks. */
import {
  type CallbackClaims,
  readCallbackToken,
  writeCallbackToken,
} from "../../auth/callback_token.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import {
  CALLBACK_VERBS,
  type CallbackForm,
  type CallbackMark,
  type CallbackVerb,
  type FoundMark,
  isGenuine,
  replaceMarks,
} from "../../spec/callback.ts";
import type { CallbackKeys } from "./keys.ts";

/** Whose callback it is, and how long it is good. */
export interface CallbackTarget
  extends Pick<CallbackClaims, "namespace" | "workflow" | "uid" | "node"> {
  seconds: number;
}

export interface CallbackUrlOptions {
  keys: CallbackKeys;
  /** Address of this server for systems outside. */
  base: string;
  clock: Pick<Clock, "now">;
}

export class CallbackUrls {
  readonly #options: CallbackUrlOptions;

  constructor(options: CallbackUrlOptions) {
    this.#options = { ...options, base: options.base.replace(/\/+$/, "") };
  }

  get keys(): CallbackKeys {
    return this.#options.keys;
  }

  /** What a manifest or a user gets for each form: URLs, and the token of all verbs. @throws {Problem} Unavailable */
  async make(
    target: CallbackTarget,
  ): Promise<Record<CallbackForm, string> & { expiresAt: number }> {
    const key = await this.#options.keys.signing();
    const { seconds, ...about } = target;
    const expiresAt = Math.ceil(this.#options.clock.now() / 1_000) + seconds;
    const tokenFor = (verbs: readonly CallbackVerb[]) =>
      writeCallbackToken({ ...about, verbs, expiresAt }, key);
    const urlFor = (verb: CallbackVerb) =>
      `${this.#options.base}/callback/${verb}/${tokenFor([verb])}`;
    return {
      resume: urlFor("resume"),
      stop: urlFor("stop"),
      heartbeat: urlFor("heartbeat"),
      token: tokenFor(CALLBACK_VERBS),
      expiresAt,
    };
  }

  /** What a token allows. @throws {Problem} as of `readCallbackToken`, and Unavailable */
  async check(token: string, verb: CallbackVerb): Promise<CallbackClaims> {
    const { keys, clock } = this.#options;
    return readCallbackToken(token, verb, await keys.accepted(), clock.now());
  }

  /** A task with URLs in the place of the marks that its own workflow wrote. @throws {Problem} Unavailable */
  async fill({ callbackSecret = "", ...task }: TaskSpec): Promise<TaskSpec> {
    const text = JSON.stringify(task.template);
    const nodes = new Map<string, CallbackMark>();
    const keyOf = ({ nodeName, seconds }: CallbackMark) => `${seconds} ${nodeName}`;
    const isOwn = (mark: FoundMark) =>
      mark.workflowUid === task.workflowUid && isGenuine(mark, callbackSecret);
    const note = (mark: FoundMark) => {
      if (isOwn(mark)) nodes.set(keyOf(mark), mark);
      return "";
    };
    replaceMarks(text, note);
    if (nodes.size === 0) return task;
    const made = new Map<string, Record<CallbackForm, string>>();
    for (const [key, { nodeName, seconds }] of nodes) {
      const { namespace, workflow, workflowUid: uid } = task;
      made.set(key, await this.make({ namespace, workflow, uid, node: nodeName, seconds }));
    }
    const filled = replaceMarks(
      text,
      (mark, found) => isOwn(mark) ? made.get(keyOf(mark))?.[mark.form] ?? found : found,
    );
    return { ...task, template: JSON.parse(filled) as TaskSpec["template"] };
  }
}
