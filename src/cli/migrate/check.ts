/** What will become of each manifest of an installation: works, works in part, or is refused. */
import { Problem } from "../../base/problem.ts";
import type { JsonObject } from "../../base/json.ts";
import { templateFinder } from "../../spec/lint.ts";
import { claimsFor, visitMembers } from "../../spec/members.ts";
import { type AnyManifest, decodeAny } from "../../spec/schema/decode_manifest.ts";
import { KIND_SCHEMAS } from "../../spec/schema/kinds.ts";
import type { Claim } from "../../spec/support.ts";
import { validateAny } from "../../spec/validation/any.ts";

/** `left`: it is not meant to be imported. */
export type Verdict = "works" | "partly" | "refused" | "left";

/** Something that is not as it was. */
export interface Note {
  /** From the object on: `spec.templates[0].plugin`. */
  path: string;
  text: string;
}

export interface Assessment {
  verdict: Verdict;
  /** Why it is refused. */
  reason?: string;
  /** Members without effect. */
  notes: Note[];
}

/** What runs the steps, as the support of each member is claimed. */
export const EXECUTORS = ["process", "container", "kubernetes"] as const;
export type ExecutorName = typeof EXECUTORS[number];

/** Most notes about one object. */
const MAX_NOTES = 20;
const NO_EFFECT = "has no effect";

/** Assesses manifests that may refer to each other, in their order. */
export function assess(objects: readonly JsonObject[], executor: ExecutorName): Assessment[] {
  const read = objects.map(readLeniently);
  const finder = templateFinder(read.flatMap(({ manifest }) => manifest ?? []));
  return read.map(({ manifest, fault, unknown }, index) => {
    const notes = [
      ...unknown.map((path) => ({ path, text: "is not known, and ignored" })),
      ...memberNotes(objects[index] ?? {}, executor),
    ];
    const reason = fault ?? (manifest && faultOf(manifest, finder));
    if (reason !== undefined) return { verdict: "refused", reason, notes: bounded(notes) };
    return { verdict: notes.length > 0 ? "partly" : "works", notes: bounded(notes) };
  });
}

interface Read {
  manifest?: AnyManifest;
  fault?: string;
  unknown: string[];
}

/** Decodes as a server does that ignores unknown members, and remembers those. */
function readLeniently(object: JsonObject): Read {
  const unknown: string[] = [];
  try {
    // Names must match exactly only where unknown members are asked for.
    const manifest = decodeAny(object);
    decodeAny(object, { onUnknown: ({ path }) => unknown.push(path) });
    return { manifest, unknown };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { fault: error.message, unknown };
  }
}

function faultOf(
  manifest: AnyManifest,
  finder: ReturnType<typeof templateFinder>,
): string | undefined {
  try {
    validateAny(manifest, finder, { offline: true });
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.message;
  }
}

/** Notes about members without effect, the outermost ones only. */
function memberNotes(object: JsonObject, executor: ExecutorName): Note[] {
  const schema = KIND_SCHEMAS.get(String(object["kind"]));
  const notes: Note[] = [];
  if (schema === undefined) return notes;
  visitMembers({ spec: object["spec"] ?? null }, schema, ({ struct, member, path, isFiller }) => {
    if (isFiller) return;
    const [claim] = claimsFor(struct, member);
    if (claim === undefined || claim.isAsReference === true || hasEffect(claim, executor)) return;
    if (notes.some((note) => isBelow(path, note.path))) return;
    notes.push({ path, text: claim.note ?? NO_EFFECT });
  });
  return notes;
}

function hasEffect({ is }: Claim, executor: ExecutorName): boolean {
  if (is === "server" || is === "none") return is === "server";
  return is[EXECUTORS.indexOf(executor)] === "y";
}

function isBelow(path: string, outer: string): boolean {
  return path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

function bounded(notes: Note[]): Note[] {
  const more = notes.length - MAX_NOTES;
  return more <= 0
    ? notes
    : [...notes.slice(0, MAX_NOTES), { path: "…", text: `${more} more such members` }];
}
