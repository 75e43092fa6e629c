/** Finds what is wrong in the text of a manifest, with the place of each problem. */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  visit,
} from "yaml";
import { nearestName } from "../../../base/nearest_name.ts";
import { parseFreely } from "../../../spec/yaml/documents.ts";
import { YAML_OPTIONS } from "../../../spec/yaml/options.ts";
import { TEXTS } from "../texts.ts";
import { type JsonSchema, memberOf, resolved, typeOf } from "./manifest_schema.ts";

export interface TextProblem {
  /** Offsets in the text. */
  from: number;
  to: number;
  message: string;
}

/** More problems are not told. */
const MOST = 100;

/** A text as it was read. */
export interface ReadText {
  document: Document.Parsed;
  /** Why it is no YAML; then there is nothing else to check. */
  faults: TextProblem[];
}

export function readText(text: string): ReadText {
  const document = readDocument(text);
  const faults = document.errors.slice(0, MOST).map(({ code, message, pos: [from, to] }) => ({
    from: Math.min(from, text.length),
    to: Math.min(Math.max(to, from), text.length),
    // The library names and draws the place after its words; the editor shows it.
    message: code === "MULTIPLE_DOCS"
      ? TEXTS.code.several
      : (message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, ""),
  }));
  const isEmpty = faults.length === 0 && document.contents === null;
  return { document, faults: isEmpty ? [{ from: 0, to: 0, message: TEXTS.code.empty }] : faults };
}

function readDocument(text: string): Document.Parsed {
  const [only, ...more] = parseFreely(text, YAML_OPTIONS) ?? [];
  return only !== undefined && more.length === 0 ? only : parseDocument(text, YAML_OPTIONS);
}

/** What the schema does not allow. */
export function schemaProblems({ document }: ReadText, root: JsonSchema): TextProblem[] {
  const found: TextProblem[] = [];
  walk(document.contents, resolved(root, root), root, found);
  return found.slice(0, MOST);
}

function walk(
  node: Node | null,
  schema: JsonSchema | undefined,
  root: JsonSchema,
  found: TextProblem[],
): void {
  if (node === null || schema === undefined || found.length >= MOST) return;
  if (isMap(node)) {
    if (!accepts(schema, "object")) found.push(wrongType(node, schema));
    else {for (const pair of node.items) {
        walkPair(pair as Pair<Node, Node | null>, schema, root, found);
      }}
  } else if (isSeq(node)) {
    if (!accepts(schema, "array")) found.push(wrongType(node, schema));
    else {for (const item of node.items) {
        walk(item as Node, resolved(root, schema.items), root, found);
      }}
  } else if (isScalar(node)) checkScalar(node, node.value, schema, found);
}

function walkPair(
  { key, value }: Pair<Node, Node | null>,
  schema: JsonSchema,
  root: JsonSchema,
  found: TextProblem[],
): void {
  const name = isScalar(key) ? String(key.value) : "";
  // What a merge key brings in is checked where it is written.
  if (isScalar(key) && (typeof key.value === "symbol" || name === "<<")) return;
  const member = memberOf(schema, name);
  if (member === undefined && schema.additionalProperties === false) {
    const near = nearestName(name, Object.keys(schema.properties ?? {}));
    found.push({ ...rangeOf(key), message: TEXTS.code.unknown(name, near) });
    return;
  }
  walk(value, resolved(root, member), root, found);
}

function checkScalar(
  node: Node,
  value: unknown,
  schema: JsonSchema,
  found: TextProblem[],
): void {
  // A member without a value is as good as absent, and a tag may become anything.
  if (value === null || (typeof value === "string" && value.includes("{{"))) return;
  const choices = schema.const === undefined ? schema.enum : [schema.const];
  if (choices !== undefined && !choices.includes(value)) {
    found.push({ ...rangeOf(node), message: TEXTS.code.choice(choices) });
    return;
  }
  const isComposed = schema.properties !== undefined || schema.type === "array" ||
    schema.type === "object";
  if (isComposed) found.push(wrongType(node, schema));
}

function accepts({ type }: JsonSchema, wanted: string): boolean {
  return type === undefined || [type].flat().includes(wanted);
}

function wrongType(node: Node, schema: JsonSchema): TextProblem {
  return { ...rangeOf(node), message: TEXTS.code.type(typeOf(schema)) };
}

function rangeOf(node: Node): { from: number; to: number } {
  const [from = 0, to = 0] = node.range ?? [];
  // Of something large its beginning is enough.
  return { from, to: isScalar(node) ? to : Math.min(to, from + 1) };
}

/**
 * Where the server's words belong: to the innermost part of the manifest that they name, such as the template in
 * `templates.main.steps[0].a …`, else to the first name in quotes that the text has, else to the longest value that they cite,
 * else to its beginning.
 */
export function placeOfWords({ document }: ReadText, words: string, text: string): TextProblem {
  const named = namedNode(document, words);
  if (named !== undefined) return { ...rangeOf(named), message: words };
  for (const [, quoted = ""] of words.matchAll(/["'“]([\w.\-/]+)["'”]/g)) {
    const at = text.search(
      new RegExp(`(?<![\\w.\\-/])${quoted.replace(/[.\-/]/g, "\\$&")}(?![\\w.\\-/])`),
    );
    if (at >= 0) return { from: at, to: at + quoted.length, message: words };
  }
  const cited = citedNode(document, words);
  if (cited !== undefined) return { ...rangeOf(cited), message: words };
  return { from: 0, to: Math.max(0, text.indexOf("\n")), message: words };
}

/** Shorter values may stand in any sentence by chance. */
const LEAST_CITED = 4;

function citedNode(document: Document.Parsed, words: string): Node | undefined {
  let [found, length]: [Node | undefined, number] = [undefined, LEAST_CITED - 1];
  visit(document, {
    Scalar(key, node) {
      const { value } = node;
      if (key === "key" || typeof value !== "string" || value.length <= length) return;
      if (cites(words, value)) [found, length] = [node, value.length];
    },
  });
  return found;
}

function cites(words: string, value: string): boolean {
  const at = words.indexOf(value);
  const around = [words[at - 1] ?? "", words[at + value.length] ?? ""];
  return at >= 0 && !around.some((one) => /\w/.test(one));
}

function namedNode(document: Document.Parsed, words: string): Node | undefined {
  const [, path = ""] = /((?:spec\.)?templates[.[][\w.\-[\]]+|spec\.[\w.\-[\]]+)/.exec(words) ?? [];
  const steps = path.replace(/^spec\.?/, "").split(/[.[\]]+/).filter((one) => one !== "");
  const whole = isMap(document.contents) ? document.contents.get("spec", true) : undefined;
  // The words about a cron workflow name the parts of its workflow.
  const inner = isMap(whole) && steps[0] === "templates"
    ? whole.get("workflowSpec", true)
    : undefined;
  const spec = inner ?? whole;
  let found = spec as unknown;
  for (const step of steps) {
    const next = below(found, step);
    if (next === undefined) break;
    found = next;
  }
  if (found === undefined || found === spec) return undefined;
  const name = isMap(found) ? found.get("name", true) : undefined;
  return (name ?? found) as Node;
}

/** A member, an item by its number or its name, also in groups of steps. */
function below(value: unknown, step: string): unknown {
  if (isMap(value)) {
    const member = value.get(step, true);
    if (member !== undefined) return member;
    const tasks = value.get("tasks", true);
    return tasks === undefined ? undefined : below(tasks, step);
  }
  if (!isSeq(value)) return undefined;
  if (/^\d+$/.test(step)) return value.items[Number(step)];
  return value.items.find((item) => isMap(item) && item.get("name") === step);
}
