/**
 * Reads a tar as it comes, in the formats of POSIX and GNU, with sparse files. What is damaged or cut off is an error: a part
 * of an archive must not pass for all of it.
 */
import { Buffer } from "node:buffer";
import { invalid } from "../base/problem.ts";
import { inSharedTurns } from "../platform/turns.ts";
import { ByteSource } from "./byte_source.ts";
import {
  BLOCK_BYTES,
  type PaxRecords,
  readGnuSparse,
  readMoreSparse,
  readPaxRecords,
  readTarBlock,
  sizeIn,
  type SparsePart,
  type TarBlock,
  timeIn,
} from "./tar_header.ts";

/** Most bytes of a long name, or of the records of one entry. */
const MAX_META_BYTES = 1024 * 1024;
/** Most stored parts of a sparse file. */
const MAX_SPARSE_PARTS = 100_000;
const ZEROS = new Uint8Array(64 * 1024);

export interface TarEntry {
  /** "other" is what no artifact has: pipes, devices, labels. */
  type: "file" | "folder" | "link" | "hard link" | "other";
  name: string;
  /** Of links. */
  target: string;
  mode: number | undefined;
  mtime: Date | undefined;
  /** Bytes of the file. */
  size: number;
  /** How many of them are not in the archive: the holes of a sparse file. */
  holes: number;
  /** Of a file. To be read, if at all, before the next entry is asked for. */
  body: AsyncIterable<Uint8Array>;
}

const TYPES: Readonly<Record<string, TarEntry["type"]>> = {
  "1": "hard link",
  "2": "link",
  "3": "other",
  "4": "other",
  "5": "folder",
  "6": "other",
  // GNU: a folder with a list of what was in it, a further volume, a label.
  D: "folder",
  M: "other",
  V: "other",
};
/** Entries that nothing follows, whatever their size says. */
const BODILESS = /[1-6]/;

/** @throws {Problem} for what is no whole tar */
export async function* readTar(content: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const source = new ByteSource(content);
  try {
    for (;;) {
      const found = await nextBlock(source);
      if (found === undefined) break;
      let left = BODILESS.test(found.flag) ? 0 : found.size;
      const padding = -left & (BLOCK_BYTES - 1);
      const stored = source.pieces(left, (bytes) => left -= bytes);
      yield await entryOf(found, source, stored);
      for await (const _ of source.pieces(left + padding, () => {}));
    }
    // What comes after the end must be readable, too: a gzip has its checksum there.
    await source.drain();
  } finally {
    await source.close();
  }
}

interface Found extends TarBlock {
  block: Uint8Array;
  pax: PaxRecords | undefined;
}

/** The next block of an entry, with what the blocks before it say of it. */
async function nextBlock(source: ByteSource): Promise<Found | undefined> {
  let pax: PaxRecords | undefined;
  let name: string | undefined;
  let target: string | undefined;
  for (;;) {
    const block = await source.take(BLOCK_BYTES);
    const read = block && readTarBlock(block);
    if (block === undefined || read === undefined) {
      if (pax === undefined && name === undefined && target === undefined) return undefined;
      throw cutOff();
    }
    if (read.flag === "x") pax = readPaxRecords(await metaOf(read, source));
    else if (read.flag === "g") await metaOf(read, source);
    else if (read.flag === "L") name = untilZero(await metaOf(read, source));
    else if (read.flag === "K") target = untilZero(await metaOf(read, source));
    else {
      const { values } = pax ?? {};
      const size = values?.get("size");
      return {
        block,
        pax,
        ...read,
        name: values?.get("GNU.sparse.name") || values?.get("path") || name || read.name,
        target: values?.get("linkpath") || target || read.target,
        mtime: timeIn(values?.get("mtime")) ?? read.mtime,
        size: size === undefined || size === "" ? read.size : sizeIn(size),
      };
    }
  }
}

async function metaOf({ size }: TarBlock, source: ByteSource): Promise<Uint8Array> {
  if (size > MAX_META_BYTES) {
    throw invalid(`The archive has an extended header of more than ${MAX_META_BYTES} bytes`);
  }
  const bytes = await source.take(Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES);
  if (bytes === undefined && size > 0) throw cutOff();
  return (bytes ?? new Uint8Array(0)).subarray(0, size);
}

function untilZero(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

/** @param stored what is in the archive of it */
async function entryOf(
  found: Found,
  source: ByteSource,
  stored: AsyncGenerator<Uint8Array>,
): Promise<TarEntry> {
  const { flag, name, target, mode, mtime, size } = found;
  // A name with a slash at its end is how folders began.
  const type = TYPES[flag] ?? (name.endsWith("/") ? "folder" : "file");
  const entry: TarEntry = { type, name, target, mode, mtime, size, holes: 0, body: stored };
  if (type !== "file") return entry;
  const data = new ByteSource(stored);
  const sparse = await sparseOf(found, source, data);
  if (sparse === undefined) return entry;
  const { parts, realSize } = sparse;
  const holes = realSize - storedBytes(parts, realSize);
  return { ...entry, size: realSize, holes, body: filled(parts, realSize, data) };
}

interface Sparse {
  parts: SparsePart[];
  realSize: number;
}

/** What a sparse file looks like, which is told in one of four ways; undefined for any other file. */
async function sparseOf(
  { flag, block, pax }: Found,
  source: ByteSource,
  data: ByteSource,
): Promise<Sparse | undefined> {
  if (flag === "S") return await gnuSparse(block, source);
  const values = pax?.values;
  const realSize = values?.get("GNU.sparse.realsize") ?? values?.get("GNU.sparse.size");
  if (pax === undefined || realSize === undefined) return undefined;
  if (values?.get("GNU.sparse.major") === "1") {
    return { parts: await readMap(data), realSize: sizeIn(realSize) };
  }
  const map = values?.get("GNU.sparse.map");
  const numbers = map === undefined ? pax.sparse : map.split(",").filter((text) => text !== "");
  return { parts: partsOf(numbers.map(sizeIn)), realSize: sizeIn(realSize) };
}

async function gnuSparse(block: Uint8Array, source: ByteSource): Promise<Sparse> {
  const { parts, realSize, hasMore } = readGnuSparse(block);
  for (let isMore = hasMore; isMore;) {
    const next = await source.take(BLOCK_BYTES);
    if (next === undefined) throw cutOff();
    const more = readMoreSparse(next);
    parts.push(...more.parts);
    if (parts.length > MAX_SPARSE_PARTS) throw tooManyParts();
    isMore = more.hasMore;
  }
  return { parts, realSize };
}

/** The list before a file's content, in whole blocks: a number in each line, first how many parts, then their offsets and lengths. */
async function readMap(data: ByteSource): Promise<SparsePart[]> {
  const numbers: number[] = [];
  const wanted = () => 1 + 2 * (numbers[0] ?? 0);
  let line = "";
  while (numbers.length < wanted()) {
    const block = await data.take(BLOCK_BYTES);
    if (block === undefined) throw cutOff();
    const lines = (line + Buffer.from(block).toString("latin1")).split("\n");
    line = lines.pop() ?? "";
    for (const text of lines) if (numbers.length < wanted()) numbers.push(sizeIn(text));
    if (wanted() > 2 * MAX_SPARSE_PARTS) throw tooManyParts();
    if (line.length > BLOCK_BYTES) sizeIn(line);
  }
  return partsOf(numbers.slice(1));
}

/** @param numbers offsets and lengths in turn */
function partsOf(numbers: readonly number[]): SparsePart[] {
  if (numbers.length > 2 * MAX_SPARSE_PARTS) throw tooManyParts();
  const parts: SparsePart[] = [];
  for (let at = 0; at < numbers.length; at += 2) {
    parts.push({ offset: numbers[at] ?? 0, length: numbers[at + 1] ?? 0 });
  }
  return parts;
}

/** How much of a sparse file is stored. @throws {Problem} for parts that are not one after the other */
function storedBytes(parts: readonly SparsePart[], realSize: number): number {
  let sum = 0;
  let end = 0;
  for (const { offset, length } of parts) {
    if (offset < end || offset + length > realSize) {
      throw invalid("The archive has a sparse file with parts in wrong places");
    }
    end = offset + length;
    sum += length;
  }
  return sum;
}

/** The whole content of a sparse file. */
async function* filled(
  parts: readonly SparsePart[],
  realSize: number,
  data: ByteSource,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  // Parts may be empty: nothing is read or written then.
  for await (const { offset, length } of inSharedTurns(parts, "archives")) {
    yield* zeros(offset - at);
    yield* data.pieces(length, () => {});
    at = offset + length;
  }
  yield* zeros(realSize - at);
}

function* zeros(count: number): Generator<Uint8Array> {
  for (let left = count; left > 0; left -= ZEROS.length) yield ZEROS.subarray(0, left);
}

function cutOff(): Error {
  return invalid("The archive ends in the middle of an entry");
}

function tooManyParts(): Error {
  return invalid(`The archive has a sparse file of more than ${MAX_SPARSE_PARTS} parts`);
}
