/**
 * The text of a Workflow object in two pieces: what lists show, and what is large (its nodes and the templates it was
 * made from). Nothing is parsed: an object may have 64 MB, and its text can be looked through a little at a time.
 */
import { isJsonObject, type Json, type JsonObject, setMember } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { Steps } from "../base/steps.ts";

/** Members of the status that are kept apart. */
const LARGE = ["nodes", "storedTemplates"] as const;
export type LargeMember = typeof LARGE[number];

export interface ObjectParts {
  /** The object without the large members of its status. */
  brief: string;
  /** Where in `brief` those go: before the brace that closes the status. 0 if the object has no status. */
  at: number;
  /** The large members that it has: JSON texts. */
  large: Partial<Record<LargeMember, string>>;
  /** The template that it was made from: `namespaced/NAME`, `cluster/NAME`, or "" for none. */
  template: string;
}

/** A member of an object: where its key begins, and where its value begins and ends. */
interface Member {
  key: string;
  start: number;
  value: number;
  end: number;
}

/** How many characters are looked through between two yields, about. */
const STEP = 65_536;

/** Takes the text of an object apart. A text that is no object is all `brief`. */
export function* splitObject(text: string): Steps<ObjectParts> {
  const root = yield* membersOf(text, skipBlanks(text, 0));
  const spec = valueOf(root, "spec");
  const template = spec === undefined
    ? ""
    : templateOf(text, valueOf(yield* membersOf(text, spec.value), "workflowTemplateRef"));
  const status = valueOf(root, "status");
  if (status === undefined || text[status.value] !== "{") {
    return { brief: text, at: 0, large: {}, template };
  }
  const members = yield* membersOf(text, status.value);
  const kept = members.filter(({ key }) => !isLarge(key))
    .map(({ start, end }) => text.slice(start, end));
  const head = `${text.slice(0, status.value)}{${kept.join(",")}`;
  const large = Object.fromEntries(
    members.filter(({ key }) => isLarge(key))
      .map(({ key, value, end }) => [key, text.slice(value, end)]),
  );
  return { brief: `${head}}${text.slice(status.end)}`, at: head.length, large, template };
}

/** The large members as they stand in the status, `"nodes":{…},"storedTemplates":{…}`; "" for none. */
export function largeMembers({ large }: Pick<ObjectParts, "large">): string {
  return LARGE.flatMap((key) => large[key] === undefined ? [] : [`"${key}":${large[key]}`])
    .join(",");
}

/** The whole object again: the large members, or others, go where they belong. */
export function joinObject(
  { brief, at }: Pick<ObjectParts, "brief" | "at">,
  members: string,
): string {
  if (members === "") return brief;
  const comma = brief[at - 1] === "{" ? "" : ",";
  return brief.slice(0, at) + comma + members + brief.slice(at);
}

/** Parses an object, a few members at a time. Undefined when it is none. */
export function* parseMembers(text: string): Steps<JsonObject | undefined> {
  const begin = skipBlanks(text, 0);
  if (text[begin] !== "{") return undefined;
  const parsed: JsonObject = {};
  let pause = STEP;
  for (const { key, value, end } of yield* membersOf(text, begin)) {
    const member = parseOrUndefined(text.slice(value, end));
    if (member === undefined) return undefined;
    setMember(parsed, key, member as Json);
    if (end > pause) {
      yield;
      pause = end + STEP;
    }
  }
  return parsed;
}

function isLarge(key: string): key is LargeMember {
  return (LARGE as readonly string[]).includes(key);
}

function valueOf(members: readonly Member[], key: string): Member | undefined {
  return members.findLast((member) => member.key === key);
}

function templateOf(text: string, ref: Member | undefined): string {
  if (ref === undefined) return "";
  const value = parseOrUndefined(text.slice(ref.value, ref.end));
  if (!isJsonObject(value) || typeof value["name"] !== "string" || value["name"] === "") return "";
  return `${value["clusterScope"] === true ? "cluster" : "namespaced"}/${value["name"]}`;
}

/** The members of the object that begins here; none if it is not an object. */
function* membersOf(text: string, begin: number): Steps<Member[]> {
  const members: Member[] = [];
  if (text[begin] !== "{") return members;
  let pause = begin + STEP;
  for (let at = skipBlanks(text, begin + 1); text[at] === '"';) {
    if (at > pause) {
      yield;
      pause = at + STEP;
    }
    const start = at;
    const keyEnd = endOfString(text, start);
    const value = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const end = yield* endOfValue(text, value);
    const key = parseOrUndefined(text.slice(start, keyEnd));
    members.push({ key: String(key), start, value, end });
    at = skipBlanks(text, end);
    if (text[at] !== ",") break;
    at = skipBlanks(text, at + 1);
  }
  return members;
}

function* endOfValue(text: string, start: number): Steps<number> {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") {
    const end = /[\s,}\]]/g;
    end.lastIndex = start;
    return end.exec(text)?.index ?? text.length;
  }
  const structure = /["{}[\]]/g;
  let [depth, pause] = [0, start + STEP];
  for (let at = start; at < text.length;) {
    structure.lastIndex = at;
    const next = structure.exec(text)?.index ?? text.length;
    if (text[next] === '"') at = endOfString(text, next);
    else {
      depth += text[next] === "{" || text[next] === "[" ? 1 : -1;
      at = next + 1;
      if (depth === 0) return at;
    }
    if (at > pause) {
      yield;
      pause = at + STEP;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let escapes = 0;
    while (text[quote - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function skipBlanks(text: string, at: number): number {
  let end = at;
  while (end < text.length && " \t\r\n".includes(text.charAt(end))) end++;
  return end;
}
