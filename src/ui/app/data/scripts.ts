/** Parts of the script that are loaded later, and may not be there then. */
import { type Trouble, troubleOf } from "./api.ts";
import { addressOf } from "./root.ts";

const FRESH_MS = 10_000;

/**
 * Why a part of the script could not be loaded: no connection; or the server was replaced, and has the scripts of another version.
 * Then a new document, which has their names, takes the place of this one.
 */
export async function troubleOfScript(error: unknown): Promise<Trouble> {
  try {
    await fetch(addressOf("/healthz"));
  } catch {
    return { kind: "unreachable", message: "", passes: true };
  }
  // A document that is new already would find nothing else.
  if (performance.now() > FRESH_MS) location.reload();
  return troubleOf(error);
}
