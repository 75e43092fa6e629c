/**
 * Objects as the reference stores them in a jsonb column. PostgreSQL has no NUL in a text and no half of a surrogate
 * pair: NUL is written as the reference writes it, a half becomes the replacement character, as Go reads it. Many nodes
 * are written in `status.compressedNodes`.
 */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { Turns } from "../../platform/turns.ts";
import { NUL_TEXT } from "../../spec/archived_text.ts";
import { joinObject, largeMembers, splitObject } from "../object_text.ts";

/** Nodes with more characters are compressed. */
const MAX_PLAIN_NODES = 2 ** 20;
/** Largest text of the nodes of one workflow, unpacked. */
const MAX_NODES_BYTES = 256 * 2 ** 20;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

export interface ReferenceObject {
  /** JSON text that a jsonb column takes. */
  text: string;
  /** See `ObjectParts`. */
  template: string;
}

export async function toReference(object: string): Promise<ReferenceObject> {
  const { template, ...parts } = await new Turns().run(splitObject(object));
  const { nodes = "", ...rest } = parts.large;
  if (nodes.length <= MAX_PLAIN_NODES) return { text: withoutOddities(object), template };
  const packed = (await pack(nodes)).toString("base64");
  const others = largeMembers({ large: rest });
  const members = `"compressedNodes":"${packed}"${
    others === "" ? "" : `,${withoutOddities(others)}`
  }`;
  const head = withoutOddities(parts.brief.slice(0, parts.at));
  const tail = withoutOddities(parts.brief.slice(parts.at));
  return { text: joinObject({ brief: head + tail, at: head.length }, members), template };
}

/**
 * @param text the jsonb column
 * @param packed its `status.compressedNodes`
 */
export async function fromReference(text: string, packed: string | null): Promise<string> {
  const object = text.includes(NUL_TEXT) ? text.replaceAll(NUL_TEXT, "\\u0000") : text;
  if (packed === null || packed === "") return object;
  let nodes: string;
  try {
    nodes = (await unpack(Buffer.from(packed, "base64"), { maxOutputLength: MAX_NODES_BYTES }))
      .toString();
  } catch {
    // Shown as it is, so that one damaged row does not hide the others.
    return object;
  }
  const value = parseOrUndefined(object);
  if (!isJsonObject(value) || !isJsonObject(value["status"])) return object;
  const { compressedNodes: _packed, ...status } = value["status"];
  const parts = await new Turns().run(splitObject(JSON.stringify({ ...value, status })));
  const { nodes: _none, ...others } = parts.large;
  return joinObject(parts, largeMembers({ large: { ...others, nodes } }));
}

/** A text as a column of PostgreSQL takes it, and as `withoutOddities` has it in an object. */
export function storableText(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", NUL_TEXT) : wellFormed;
}

/** JSON text without escapes that jsonb refuses. */
function withoutOddities(text: string): string {
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return text;
  // Every escape is looked at in its turn, so that the second backslash of a pair begins none.
  return text.replace(
    /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\./gi,
    (escape: string, high?: string, _low?: string, one?: string) => {
      if (high !== undefined || one === undefined) return escape;
      if (one === "0000") return NUL_TEXT;
      return /^d[89a-f]/i.test(one) ? "\\ufffd" : escape;
    },
  );
}
