/** What every command needs: connection, namespace, output format, reading of manifests. */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { Command, Option } from "commander";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { parseDocuments } from "../spec/parse.ts";
import { type Client, createClient } from "../client/client.ts";
import type { Format } from "./output.ts";

export interface GlobalOptions {
  namespace: string;
  server: string;
  token?: string;
  header?: string[];
}

export interface Context {
  client: Client;
  namespace: string;
  now: () => number;
}

/** Wrong use of the command line: exit status 2. */
export class UsageError extends Error {}

/** Adds `-o`. */
export function outputOption(): Option {
  return new Option("-o, --output <format>", "output format").choices([
    "json",
    "yaml",
    "wide",
    "name",
  ]);
}

export interface OutputOptions {
  output?: Format;
}

/** Builds the context from the options of the program's root. */
export function contextOf(command: Command): Context {
  const options = command.optsWithGlobals<GlobalOptions>();
  const headers = Object.fromEntries((options.header ?? []).map((text) => {
    const at = text.indexOf(":");
    if (at < 1) {
      throw new UsageError(`Header ${JSON.stringify(text)} is not of the form NAME:VALUE`);
    }
    return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  }));
  const server = /^https?:\/\//.test(options.server) ? options.server : `http://${options.server}`;
  const client = createClient({
    server: server.replace(/\/+$/, ""),
    headers,
    ...(options.token === undefined ? {} : { token: options.token }),
  });
  return { client, namespace: options.namespace, now: () => Date.now() };
}

/** Reads a file, standard input (`-`) or a URL. */
export async function readSource(name: string): Promise<string> {
  if (name === "-") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks).toString("utf8");
  }
  if (/^https?:\/\//.test(name)) {
    const response = await fetch(name);
    if (!response.ok) {
      throw new Error(`Cannot read ${name}: ${response.status} ${response.statusText}`);
    }
    return await response.text();
  }
  try {
    return await readFile(name, "utf8");
  } catch (error) {
    throw new Error(
      `Cannot read ${name}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** All manifests of some files, in order. */
export async function readManifests(files: string[]): Promise<JsonObject[]> {
  if (files.length === 0) throw new UsageError("Name at least one file (- is standard input)");
  const found: JsonObject[] = [];
  for (const file of files) {
    // Only the text is read here: what the fields must be is the server's verdict, the same for every client.
    const text = await readSource(file);
    let documents: unknown[];
    try {
      documents = parseDocuments(text).map((document) => document.value);
    } catch (error) {
      throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    }
    const objects = documents.filter(isJsonObject);
    if (objects.length === 0 || objects.length < documents.length) {
      throw new Error(
        `${file} holds ${documents.length === 0 ? "no manifest" : "something that is no manifest"}`,
      );
    }
    found.push(...objects);
  }
  return found;
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

/** Splits `name=value` on the first `=`. */
export function pairs(texts: string[] | undefined, what: string): Map<string, string> {
  return new Map((texts ?? []).map((text) => {
    const at = text.indexOf("=");
    if (at < 1) {
      throw new UsageError(
        `Expected ${what} of the form NAME=VALUE, received ${JSON.stringify(text)}`,
      );
    }
    return [text.slice(0, at), text.slice(at + 1)];
  }));
}

/** Collects a repeatable option. */
export function collect(value: string, all: string[] | undefined): string[] {
  return [...(all ?? []), value];
}
