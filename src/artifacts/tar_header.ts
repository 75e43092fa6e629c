/** Pure: one block of a tar that tells of an entry, and the records of POSIX.1-2001 ("pax") that say more of it. */
import { Buffer } from "node:buffer";
import { invalid } from "../base/problem.ts";

export const BLOCK_BYTES = 512;

/** Latest and earliest time that a date can hold, seconds from 1970. */
const MAX_SECONDS = 8.64e12;

/** A part of a sparse file that is stored. What lies between parts is zeros. */
export interface SparsePart {
  offset: number;
  length: number;
}

/** What a block says, before anything else is known of its entry. */
export interface TarBlock {
  name: string;
  mode: number | undefined;
  /** Bytes that follow. */
  size: number;
  mtime: Date | undefined;
  /** One character. */
  flag: string;
  target: string;
}

/** Reads a block; undefined for one of zeros, which stands at the end. @throws {Problem} for one that is damaged */
export function readTarBlock(block: Uint8Array): TarBlock | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (!isChecked(block)) throw invalid("The archive is damaged: a checksum is wrong");
  const magic = textAt(block, 257, 6);
  // GNU's own format keeps other things where POSIX has the prefix.
  const prefix = magic === "ustar" ? textAt(block, 345, 155) : "";
  const name = textAt(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    mode: numberAt(block, 100, 8),
    size: sizeOf(numberAt(block, 124, 12)),
    mtime: dateOf(numberAt(block, 136, 12)),
    flag: String.fromCharCode(block[156] ?? 0),
    target: textAt(block, 157, 100),
  };
}

/** The stored parts that a block of GNU's format lists, the file's whole size, and whether a block with more parts follows. */
export function readGnuSparse(block: Uint8Array) {
  return {
    parts: partsAt(block, 386, 4),
    realSize: sizeOf(numberAt(block, 483, 12)),
    hasMore: block[482] !== 0,
  };
}

/** The same of a block that goes on with the list. */
export function readMoreSparse(block: Uint8Array) {
  return { parts: partsAt(block, 0, 21), hasMore: block[504] !== 0 };
}

function partsAt(block: Uint8Array, from: number, count: number): SparsePart[] {
  const parts: SparsePart[] = [];
  for (let at = from; at < from + count * 24 && block[at] !== 0; at += 24) {
    parts.push({
      offset: sizeOf(numberAt(block, at, 12)),
      length: sizeOf(numberAt(block, at + 12, 12)),
    });
  }
  return parts;
}

/** Some programs add the bytes with their signs. */
function isChecked(block: Uint8Array): boolean {
  let unsigned = 0;
  let signed = 0;
  // By index: an iterator takes ten times as long, and an archive may have millions of blocks.
  for (let at = 0; at < BLOCK_BYTES; at++) {
    const counted = at >= 148 && at < 156 ? 32 : block[at] ?? 0;
    unsigned += counted;
    signed += counted > 127 ? counted - 256 : counted;
  }
  const stored = numberAt(block, 148, 8);
  return stored === unsigned || stored === signed;
}

function textAt(block: Uint8Array, from: number, length: number): string {
  const bytes = block.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

/** A number, as octal digits or, after a high bit, as bytes; undefined when it is neither. */
function numberAt(block: Uint8Array, from: number, length: number): number | undefined {
  const first = block[from] ?? 0;
  if ((first & 0x80) === 0) {
    const digits = Buffer.from(block.subarray(from, from + length)).toString("latin1")
      .replace(/\0.*$/s, "").trim();
    if (digits === "") return 0;
    return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
  }
  // Two's complement: the second bit is the sign.
  let value = (first & 0x40) === 0 ? first & 0x3f : (first & 0x7f) - 0x80;
  for (let at = from + 1; at < from + length; at++) value = value * 256 + (block[at] ?? 0);
  return value;
}

function sizeOf(value: number | undefined): number {
  if (value !== undefined && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid("The archive has an entry without a valid size");
}

function dateOf(seconds: number | undefined): Date | undefined {
  return seconds !== undefined && Math.abs(seconds) <= MAX_SECONDS
    ? new Date(seconds * 1000)
    : undefined;
}

/** Names of the records that say something here. Others may be there by the ten thousands, and no text is made of them. */
const KNOWN = new Set([
  "path",
  "linkpath",
  "size",
  "mtime",
  "GNU.sparse.major",
  "GNU.sparse.map",
  "GNU.sparse.name",
  "GNU.sparse.numbytes",
  "GNU.sparse.offset",
  "GNU.sparse.realsize",
  "GNU.sparse.size",
]);
const LONGEST_KNOWN = Math.max(...[...KNOWN].map((name) => name.length));
/** Most digits of the length of a record. */
const MAX_LENGTH_DIGITS = 7;
const [ZERO, NINE, EQUALS, SPACE, NEWLINE] = [48, 57, 61, 32, 10];

/** The last known record of each name; those of a sparse file's parts in their order. */
export interface PaxRecords {
  values: Map<string, string>;
  /** Offsets and lengths in turn, as the oldest form of sparse files has them. */
  sparse: string[];
}

/** @throws {Problem} for what are no records */
export function readPaxRecords(bytes: Uint8Array): PaxRecords {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = new Map<string, string>();
  const sparse: string[] = [];
  for (let at = 0; at < text.length && text[at] !== 0;) {
    const { length, nameAt } = lengthAt(text, at);
    const end = at + length;
    if (end > text.length || end <= nameAt || text[end - 1] !== NEWLINE) throw unreadable();
    const equals = text.indexOf(EQUALS, nameAt);
    if (equals < 0 || equals >= end) throw invalid("The archive has an extended header without =");
    at = end;
    if (equals - nameAt > LONGEST_KNOWN) continue;
    const name = text.toString("latin1", nameAt, equals);
    if (!KNOWN.has(name)) continue;
    const value = text.toString("utf8", equals + 1, end - 1);
    if (name === "GNU.sparse.offset" || name === "GNU.sparse.numbytes") sparse.push(value);
    else values.set(name, value);
  }
  return { values, sparse };
}

/** The length with which a record begins, of all of it, and where the name begins after it. */
function lengthAt(text: Uint8Array, start: number): { length: number; nameAt: number } {
  let length = 0;
  let at = start;
  for (; at < start + MAX_LENGTH_DIGITS; at++) {
    const byte = text[at] ?? 0;
    if (byte < ZERO || byte > NINE) break;
    length = length * 10 + byte - ZERO;
  }
  if (at === start || text[at] !== SPACE) throw unreadable();
  return { length, nameAt: at + 1 };
}

function unreadable(): Error {
  return invalid("The archive is damaged: an extended header can't be read");
}

/** A size in a record. @throws {Problem} when it is none */
export function sizeIn(text: string): number {
  return sizeOf(/^\d{1,16}$/.test(text) ? Number(text) : undefined);
}

/** A time in a record; undefined when it is none. */
export function timeIn(text: string | undefined): Date | undefined {
  return text !== undefined && /^-?\d+(\.\d*)?$/.test(text) ? dateOf(Number(text)) : undefined;
}
