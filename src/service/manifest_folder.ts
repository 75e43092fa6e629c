/**
 * Manifests from a folder: stored at the start and whenever files change. A fault is logged with its file and line, and
 * does not affect other manifests. Nothing is deleted: when a file is removed, what it brought stays.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { unrestrictedCaller } from "../auth/caller.ts";
import { errorText } from "../base/error_text.ts";
import { defined } from "../base/defined.ts";
import { Seldom } from "../platform/seldom.ts";
import { DecodeError } from "../spec/schema/decode.ts";
import { type AnyManifest, decodeAny, KINDS } from "../spec/schema/decode_manifest.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { type ParsedDocument, parseDocuments, ParseError } from "../spec/parse.ts";
import type { ServiceDeps } from "./deps.ts";
import { createChecked, isCheckedKind, updateChecked } from "./manifests/checked_writes.ts";
import { type ManifestObject, objectFrom } from "./manifests/reads.ts";
import type { CheckedManifests } from "./manifests/validation.ts";
import { createManifest, normalManifest, updateManifest } from "./manifests/writes.ts";

const LOOK_EVERY_MS = 2_000;
const MAX_FILES = 10_000;
const MAX_DEPTH = 5;
const DEFAULT_NAMESPACE = "default";
/** Files of the folder are stored with the rights of the server itself. */
const SERVER = unrestrictedCaller();

/** One manifest of a file. */
interface Found {
  file: string;
  lineOf: ParsedDocument["lineOf"];
  manifest: Exclude<AnyManifest, { kind: "Workflow" }>;
}

/** Loads the folder now and whenever it changes, until the signal aborts. Resolves when it is loaded the first time. */
export async function followManifestFolder(
  deps: ServiceDeps,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  let seen = new Map<string, string>();
  const look = async () => {
    const files = await stampsOf(folder);
    const isChanged = files.size !== seen.size ||
      [...files].some(([file, stamp]) => seen.get(file) !== stamp);
    if (!isChanged) return;
    await loadManifests(deps, [...files.keys()]);
    seen = files;
  };
  const seldom = new Seldom(deps.clock);
  const attempt = () =>
    look().catch((error: unknown) => {
      if (seldom.ask(errorText(error)) === undefined) return;
      deps.log.warn({ folder, err: error }, "manifests could not be loaded");
    });
  await attempt();
  void (async () => {
    while (!signal.aborted) {
      await deps.clock.sleep(LOOK_EVERY_MS, signal);
      if (!signal.aborted) await attempt();
    }
  })();
}

/** Files with manifests, each with a stamp that changes when the file does. Names that begin with a dot are left out. */
async function stampsOf(folder: string, depth = 0): Promise<Map<string, string>> {
  const stamps = new Map<string, string>();
  for (const name of (await readdir(folder)).sort()) {
    if (name.startsWith(".") || stamps.size >= MAX_FILES) continue;
    const path = join(folder, name);
    // A link that leads nowhere is a fault of this file alone: reading it says so.
    const facts = await stat(path).catch(() => undefined);
    if (facts?.isDirectory()) {
      if (depth < MAX_DEPTH) {
        for (const [file, stamp] of await stampsOf(path, depth + 1)) stamps.set(file, stamp);
      }
    } else if (/\.(ya?ml|json)$/.test(name)) {
      stamps.set(path, `${facts?.mtimeMs} ${facts?.size} ${facts?.ino}`);
    }
  }
  return stamps;
}

/** Stores the manifests of the files that differ from those in the store. */
async function loadManifests(deps: ServiceDeps, files: readonly string[]): Promise<void> {
  const found: Found[] = [];
  for (const file of files) found.push(...await readManifests(deps, file));
  let open = found.sort((a, b) => KINDS.indexOf(a.manifest.kind) - KINDS.indexOf(b.manifest.kind));
  let stored = 0;
  // A template may refer to one that comes later, so failures are tried again as long as something succeeds.
  for (;;) {
    const failures: { one: Found; error: unknown }[] = [];
    for (const one of open) {
      try {
        if (await store(deps, one.manifest)) stored++;
      } catch (error) {
        failures.push({ one, error });
      }
    }
    if (failures.length === 0 || failures.length === open.length) {
      for (const { one, error } of failures) complain(deps, one.file, one.lineOf, error);
      break;
    }
    open = failures.map(({ one }) => one);
  }
  deps.log.info({ files: files.length, manifests: found.length, stored }, "manifests loaded");
}

async function readManifests(deps: ServiceDeps, file: string): Promise<Found[]> {
  try {
    const documents = parseDocuments(await readFile(file, "utf8"));
    return documents.flatMap(({ value, lineOf }) => {
      try {
        const manifest = decodeAny(value);
        if (manifest.kind !== "Workflow") return [{ file, lineOf, manifest }];
        const line = lineOf([]) ?? 1;
        deps.log.warn({ file, line }, "a Workflow in the folder of manifests is not submitted");
      } catch (error) {
        complain(deps, file, lineOf, error);
      }
      return [];
    });
  } catch (error) {
    const line = error instanceof ParseError ? error.line : undefined;
    complain(deps, file, () => line, error);
    return [];
  }
}

function complain(
  { log }: ServiceDeps,
  file: string,
  lineOf: ParsedDocument["lineOf"],
  error: unknown,
): void {
  const reason = errorText(error);
  // The text about a wrong value usually begins with its place.
  const [place = ""] = reason.split(" ");
  const path = error instanceof DecodeError ? error.path : place.split(".");
  log.warn({ file, line: lineOf(path) ?? 1, reason }, "malformed manifest");
}

/** @returns false when it is stored already */
async function store(deps: ServiceDeps, { kind, manifest }: Found["manifest"]): Promise<boolean> {
  const namespace = kind === "ClusterWorkflowTemplate"
    ? ""
    : manifest.metadata.namespace ?? DEFAULT_NAMESPACE;
  const { name = "" } = manifest.metadata;
  const before = await deps.store.manifests.get(ManifestKind[kind], namespace, name);
  const { apiVersion: _api, kind: _kind, ...object } = manifest;
  if (before === undefined) {
    await create(deps, kind, namespace, object);
    return true;
  }
  const known = objectFrom<ManifestObject & { status?: unknown }>(before);
  if (contentOf(ManifestKind[kind], known) === contentOf(ManifestKind[kind], object)) return false;
  const { metadata: { uid, resourceVersion = "" }, status } = known;
  await update(deps, kind, namespace, {
    ...object,
    ...defined({ status }),
    // A file means the object of this name, also if it was read from another server.
    metadata: { ...manifest.metadata, ...defined({ uid }), resourceVersion },
  });
  return true;
}

async function create(
  deps: ServiceDeps,
  kind: Found["manifest"]["kind"],
  namespace: string,
  object: ManifestObject,
): Promise<void> {
  if (isCheckedKind(kind)) {
    await createChecked(deps, SERVER, kind, namespace, object as CheckedManifests[typeof kind]);
  } else await createManifest(deps, SERVER, ManifestKind[kind], namespace, object);
}

async function update(
  deps: ServiceDeps,
  kind: Found["manifest"]["kind"],
  namespace: string,
  object: ManifestObject,
): Promise<void> {
  if (isCheckedKind(kind)) {
    const checked = object as CheckedManifests[typeof kind];
    await updateChecked(deps, SERVER, kind, namespace, "", checked);
  } else await updateManifest(deps, SERVER, ManifestKind[kind], namespace, object);
}

/** The part of an object that a file decides, as a text that can be compared. */
function contentOf(kind: ManifestKind, object: ManifestObject): string {
  const { metadata, status: _, apiVersion: _api, kind: _kind, ...rest } = normalManifest<
    ManifestObject & { status?: unknown; apiVersion?: string; kind?: string }
  >(kind, object);
  const { labels = {}, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(([key]) => !key.startsWith("cronworkflows."));
  return sortedJson({ ...rest, labels, annotations: Object.fromEntries(own) });
}

function sortedJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, member: unknown) =>
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1))
        : member,
  );
}
