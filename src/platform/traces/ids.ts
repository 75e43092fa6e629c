/**
 * Ids of traces and spans. All follow from what is stored, so every replica makes the same ones: a span that is sent twice is
 * still one span.
 */
import { createHash } from "node:crypto";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ZEROS = /^0+$/;

/**
 * The trace of an object that continues no other, 32 hexadecimal digits: those of its uid, so whoever has the one finds the
 * other.
 */
export function ownTraceId(uid: string): string {
  const id = UUID.test(uid) ? uid.replaceAll("-", "") : digest(uid).slice(0, 32);
  return ZEROS.test(id) ? `${id.slice(1)}1` : id;
}

/**
 * Id of a span, 16 hexadecimal digits.
 * @param uid of the object that it is about
 * @param part what of it: a node, a wait of a node, …
 * @param run the retry of the object to which it belongs, see `TraceOrigin`
 */
export function spanIdOf(uid: string, part: string, run = 0): string {
  const id = digest(`${uid}\0${part}\0${run}`).slice(0, 16);
  return ZEROS.test(id) ? `${id.slice(1)}1` : id;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
