/** The fields of an actor's hash, as Redis tells them. */
import { STEP_SIZE, type Steps } from "../../base/steps.ts";
import type { RedisContext } from "./context.ts";
import { ACTOR_FIELD, COMMON_KEY } from "./keys.ts";
import { listOf } from "./replies.ts";
import { type Shortening, shorteningOf, wholeKey, wholeText } from "./texts/short_texts.ts";

export interface ActorFields {
  /** "0" for an actor that has lost its version; undefined when there is no actor. */
  version: string | undefined;
  /** Text of the index entry. */
  index: string | undefined;
  parts: Record<string, string>;
  /** Characters of the parts. */
  size: number;
}

/**
 * Reads a flat list of fields and values, step by step, because an actor may have many nodes.
 *
 * @param how the texts are short
 * @param wants whether a part is to be kept. @default all are
 */
export function* fieldSteps(
  reply: unknown,
  how: Shortening | undefined,
  wants: (part: string) => boolean = () => true,
): Steps<ActorFields> {
  const list = listOf(reply);
  const found: ActorFields = { version: undefined, index: undefined, parts: {}, size: 0 };
  let isThere = false;
  for (let at = 0; at + 1 < list.length; at += 2) {
    if (at > 0 && at % STEP_SIZE === 0) yield;
    const [field, text] = [String(list[at]), list[at + 1]];
    if (typeof text !== "string") continue;
    isThere = true;
    if (field === ACTOR_FIELD.version) found.version = text;
    else if (field === ACTOR_FIELD.index) found.index = text;
    else if (!field.startsWith("@")) {
      const part = how === undefined ? field : wholeKey(field, how);
      if (!wants(part)) continue;
      const whole = how === undefined || part === COMMON_KEY ? text : wholeText(text, how);
      found.parts[part] = whole;
      found.size += whole.length;
    }
  }
  if (isThere) found.version ??= "0";
  // Whoever goes through the parts needs time for that.
  if (list.length > STEP_SIZE) yield;
  return found;
}

/** How the parts are stored that an actor left. @param actor what they say about it; those of a copy say nothing */
export async function remainsShortening(
  { terms }: RedisContext,
  actor: unknown,
): Promise<Shortening | undefined> {
  return typeof actor === "string" ? shorteningOf((await terms()).layout, actor) : undefined;
}
