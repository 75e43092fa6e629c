/** The bodies of commands, whatever actor they are for. */
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid, type Problem } from "../base/problem.ts";

/** The word that tells what a command is about, for logs. */
export function typeOf(body: Json | undefined): string {
  return isJsonObject(body) && typeof body["type"] === "string" ? body["type"] : "unknown";
}

/** The refusal of a command that no actor understands. */
export function unknownCommand(body: Json): Problem {
  return invalid(`Unknown command "${typeOf(body)}"`);
}
