/**
 * A backup of a store: a header, one record on each line, and an end with counts and checksums, all of it JSON. A name that
 * ends with `.gz` says that it is compressed; `-` stands for the standard streams.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { TextLines } from "../../base/text_lines.ts";
import { VERSION } from "../../base/version.ts";
import {
  type CopyPlan,
  inBatches,
  type SourceFacts,
  type StoreRecord,
  type StoreSource,
  type StoreTarget,
} from "../../store/dump.ts";
import { canonical, Tally } from "../../store/dump_tally.ts";

/** Version of the form of a backup. */
const BACKUP_FORMAT = 1;
/** Most characters of a line: more than any record has. */
const MAX_LINE = 1 << 28;
const STANDARD = "-";

/** Kinds of records that this program knows. */
const TYPES: ReadonlySet<unknown> = new Set<StoreRecord["type"]>([
  "manifest",
  "blob",
  "parts",
  "actor",
  "remains",
  "effect",
  "timer",
  "command",
  "answer",
  "event",
  "dedupe",
  "delivery",
]);

/**
 * A backup to write. It gets its name when it is complete; only its owner may read it, since it holds secrets.
 * @throws {Problem} AlreadyExists
 */
export function openBackupTarget(file: string, now: () => number): StoreTarget {
  if (file !== STANDARD && existsSync(file)) {
    throw new Problem(ProblemCode.AlreadyExists, `${file} is there already: choose another name`);
  }
  const part = `${file}.part`;
  const tally = new Tally();
  let sink: Writable | undefined;
  let failure: unknown;
  const closing: Promise<unknown>[] = [];
  const write = async (value: unknown) => {
    if (failure !== undefined) throw failure;
    if (sink?.write(`${JSON.stringify(value)}\n`) === false) {
      await Promise.race([once(sink, "drain"), ...closing]);
    }
  };
  return {
    name: file,
    async begin({ actors, version, shards }: CopyPlan) {
      if (file !== STANDARD) await makeFile(file, part);
      sink = openSink(file, part, closing);
      for (const end of closing) end.catch((error: unknown) => failure = error);
      const at = new Date(now()).toISOString();
      await write({
        type: "sluice-store",
        format: BACKUP_FORMAT,
        program: VERSION,
        id: randomUUID(),
        at,
        shards,
        version,
        actors,
      });
      return false;
    },
    async write(records) {
      tally.add(records);
      for (const record of records) await write(record);
    },
    discard: () => Promise.resolve(),
    async finish() {
      await write({ type: "end", sections: tally.sections() });
      if (file === STANDARD) return;
      sink?.end();
      await Promise.all(closing);
      const handle = await open(part, "r+");
      await handle.sync();
      await handle.close();
      await rename(part, file);
    },
    async close() {
      sink?.destroy();
      if (file !== STANDARD) await rm(part, { force: true });
    },
  };
}

/** @throws {Problem} FailedPrecondition when there is no such folder, or it can't be written to */
async function makeFile(file: string, part: string): Promise<void> {
  try {
    await (await open(part, "w", 0o600)).close();
  } catch (error) {
    throw new Problem(ProblemCode.FailedPrecondition, `Cannot write ${file}: ${errorText(error)}`);
  }
}

/** @param closing gets what resolves when all of it is written */
function openSink(file: string, part: string, closing: Promise<unknown>[]): Writable {
  if (file === STANDARD) return process.stdout;
  const stream = createWriteStream(part);
  closing.push(finished(stream));
  if (!file.endsWith(".gz")) return stream;
  const gzip = createGzip({ level: 4 });
  closing.push(finished(gzip));
  gzip.pipe(stream);
  return gzip;
}

/**
 * A backup to read. Everything is checked by its end: a file that is cut off or changed is refused.
 * @throws {Problem} NotFound
 */
export function openBackupSource(file: string): StoreSource {
  if (file !== STANDARD && !existsSync(file)) {
    throw new Problem(ProblemCode.NotFound, `There is no file ${file}`);
  }
  const name = file === STANDARD ? "the standard input" : file;
  const input = openInput(file);
  const lines = linesOf(input, name);
  let facts: SourceFacts | undefined;
  return {
    name,
    async facts() {
      if (facts !== undefined) return facts;
      const first = await lines.next();
      return facts = headerOf(first.done === true ? undefined : first.value, name);
    },
    read: () => inBatches(recordsOf(lines, name)),
    close() {
      input.destroy();
      return Promise.resolve();
    },
  };
}

function openInput(file: string): Readable {
  if (file === STANDARD) return process.stdin;
  const stream = createReadStream(file);
  if (!file.endsWith(".gz")) return stream;
  const gunzip = createGunzip();
  stream.on("error", (error) => gunzip.destroy(error));
  return stream.pipe(gunzip);
}

/** Lines with their numbers. */
async function* linesOf(
  input: Readable,
  name: string,
): AsyncGenerator<[number: number, text: string]> {
  const decoder = new TextDecoder();
  const lines = new TextLines();
  let number = 0;
  try {
    for await (const chunk of input) {
      const text = decoder.decode(chunk as Uint8Array, { stream: true });
      for (const line of lines.add(text)) yield [++number, line];
      if (lines.rest.length > MAX_LINE) throw broken(name, number + 1, "it is too long");
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw broken(name, number + 1, `it can't be read: ${(error as Error).message}`);
  }
  if (lines.rest !== "") throw broken(name, number + 1, "the file is cut off there");
}

function headerOf(line: [number, string] | undefined, name: string): SourceFacts {
  const header = parseOrUndefined(line?.[1] ?? "");
  if (!isJsonObject(header) || header["type"] !== "sluice-store") {
    throw new Problem(
      ProblemCode.InvalidArgument,
      `${name} is not a backup that \`sluice store export\` has written`,
    );
  }
  const { format, shards, version, id, actors } = header;
  if (format !== BACKUP_FORMAT) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `${name} has format ${format}, this program reads format ${BACKUP_FORMAT}: use a newer one`,
    );
  }
  const isWhole = Number.isInteger(shards) && /^\d{1,16}$/.test(String(version));
  if (!isWhole) throw broken(name, 1, "shards or version are missing");
  return {
    shards: Number(shards),
    version: String(version),
    state: String(id),
    actors: Number(actors ?? 0),
  };
}

async function* recordsOf(
  lines: AsyncIterable<[number, string]>,
  name: string,
): AsyncGenerator<StoreRecord> {
  const tally = new Tally();
  let last = 1;
  for await (const [number, text] of lines) {
    last = number;
    const record = parseOrUndefined(text);
    if (!isJsonObject(record)) throw broken(name, number, "it is not JSON");
    if (record["type"] === "end") return assertSame(record, tally, name);
    if (!TYPES.has(record["type"])) throw broken(name, number, `nobody knows "${record["type"]}"`);
    const known = record as unknown as StoreRecord;
    try {
      tally.add([known]);
    } catch (error) {
      throw broken(name, number, errorText(error));
    }
    yield known;
  }
  throw broken(name, last + 1, "the end is missing: the file is cut off");
}

function assertSame(end: JsonObject, tally: Tally, name: string): void {
  if (canonical(end["sections"]) === canonical(tally.sections())) return;
  throw new Problem(
    ProblemCode.DataLoss,
    `${name} is damaged: its records don't have the counts and checksums at its end`,
  );
}

function broken(name: string, line: number, why: string): Problem {
  return new Problem(ProblemCode.DataLoss, `Line ${line} of ${name}: ${why}`);
}
