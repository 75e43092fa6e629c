/** Bytes of archives: tar, gzipped tar and zip with entries that point elsewhere, lie about their size, or are damaged. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { OBJECT_NAMES } from "./texts.ts";

export interface Entry {
  /** Characters of a tar's type flag; of a zip only links differ. */
  type:
    | "file"
    | "directory"
    | "symlink"
    | "link"
    | "fifo"
    | "device"
    | "longname"
    | "pax"
    | "sparse";
  name: string;
  /** Where a link points, or the records of a pax header. */
  target: string;
  content: string;
  /** How often the content is repeated. */
  times: number;
  mode: number;
  /** Added to the size that the header tells. */
  lie: number;
}

export interface ArchiveInput {
  format: "tar" | "tgz" | "zip";
  entries: Entry[];
  /** Bytes that are changed: where, as a share of the whole, and to what; cut = all that follows is gone. */
  damage: { at: number; to: number | "cut" }[];
}

/** Names that lead out, if anything does. `CANARY` stands for the folder that nobody may write to. */
const NAMES: readonly string[] = [
  ...["a", "a/b", "a/b/c", "a/../b", "b", "b/x", "l", "l/x", "l/l/x", ".", "./a", "", "/", "//a"],
  ...["..", "../x", "../../x", "a/../../x", "CANARY/x", "../canary/x", "../../canary/x", "a/./b"],
  ...[
    "/etc/x",
    "\\..\\x",
    "a\\b",
    "C:\\x",
    "a\u0000b",
    "a\nb",
    "é",
    "e\u0301",
    "\u202ea",
    "%2e%2e/x",
  ],
  ...["n".repeat(300), "n/".repeat(200), "x/.tmpdir", ...OBJECT_NAMES],
];
const TARGETS: readonly string[] = [
  ...["a", ".", "..", "../..", "../canary", "../../canary", "CANARY", "/", "/etc/passwd", "l", ""],
  ...["a/../..", "b/../../x", "/proc/self/environ", "././..", "a/b/../../..", "n".repeat(5_000)],
];

const entry: fc.Arbitrary<Entry> = fc.record({
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constant("file" as const) },
    { weight: 2, arbitrary: fc.constant("directory" as const) },
    { weight: 4, arbitrary: fc.constantFrom("symlink" as const, "link" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...(["fifo", "device", "longname", "pax", "sparse"] as const),
      ),
    },
  ),
  name: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("a", "b", "l", "a/b", "l/x") },
    { weight: 2, arbitrary: fc.constantFrom(...NAMES) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
  ),
  target: fc.oneof(
    fc.constantFrom(...TARGETS),
    fc.constantFrom("22 path=../../canary/x\n", "99999999999 path=a\n", "6 size\n", "13 size=-1\n"),
    fc.constantFrom(
      "22 GNU.sparse.major=1\n31 GNU.sparse.realsize=9999999\n",
      "24 GNU.sparse.size=5000\n29 GNU.sparse.map=0,1,4999,1\n",
      "28 GNU.sparse.size=70000000\n23 GNU.sparse.offset=4\n25 GNU.sparse.numbytes=2\n",
    ),
  ),
  content: fc.constantFrom("", "x", "hello\n", "\u0000", "0".repeat(512)),
  times: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 40_000) },
  ),
  mode: fc.constantFrom(0o644, 0o755, 0o4755, 0o0, 0o777),
  lie: fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(1, -1, 511, 512, 2 ** 31, 2 ** 33 - 1, -(2 ** 20)) },
  ),
});

export const archiveInput: fc.Arbitrary<ArchiveInput> = fc.record({
  format: fc.constantFrom("tar", "tgz", "tgz", "zip"),
  entries: fc.array(entry, { maxLength: 6 }),
  damage: fc.oneof(
    { weight: 4, arbitrary: fc.constant<ArchiveInput["damage"]>([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.record({
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          to: fc.oneof(fc.nat(255), fc.constant("cut" as const)),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    },
  ),
});

/** The bytes. @param canary the folder that nobody may write to */
export function archiveBytes({ format, entries, damage }: ArchiveInput, canary: string): Buffer {
  const placed = entries.map((one) => ({
    ...one,
    name: one.name.replace("CANARY", canary),
    target: one.target.replace("CANARY", canary),
  }));
  const plain = format === "zip" ? zipBytes(placed) : tarBytes(placed);
  let bytes: Buffer = format === "tgz" ? gzipSync(plain) : plain;
  for (const { at, to } of damage) {
    const place = Math.min(bytes.length - 1, Math.floor(at * bytes.length));
    if (place < 0) continue;
    if (to === "cut") bytes = bytes.subarray(0, place);
    else bytes[place] = to;
  }
  return bytes;
}

const TAR_TYPES: Record<Entry["type"], string> = {
  file: "0",
  link: "1",
  symlink: "2",
  device: "3",
  directory: "5",
  fifo: "6",
  longname: "L",
  pax: "x",
  sparse: "S",
};

function tarBytes(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.flatMap(tarEntry), Buffer.alloc(1024)]);
}

function tarEntry(entry: Entry): Buffer[] {
  const { type, name, target, content, times, mode, lie } = entry;
  const hasBody = type === "file" || type === "longname" || type === "pax" || type === "sparse";
  const body = Buffer.from(hasBody ? type === "file" ? content.repeat(times) : target : "");
  const header = Buffer.alloc(512);
  header.write(name, 0, 100, "utf8");
  header.write(octal(mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(Math.max(0, body.length + lie), 11), 124);
  header.write(octal(0, 11), 136);
  header.write("        ", 148);
  header.write(TAR_TYPES[type], 156);
  if (!hasBody) header.write(target, 157, 100, "utf8");
  header.write("ustar\u000000", 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 6)}\u0000 `, 148);
  return [header, body, Buffer.alloc((512 - body.length % 512) % 512)];
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, "0").slice(-width);
}

function zipBytes(entries: readonly Entry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { type, name, target, content, times, mode, lie } of entries) {
    const text = type === "symlink" ? target : type === "file" ? content.repeat(times) : "";
    const body = Buffer.from(text);
    const packed = deflateRawSync(body);
    const path = Buffer.from(type === "directory" ? `${name}/` : name);
    const kind = type === "symlink" ? 0o120000 : type === "directory" ? 0o040000 : 0o100000;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(body), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(Math.max(0, body.length + lie) % 2 ** 32, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004", "latin1"), common, path, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((kind | mode) << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    const made = Buffer.from([20, 3]);
    directory.push(
      Buffer.concat([Buffer.from("PK\u0001\u0002", "latin1"), made, common, tail, path]),
    );
    parts.push(local);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}
