/** Random functions of sprig. Randomness comes from the run's source; without one they fail. */
import { goFunction } from "./go_call.ts";
import { base64Encode } from "../values/go_text.ts";
import type { RunContext } from "../values/run_context.ts";
import type { GoFunction } from "../values/values.ts";

const DIGITS = "0123456789";
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");

function randomText(context: RunContext, count: number, alphabet: string): string {
  const length = Math.max(0, count);
  context.spend(length);
  let text = "";
  for (let i = 0; i < length; i++) {
    text += alphabet.charAt(Math.floor(context.random() * alphabet.length));
  }
  return text;
}

function randomBytes(context: RunContext, count: number): Uint8Array {
  context.spend(Math.max(0, count));
  return Uint8Array.from({ length: Math.max(0, count) }, () => Math.floor(context.random() * 256));
}

function uuid(context: RunContext): string {
  const bytes = randomBytes(context, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The random functions, by name. */
export const RANDOM_FUNCTIONS: readonly GoFunction[] = [
  goFunction("randAlpha", ["int"], (context, count) => randomText(context, count, LETTERS)),
  goFunction("randNumeric", ["int"], (context, count) => randomText(context, count, DIGITS)),
  goFunction(
    "randAlphaNum",
    ["int"],
    (context, count) => randomText(context, count, DIGITS + LETTERS),
  ),
  goFunction("randAscii", ["int"], (context, count) => randomText(context, count, PRINTABLE)),
  goFunction("randBytes", ["int"], (context, count) => base64Encode(randomBytes(context, count))),
  goFunction("uuidv4", [], uuid),
];
