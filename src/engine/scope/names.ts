/**
 * Names and ids of nodes. Ids are derived from names, so a manifest gives the same ids everywhere, and a node is found without
 * an index.
 */
import { flatText, inOnePiece } from "../../base/flat_text.ts";
import type { Json } from "../../base/json.ts";
import type { TemplateRef } from "../../spec/manifest.ts";
import { exactJson, isPlainMap, partText } from "./raw_json.ts";

const encoder = new TextEncoder();

// A memo of a pure function: whoever begins a node asks for its id, its pod's name, and whether it exists.
let last = { text: "", hash: 0x811c9dc5 };

/** FNV-1a, 32 bit, of the UTF-8 text. */
export function fnv1a(text: string): number {
  if (text !== last.text) last = { text, hash: hashOf(text) };
  return last.hash;
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // From the first character with more than one byte on, the bytes must be hashed.
    if (code >= 0x80) return hashBytes(hash, encoder.encode(text.slice(at)));
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash >>> 0;
}

function hashBytes(start: number, bytes: Uint8Array): number {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

// Another: one text for all who ask, which the runtime has to hash only once.
let lastId = { workflow: "", name: "", id: "" };

/** Id of the node with this full name. */
export function nodeId(workflow: string, name: string): string {
  if (name === workflow) return workflow;
  if (lastId.name !== name || lastId.workflow !== workflow) {
    lastId = { workflow, name, id: flatText(workflow, "-", String(fnv1a(name))) };
  }
  return lastId.id;
}

/**
 * Id for another node whose name has the same hash as this one's: of 100,000 names, two may have one. It is derived from the
 * name too, and is free.
 */
export function freeId(workflow: string, name: string, isTaken: (id: string) => boolean): string {
  for (let count = 1;; count++) {
    const id = flatText(workflow, "-", String(hashOf(`${name}#${count}`)));
    if (!isTaken(id)) return id;
  }
}

/** Tells whether a node has the id that follows from its name. */
export function hasUsualId({ id, name }: { id: string; name: string }): boolean {
  return id === name || id.endsWith(`-${fnv1a(name)}`);
}

/** Full name of a step group. */
export function groupName(steps: string, index: number): string {
  return flatText(steps, "[", String(index), "]");
}

/** Full name of a step in a step group, of a task in a DAG, or of a container in a pod. */
export function memberName(around: string, member: string): string {
  return flatText(around, ".", member);
}

/** The name that people see: without the names of the boundary and the step group. */
export function displayNameOf(name: string, boundaryName: string | undefined): string {
  if (boundaryName === undefined || !name.startsWith(boundaryName)) return name;
  return inOnePiece(name.slice(boundaryName.length).replace(/^(?:\[\d+\](?!$))?\.?/, ""));
}

/**
 * Kubernetes pod name: workflow, template and the hash in the node's id, which is that of its name. A node that was imported may
 * have an id without one.
 */
export function podName(
  workflow: string,
  { id, name }: { id: string; name: string },
  template: string | undefined,
): string {
  if (name === workflow) return workflow;
  const prefix = template === undefined || template === "" ? workflow : `${workflow}-${template}`;
  const hash = HASH.test(id) ? id.slice(id.lastIndexOf("-") + 1) : String(fnv1a(name));
  return flatText(prefix.slice(0, 242), "-", hash);
}

const HASH = /-\d+$/;

/** Name of the pod of a node, in the engine or in a workflow's status. */
export function podNameOf(
  workflow: string,
  node: {
    id: string;
    name: string;
    templateName?: string | undefined;
    templateRef?: TemplateRef | undefined;
  },
): string {
  return podName(workflow, node, node.templateRef?.template ?? node.templateName);
}

/** Name of a loop element: `base(index:item)`. */
export function loopName(base: string, index: number, item: Json): string {
  const shown = describeItem(item).replaceAll(/[()]/g, "");
  return flatText(base, "(", String(index), ":", shown, ")");
}

/** A loop item inside a name: a text as JSON writes it, a map as sorted pairs, a list separated by blanks. */
function describeItem(item: Json): string {
  if (typeof item === "string") return escaped(item);
  if (item === null) return "[]";
  if (Array.isArray(item)) return `[${item.map(printElement).join(" ")}]`;
  if (isPlainMap(item)) {
    // The pairs are sorted, not the keys: `os-x:1` comes before `os:2`.
    return Object.entries(item).map(([key, part]) => `${key}:${printElement(part)}`).sort()
      .join(",");
  }
  return exactJson(item);
}

function printElement(item: Json): string {
  return typeof item === "string" ? escaped(item) : partText(item);
}

/** What stands between the quotation marks of a JSON text. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Name of the exit handler or another hook of a node. */
export function hookName(node: string, hook: string): string {
  return hook === "exit" ? `${node}.onExit` : `${node}.hooks.${hook}`;
}
