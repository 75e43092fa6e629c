/**
 * YAML or JSON text to manifests. One text may hold many documents; each keeps what is needed to find the line of a
 * problem. Input is bounded in size, depth and aliases, and no key can reach a prototype.
 */
import {
  type Document,
  isCollection,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  parseAllDocuments,
  visit,
} from "yaml";
import { isJsonObject } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { mayLoseDigits, settleIntegers, withExactItems } from "./exact_items.ts";
import { DecodeError, type DecodeOptions, type Path } from "./schema/decode.ts";
import { type AnyManifest, decodeAny } from "./schema/decode_manifest.ts";
import { YAML_OPTIONS } from "./yaml_options.ts";

/** Bounds of an input; its nesting is bounded as well. */
export interface ParseLimits {
  /** @default {10_485_760} UTF-16 units */
  maxLength?: number;
}

const MAX_LENGTH = 10 * 1024 * 1024;
/** Nesting of lists and objects. */
const MAX_DEPTH = 200;
const MAX_ALIASES = 1000;
/** Most members and entries of a document; more than any server accepts by default. */
const MAX_MEMBERS = 1_000_000;
const TOO_MANY =
  `A manifest must not have more than ${MAX_MEMBERS} members, those that aliases repeat included`;
const TOO_DEEP = `A manifest must not be nested deeper than ${MAX_DEPTH} levels`;

/** Most characters of what is said about a text: it may quote all of the text. */
const MAX_MESSAGE = 300;

/** The text is not YAML or JSON, or too large. */
export class ParseError extends Problem {
  /** From 1; undefined if the whole text is meant. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    const said = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
    super(ProblemCode.InvalidArgument, line === undefined ? said : `line ${line}: ${said}`);
    this.name = "ParseError";
    this.line = line;
  }
}

/** One document of a text. */
export interface ParsedDocument {
  /** Plain JSON value. */
  value: unknown;
  /** Line, from 1, of the deepest part of a path that exists. */
  lineOf(path: Path): number | undefined;
}

/**
 * Reads all documents of a text. Empty ones are left out; a `List` is replaced by its items.
 *
 * @throws {ParseError}
 */
export function parseDocuments(text: string, limits: ParseLimits = {}): ParsedDocument[] {
  const maxLength = limits.maxLength ?? MAX_LENGTH;
  if (text.length > maxLength) {
    throw new ParseError(`A manifest must not be longer than ${maxLength} characters`);
  }
  const documents = (parseJson(text) ?? parseYaml(text)).filter(({ value }) => value !== null);
  for (const { value } of documents) {
    if (depthOf(value) > MAX_DEPTH) {
      throw new ParseError(TOO_DEEP);
    }
  }
  if (mayLoseDigits(text)) {
    for (const document of documents) document.value = settleIntegers(document.value);
  }
  return documents.flatMap(expandList);
}

/**
 * Reads and decodes all manifests of a text.
 *
 * @throws {ParseError} when the text can't be read
 * @throws {DecodeError} when a value does not fit; its text starts with the line if that is known
 */
export function parseManifests(
  text: string,
  options: DecodeOptions & ParseLimits = {},
): AnyManifest[] {
  return parseDocuments(text, options).map(({ value, lineOf }) => {
    try {
      return decodeAny(value, options);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const line = lineOf(error.path);
      if (line === undefined) throw error;
      throw new DecodeError(`line ${line}: ${error.message}`, error.path);
    }
  });
}

/** @returns undefined if the text is not JSON */
function parseJson(text: string): ParsedDocument[] | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return [{ value: withExactItems<unknown>(JSON.parse(text), text), lineOf: () => undefined }];
  } catch {
    return undefined;
  }
}

/**
 * Nested brackets cost the parser much more than the lexer, so they are counted first.
 * @throws {ParseError}
 */
function checkBrackets(text: string): void {
  let depth = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === "[" || lexeme === "{") depth++;
    else if (lexeme === "]" || lexeme === "}") depth = Math.max(0, depth - 1);
    if (depth > MAX_DEPTH) throw new ParseError(TOO_DEEP);
  }
}

function hasManyBrackets(text: string): boolean {
  let count = 0;
  for (const _ of text.matchAll(/[[{]/g)) if (++count > MAX_DEPTH) return true;
  return false;
}

function parseYaml(text: string): ParsedDocument[] {
  if (hasManyBrackets(text)) checkBrackets(text);
  const lines = new LineCounter();
  let documents: Document.Parsed[];
  try {
    documents = [...parseAllDocuments(text, {
      ...YAML_OPTIONS,
      intAsBigInt: mayLoseDigits(text),
      lineCounter: lines,
      prettyErrors: false,
      logLevel: "silent",
    })];
  } catch (error) {
    if (error instanceof RangeError) throw new ParseError(TOO_DEEP);
    throw error;
  }
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      // The parser reports an exhausted stack of its own as a mistake in the text.
      if (/call stack/.test(error.message)) {
        throw new ParseError(TOO_DEEP);
      }
      throw new ParseError(error.message, lines.linePos(error.pos[0]).line);
    }
    checkNodes(document, lines);
    return { value: toJson(document), lineOf: (path) => lineOf(document, lines, path) };
  });
}

/**
 * Refuses what the reference's reader refuses, and this parser takes: it would change or lose what was written.
 * @throws {ParseError}
 */
function checkNodes(document: Document.Parsed, lines: LineCounter): void {
  const refuse = (message: string, at: number | undefined) => {
    throw new ParseError(message, at === undefined ? undefined : lines.linePos(at).line);
  };
  for (const { message, pos } of document.warnings) {
    const tag = /tag:yaml\.org,2002:(int|float|bool|null)$/.exec(message)?.[1];
    if (tag !== undefined) refuse(`What stands after !!${tag} has another type`, pos[0]);
  }
  visit(document, {
    Pair: (_place, { key }) => {
      if (isCollection(key)) {
        refuse("A key must be a text. Write a template tag in quotes: '{{…}}'", key.range?.[0]);
      }
      if (key === null || (isScalar(key) && key.value === null)) {
        refuse("A key must not be null", isScalar(key) ? key.range?.[0] : undefined);
      }
    },
    Scalar: (place, { value, range, source }) => {
      if (place !== "key" && typeof value === "number" && !Number.isFinite(value)) {
        refuse(`A number must be finite. Write a text in quotes: '${source ?? value}'`, range?.[0]);
      }
    },
  });
}

function toJson(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null;
  } catch (error) {
    // The aliases refer to nothing, or multiply without bound; or what a merge key names is no mapping.
    if (error instanceof Error) throw new ParseError(error.message);
    throw error;
  }
}

function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

/**
 * Depth of nested lists and objects. It uses no recursion, since the value may be anything.
 * @throws {ParseError} when it has too many members; what aliases repeat counts each time, since everything afterwards
 * has to handle it
 */
function depthOf(root: unknown): number {
  let depth = 0;
  let count = 0;
  let level = [root];
  while (level.length > 0) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === "object" && value !== null) {
        const members = Object.values(value);
        count += members.length;
        if (count > MAX_MEMBERS) throw new ParseError(TOO_MANY);
        for (const member of members) next.push(member);
      }
    }
    level = next.filter((value) => typeof value === "object" && value !== null);
    depth++;
    if (depth > 10_000) break;
  }
  return depth;
}

function expandList(document: ParsedDocument): ParsedDocument[] {
  const { value } = document;
  if (!isJsonObject(value) || value.kind !== "List" || !Array.isArray(value.items)) {
    return [document];
  }
  return value.items.map((item, index) => ({
    value: item,
    lineOf: (path) => document.lineOf(["items", index, ...path]),
  }));
}
