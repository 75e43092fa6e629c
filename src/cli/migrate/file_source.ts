/** An installation as files: what `kubectl get … -o yaml` prints, or the folder of a repository. */
import { stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isKind } from "../../spec/schema/decode_manifest.ts";
import {
  cannotRead,
  expandFolders,
  metadataOf,
  objectsIn,
  readSource,
  withoutFile,
} from "../manifests.ts";
import { ACCOUNT_KINDS } from "./by_hand.ts";
import { INSTANCE_LABEL, type Selection, type Source, type SourceListener } from "./source.ts";

/** Largest file. It is held in memory as a whole. */
const MAX_BYTES = 64 * 2 ** 20;
/** Most files. */
const MAX_FILES = 10_000;

/** Where objects without a namespace belong, unless one is asked for. */
const DEFAULT_NAMESPACE = "default";

/** Opens files and folders. @throws {Error} when there are too many, or one is too large or can't be read */
export async function openFiles(
  names: string[],
  selection: Selection,
  listener: SourceListener,
): Promise<Source> {
  const files = await expandFolders(names);
  if (files.length > MAX_FILES) {
    throw new Error(`--file names ${files.length} files, at most ${MAX_FILES} are read: use parts`);
  }
  for (const file of files) {
    const { size } = await stat(file).catch((error: unknown) => {
      throw cannotRead(file, error);
    });
    if (size > MAX_BYTES) {
      throw new Error(`${file} has ${size} bytes, at most ${MAX_BYTES} are read: split it`);
    }
  }
  return new FileSource(files, selection, listener);
}

class FileSource implements Source {
  readonly name = "files";
  readonly #files: string[];
  readonly #selection: Selection;
  readonly #listener: SourceListener;

  constructor(files: string[], selection: Selection, listener: SourceListener) {
    this.#files = files;
    this.#selection = selection;
    this.#listener = listener;
  }

  async *manifests(): AsyncIterable<JsonObject[]> {
    const strange = new Map<string, number>();
    let workflows = 0;
    for await (const objects of this.#objects(true)) {
      const page: JsonObject[] = [];
      for (const object of objects) {
        const kind = String(object["kind"] ?? "");
        if (ACCOUNT_KINDS.includes(kind)) continue;
        if (isKind(kind)) {
          if (kind === "Workflow") workflows++;
          else page.push(object);
        } else strange.set(kind, (strange.get(kind) ?? 0) + 1);
      }
      if (page.length > 0) yield page;
    }
    for (const [kind, count] of strange) {
      // What is no manifest may be a damaged one. The folder of a repository has other kinds too.
      if (kind === "") this.#listener.trouble("objects without a kind", `${count} not read`);
      else this.#listener.unseen(kind, `${count}, not a kind that is imported`);
    }
    if (workflows > 0 && this.#selection.withWorkflows !== true) {
      this.#listener.unseen("Workflow", `${workflows}, --with-workflows imports finished ones`);
    }
  }

  async *workflows(): AsyncIterable<JsonObject[]> {
    for await (const objects of this.#objects(false)) {
      const page = objects.filter(({ kind }) => kind === "Workflow");
      if (page.length > 0) yield page;
    }
  }

  /** ConfigMaps in files were given on purpose: all of them are among the manifests. */
  configMap(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async *accounts(): AsyncIterable<JsonObject[]> {
    for await (const objects of this.#objects(false)) {
      yield objects.filter(({ kind }) => ACCOUNT_KINDS.includes(String(kind)));
    }
  }

  close(): void {}

  /** The objects of each file. @param tells whether a file that cannot be read is told */
  async *#objects(tells: boolean): AsyncGenerator<JsonObject[]> {
    for (const file of this.#files) {
      let objects: JsonObject[];
      try {
        objects = objectsIn(await readSource(file), file, { maxLength: MAX_BYTES }).flatMap(inList);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        if (tells) this.#listener.trouble(file, withoutFile(error, file));
        continue;
      }
      // Reading a large file takes seconds, in which the server closes its connection. The client notices in a turn of the event loop.
      await setImmediate();
      const { namespace = DEFAULT_NAMESPACE } = this.#selection;
      yield objects.map((object) => placed(object, namespace))
        .filter((object) => isSelected(object, this.#selection));
    }
  }
}

/** The objects in a `List`. */
function inList(object: JsonObject): JsonObject[] {
  const { kind, items } = object;
  if (typeof kind !== "string" || !kind.endsWith("List") || !Array.isArray(items)) return [object];
  return items.filter(isJsonObject).map((item) => ({ kind: kind.slice(0, -4), ...item }));
}

function placed(object: JsonObject, namespace: string): JsonObject {
  if (object["kind"] === "ClusterWorkflowTemplate") return object;
  return { ...object, metadata: { namespace, ...metadataOf(object) } };
}

function isSelected(object: JsonObject, { namespace, instanceId }: Selection): boolean {
  const { namespace: own, labels } = metadataOf(object);
  const { kind } = object;
  const isPlaced = namespace === undefined || kind === "ClusterWorkflowTemplate" ||
    own === namespace;
  const isOurs = instanceId === undefined || kind === "ConfigMap" ||
    ACCOUNT_KINDS.includes(String(kind)) ||
    (isJsonObject(labels) && labels[INSTANCE_LABEL] === instanceId);
  return isPlaced && isOurs;
}
