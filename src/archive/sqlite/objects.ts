/** Objects on their way into the SQLite file and out of it: large ones are compressed, off the event loop. */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { Turns } from "../../platform/turns.ts";
import { joinObject, largeMembers, splitObject } from "../object_text.ts";

/** Texts that are shorter stay as they are. */
const MIN_COMPRESSED = 512;
/** Largest text, unpacked. */
const MAX_BYTES = 256 * 2 ** 20;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** An object as it is stored. */
export interface StoredObject {
  brief: string | Uint8Array;
  at: number;
  /** Members of the status that are large; "" for none. */
  large: string | Uint8Array;
}

export interface PackedObject extends StoredObject {
  template: string;
  /** Bytes, about. */
  size: number;
}

export async function packObject(text: string): Promise<PackedObject> {
  const parts = await new Turns().run(splitObject(text));
  const brief = await pack(parts.brief);
  const large = await pack(largeMembers(parts));
  return {
    brief,
    at: parts.at,
    large,
    template: parts.template,
    size: brief.length + large.length,
  };
}

/** @param isBrief leaves the large members out */
export async function unpackObject(stored: StoredObject, isBrief: boolean): Promise<string> {
  const brief = await unpack(stored.brief);
  if (isBrief || stored.large.length === 0) return brief;
  return joinObject({ brief, at: stored.at }, await unpack(stored.large));
}

async function pack(text: string): Promise<string | Uint8Array> {
  if (text.length < MIN_COMPRESSED) return text;
  return await compress(text, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
}

async function unpack(stored: string | Uint8Array): Promise<string> {
  if (typeof stored === "string") return stored;
  return (await decompress(stored, { maxOutputLength: MAX_BYTES })).toString();
}
