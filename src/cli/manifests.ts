/** Reads manifests from files, folders, standard input and URLs, and merges options into them. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { type Command, Option } from "commander";
import { errorText } from "../base/error_text.ts";
import { defined } from "../base/defined.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { reason } from "../client/transport.ts";
import { DecodeError, pathText, type UnknownField } from "../spec/schema/decode.ts";
import { decodeAny, type Kind } from "../spec/schema/decode_manifest.ts";
import { type ParsedDocument, parseDocuments, type ParseLimits } from "../spec/parse.ts";
import { UsageError } from "./context.ts";

/** Reads a file, standard input (`-`) or a URL. */
export async function readSource(name: string): Promise<string> {
  if (name === "-") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
    return textOf(Buffer.concat(chunks), "standard input");
  }
  if (/^https?:\/\//.test(name)) {
    const response = await fetch(name).catch((error: unknown) => {
      throw new Error(`Cannot read ${name}: ${reason(error)}`, { cause: error });
    });
    if (!response.ok) {
      throw new Error(`Cannot read ${name}: ${response.status} ${response.statusText}`);
    }
    return textOf(new Uint8Array(await response.arrayBuffer()), name);
  }
  return textOf(
    await readFile(name).catch((error: unknown) => {
      throw cannotRead(name, error);
    }),
    name,
  );
}

/** UTF-8, or UTF-16 with its mark, which PowerShell writes. @throws {Error} since another encoding would lose characters */
function textOf(bytes: Uint8Array, name: string): string {
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : "utf-8";
  try {
    return new TextDecoder(mark, { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not a text in UTF-8`);
  }
}

/** What is said of a file that could not be opened. @param error of the system's call */
export function cannotRead(name: string, error: unknown): Error {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const why = code === "EISDIR"
    ? "it is a folder, name files in it"
    : code === "ENOENT"
    ? "there is no such file"
    : errorText(error);
  return new Error(`Cannot read ${name}: ${why}`, { cause: error });
}

/** The names and values in a file, read as manifests are. @throws {Error} that names the file */
export async function readValues(name: string): Promise<JsonObject> {
  return JSON.parse(jsonText(await readExactValues(name))) as JsonObject;
}

/** The same with whole numbers as bigints: an id of many digits would become another one. */
export async function readExactValues(name: string): Promise<Record<string, unknown>> {
  const text = await readSource(name);
  let documents: ParsedDocument[];
  try {
    documents = parseDocuments(text, { isExact: true });
  } catch (error) {
    throw new Error(`${name}: ${errorText(error)}`, { cause: error });
  }
  const [found, ...more] = documents;
  if (!isJsonObject(found?.value) || more.length > 0) {
    throw new UsageError(`${name} does not hold names and values`);
  }
  return found.value;
}

/** The JSON text of a value, with all digits of its bigints. @throws {UsageError} when a number is too large */
export function jsonText(value: unknown, name = ""): string {
  return JSON.stringify(
    value,
    (key, one) => typeof one === "bigint" ? rawJson(one) : finiteOnly(key === "" ? name : key, one),
  );
}

/** Known to all programs that run this, but not yet to the types. */
function rawJson(value: bigint): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value));
}

/** Most characters of what is said about a text: it may quote all of the text. */
const MAX_QUOTED = 300;

/** What a parser of YAML says, without the picture of the place that follows. */
export function firstLine(error: unknown): string {
  const [line = ""] = errorText(error).split("\n", 1);
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line.replace(/:$/, "");
}

/** For `JSON.parse` and `JSON.stringify`: a number that is too large would become null. @throws {UsageError} */
export function finiteOnly(key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new UsageError(`${key === "" ? "a number" : key} is too large, or no number`);
}

/** Replaces folders by the YAML and JSON files in and below them. */
export async function expandFolders(names: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const isFolder = name !== "-" && await stat(name).then((one) => one.isDirectory(), () => false);
    if (!isFolder) {
      found.push(name);
      continue;
    }
    const inside = await readdir(name, { recursive: true });
    found.push(
      ...inside.filter((one) => /\.(ya?ml|json)$/.test(one)).sort().map((one) => join(name, one)),
    );
  }
  return found;
}

/** An object of a text, and the line of each of its parts. */
export interface LocatedObject {
  object: JsonObject;
  /** Line, from 1, of the deepest part of a path that exists; undefined in JSON. */
  lineOf: ParsedDocument["lineOf"];
}

/** The objects in a text, those of lists as `-o yaml` prints them too. @throws {Error} when it can't be read, or holds something else */
export function objectsIn(text: string, file: string, limits?: ParseLimits): JsonObject[] {
  return locatedObjectsIn(text, file, limits).map(({ object }) => object);
}

/** Like `objectsIn`, with the lines of the objects. */
export function locatedObjectsIn(
  text: string,
  file: string,
  limits: ParseLimits = {},
): LocatedObject[] {
  let documents: ParsedDocument[];
  try {
    documents = parseDocuments(text, limits).flatMap(inList);
  } catch (error) {
    throw new Error(`${file}: ${errorText(error)}`);
  }
  const objects = documents.flatMap(({ value: object, lineOf }) =>
    isJsonObject(object) ? [{ object, lineOf }] : []
  );
  if (objects.length === 0 || objects.length < documents.length) {
    throw new Error(
      `${file === "-" ? "standard input" : file} holds ${
        documents.length === 0 ? "no manifest" : "something that is not a manifest"
      }`,
    );
  }
  return objects;
}

/** The elements of a document that is a list, else the document. */
function inList(document: ParsedDocument): ParsedDocument[] {
  const { value, lineOf } = document;
  if (!Array.isArray(value)) return [document];
  return value.map((element: unknown, index) => ({
    value: element,
    lineOf: (path) => lineOf([index, ...path]),
  }));
}

/** Tells whether an object is the content of a file for `sluice test`, which often lies beside manifests. */
export function isWorkflowTest({ kind, tests }: JsonObject): boolean {
  return kind === undefined && Array.isArray(tests);
}

/** What an error says of a file that has been named before. */
export function withoutFile({ message }: Error, file: string): string {
  return message.startsWith(file) ? message.slice(file.length).replace(/^:? /, "") : message;
}

/** An object and its file. */
export interface FoundManifest extends LocatedObject {
  file: string;
}

/**
 * All manifests of some files, in order and as they were written. The server checks the fields, the same for every client. But a
 * server ignores unknown fields, so with `isStrict` they are refused here. @param kind of objects that name none
 */
export async function readManifestFiles(
  files: string[],
  isStrict: boolean,
  kind?: Kind,
): Promise<FoundManifest[]> {
  if (files.length === 0) throw new UsageError("Name at least one file (- is standard input)");
  const found: FoundManifest[] = [];
  for (const file of files) {
    const text = await readSource(file);
    for (const { object, lineOf } of locatedObjectsIn(text, file)) {
      if (isStrict) refuseUnknown({ ...defined({ kind }), ...object }, file);
      found.push({ file, object, lineOf });
    }
  }
  return found;
}

/** The path of a field that does not exist, and what it was meant to be. */
export function unknownFieldText({ path, meant }: UnknownField): string {
  const name = meant();
  const guess = name === undefined ? "" : `: did you mean ${JSON.stringify(name)}?`;
  return JSON.stringify(path) + guess;
}

function refuseUnknown(object: JsonObject, file: string): void {
  const unknown: string[] = [];
  try {
    decodeAny(object, { onUnknown: (field) => unknown.push(unknownFieldText(field)) });
  } catch {
    // The server reports all other faults, in its own words.
    return;
  }
  if (unknown.length > 0) {
    throw new Error(
      `${file}: unknown field${unknown.length > 1 ? "s" : ""} ${
        unknown.join(", ")
      } (--no-strict lets them pass)`,
    );
  }
}

const MISFIT = /cannot unmarshal .* of type (.+)$/;
/** What a type of Go is called in a manifest, by its beginning. */
const TYPES: readonly [begins: string, words: string][] = [
  ["[]", "a list"],
  ["map[", "names and values"],
  ["string", "a text"],
  ["bool", "true or false"],
  ["int", "a whole number"],
  ["test.", "names and values"],
];

/** Where a value of the wrong type stands, and what belongs there. Undefined for an error of another kind. */
export function misfitPlace(
  { message, path }: DecodeError,
  lineOf?: LocatedObject["lineOf"],
  type = MISFIT.exec(message)?.[1],
): string | undefined {
  if (type === undefined) return undefined;
  // What follows the type says already how to write it.
  const wanted = type.includes(";")
    ? undefined
    : TYPES.find(([begins]) => type.startsWith(begins))?.[1];
  const line = lineOf?.(path);
  const place = `at ${pathText(path)}${line === undefined ? "" : `, line ${line}`}`;
  return wanted === undefined ? place : `${place}: write ${wanted} there`;
}

/** A refusal with the place of the wrong value, which a server's words about its type don't tell. */
export function withPlace(
  message: string,
  object: JsonObject,
  lineOf?: LocatedObject["lineOf"],
): string {
  const type = MISFIT.exec(message)?.[1];
  if (type === undefined) return message;
  try {
    decodeAny({ kind: "Workflow", ...object });
  } catch (error) {
    if (!(error instanceof DecodeError) || !MISFIT.test(error.message)) return message;
    return `${message} (${misfitPlace(error, lineOf, type)})`;
  }
  return message;
}

/** The metadata of an object; empty when there is none. */
export function metadataOf(object: JsonObject): JsonObject {
  return isJsonObject(object["metadata"]) ? object["metadata"] : {};
}

/** Merges `-p name=value` texts and a parameter file's members into `spec.arguments.parameters`. */
export function withParameters(spec: JsonObject, given: Map<string, string>): JsonObject {
  if (given.size === 0) return spec;
  const args = (spec["arguments"] ?? {}) as JsonObject;
  const old = Array.isArray(args["parameters"]) ? args["parameters"] as JsonObject[] : [];
  const rest = old.filter((parameter) => !given.has(String(parameter["name"])));
  const set = [...given].map(([name, value]) => ({ name, value }));
  return { ...spec, arguments: { ...args, parameters: [...set, ...rest] } };
}

/** Adds `--no-strict`, and `--strict`, which is the default. */
export function addStrict(command: Command): Command {
  return command
    .option("--no-strict", "accept fields that do not exist")
    .addOption(new Option("--strict", "refuse fields that do not exist").default(true).hideHelp());
}
