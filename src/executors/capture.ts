/** What a task leaves behind, read with bounds: its result, and its output parameters. */
import { errorText } from "../base/error_text.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { findInside, readTailInside, readTextInside } from "../platform/files/inside.ts";
import type { Place } from "../platform/files/place.ts";
import type { Parameter } from "../spec/manifest.ts";

/** Only this much of the end of stdout becomes `outputs.result`. */
const MAX_RESULT_BYTES = 256 * 1024;
/** An output parameter is stored with its node, so it has a bound. */
export const MAX_PARAMETER_BYTES = 1024 * 1024;

/** Text without one newline at its end. */
export function trimNewline(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** `outputs.result` from the bytes of stdout: the last 256 kB, without one newline at the end. */
export function resultFrom(stdout: Uint8Array): string {
  let start = Math.max(0, stdout.length - MAX_RESULT_BYTES);
  // Don't begin inside a character.
  while (start > 0 && start < stdout.length && ((stdout[start] ?? 0) & 0xc0) === 0x80) start++;
  return trimNewline(Buffer.from(stdout.subarray(start)).toString("utf8"));
}

/** The last bytes of a file, enough for `resultFrom`; empty when there is no file. */
export function readTail(place: Place): Promise<Uint8Array> {
  return readTailInside(place, MAX_RESULT_BYTES + 4);
}

/**
 * Output parameters with their values, read from files.
 *
 * @param locate Place of a template's path on this machine, undefined when nothing is there.
 * @returns All of them, those that could not be read without a value, and what is wrong with the first of these.
 */
export async function readParameters(
  parameters: readonly Parameter[],
  locate: (path: string) => Promise<Place | undefined>,
): Promise<{ parameters: Parameter[]; fault?: string }> {
  const read: Parameter[] = [];
  let faultText: string | undefined;
  for (const parameter of parameters) {
    const path = parameter.valueFrom?.path;
    if (path === undefined) {
      read.push(parameter);
      continue;
    }
    try {
      const place = await locate(path);
      read.push({ ...parameter, value: await readParameter(parameter, path, place) });
    } catch (error) {
      const message = errorText(error);
      faultText ??= error instanceof CannotRead ? message : cannotRead(parameter, message).message;
      read.push(parameter);
    }
  }
  return { parameters: read, ...(faultText !== undefined && { fault: faultText }) };
}

async function readParameter(
  parameter: Parameter,
  path: string,
  place: Place | undefined,
): Promise<string> {
  if (place === undefined) {
    const fallback = parameter.valueFrom?.default ?? parameter.default;
    if (fallback !== undefined) return trimNewline(fallback);
    throw cannotRead(parameter, `${path} does not exist and there is no default`);
  }
  const found = await findInside(place);
  if (found?.kind !== "file") throw cannotRead(parameter, `${path} is not a file`);
  if (found.size > MAX_PARAMETER_BYTES) {
    throw cannotRead(
      parameter,
      `${path} has ${found.size} bytes, at most ${MAX_PARAMETER_BYTES} fit`,
    );
  }
  return trimNewline(await readTextInside(place, MAX_PARAMETER_BYTES));
}

class CannotRead extends Problem {}

function cannotRead(parameter: Parameter, message: string): Problem {
  return new CannotRead(
    ProblemCode.InvalidArgument,
    `Cannot read output parameter "${parameter.name}": ${message}`,
  );
}
