/**
 * Archives of artifacts, unpacked into a folder. Beside it lies a canary that must stay as it is, and when all is unpacked
 * no link leads out.
 */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import fc from "fast-check";
import { Budget } from "../../../src/artifacts/budget.ts";
import { placeFile } from "../../../src/artifacts/pack.ts";
import type { Artifact } from "../../../src/spec/manifest.ts";
import { archiveBytes, type ArchiveInput, archiveInput } from "../grammar/archives.ts";
import { type FuzzKind, Undeclared } from "../kind.ts";

type Mode = "default" | "tar" | "zip" | "none";

interface Input {
  archive: ArchiveInput;
  mode: Mode;
}

const MODES: Record<Mode, Artifact["archive"]> = {
  default: undefined,
  tar: { tar: {} },
  zip: { zip: {} },
  none: { none: {} },
};
const CANARY = "the canary sings";

export const ARCHIVE: FuzzKind<Input> = {
  inputs: fc.record({
    archive: archiveInput,
    mode: fc.constantFrom<Mode>("default", "default", "tar", "zip", "none"),
  }).map(({ archive, mode }) => ({
    archive,
    // Most archives are read as what they are.
    mode: archive.format === "zip" && mode === "tar" ? "zip" : mode,
  })),
  maxBlockMs: 250,
  outcomes: ["placed", "refused"],
  open() {
    const base = mkdtempSync(join(tmpdir(), "sluice-fuzz-"));
    const canary = join(base, "canary");
    let number = 0;
    return {
      async run({ archive, mode }) {
        const root = join(base, `run${++number}`);
        const place = join(root, "work");
        mkdirSync(place, { recursive: true });
        mkdirSync(canary, { recursive: true });
        writeFileSync(join(canary, "file"), CANARY);
        const file = join(root, "file");
        writeFileSync(file, archiveBytes(archive, canary));
        try {
          return await unpack(file, join(place, "out"), mode);
        } finally {
          try {
            checkCanary(base, canary, root);
            checkLinks(place, join(place, "out"));
          } finally {
            rmSync(root, { recursive: true, force: true });
          }
        }
      },
    };
  },
};

/** What one archive may become here. */
const MAX_UNPACKED_BYTES = 16 * 2 ** 20;

async function unpack(file: string, path: string, mode: Mode): Promise<string> {
  const archive = MODES[mode];
  const artifact = { name: "a", ...(archive === undefined ? {} : { archive }) };
  try {
    await placeFile(file, path, artifact, new Budget(MAX_UNPACKED_BYTES));
    return "placed";
  } catch (error) {
    // A step fails with any text, but a defect of ours has no name of a failure.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    if (!(error instanceof Error)) throw new Undeclared(`thrown: ${String(error)}`);
    return "refused";
  }
}

/** Nobody wrote beside the folder. */
function checkCanary(base: string, canary: string, root: string): void {
  const around = readdirSync(base).filter((name) => join(base, name) !== root);
  const inside = readdirSync(canary);
  const text = inside.includes("file") ? readFileSync(join(canary, "file"), "utf8") : "";
  const beside = readdirSync(root).filter((name) => name !== "work" && name !== "file");
  const isHurt = around.length !== 1 || inside.length !== 1 || text !== CANARY || beside.length > 0;
  if (!isHurt) return;
  rmSync(canary, { recursive: true, force: true });
  for (const name of around) rmSync(join(base, name), { recursive: true, force: true });
  throw new Undeclared(`written outside of the folder: ${[...around, ...inside, ...beside]}`);
}

/** No link that was unpacked leads out of what was unpacked. */
function checkLinks(folder: string, top: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = lstatSync(path);
    if (found.isDirectory()) checkLinks(path, top);
    else if (found.isSymbolicLink()) {
      const target = resolve(dirname(path), readlinkSync(path));
      if (target !== top && !target.startsWith(top + sep)) {
        throw new Undeclared(`a link leads out: ${path.slice(top.length)} → ${readlinkSync(path)}`);
      }
    } else if (!found.isFile()) {
      throw new Undeclared(`neither file, folder nor link: ${path.slice(top.length)}`);
    }
  }
}
