/** Durations in templates. */
import { errorText } from "../../base/error_text.ts";
import { NodeFailure } from "../failure.ts";
import { durationMs } from "../../spec/duration.ts";

/** Milliseconds of a duration that is checked only when it is used. @throws {NodeFailure} when the text is not a duration */
export function uncheckedDurationMs(text: string): number {
  return nodeDurationMs(text, (reason) => `unable to parse ${text} as a duration: ${reason}`);
}

/** Milliseconds of a template's timeout. @throws {NodeFailure} when the text is not a duration */
export function timeoutMs(text: string): number {
  return nodeDurationMs(text, (reason) => `invalid timeout format. ${reason}`);
}

/**
 * Milliseconds of a duration.
 * @param explain makes the message from the reason
 * @throws {NodeFailure} when the text is not a duration
 */
export function nodeDurationMs(
  text: string,
  explain: (reason: string) => string = (reason) => reason,
): number {
  try {
    return durationMs(text);
  } catch (error) {
    throw new NodeFailure(explain(errorText(error)));
  }
}
