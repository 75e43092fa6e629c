/**
 * YAML or JSON text to manifests. One text may hold many documents; each keeps what is needed to find the line of a
 * problem. Input is bounded in size, depth and aliases, and no key can reach a prototype.
 */
import {
  type Document,
  isAlias,
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
import { lexFreely, parseFreely } from "./yaml/documents.ts";
import { YAML_OPTIONS } from "./yaml/options.ts";

/** Bounds of an input, whose nesting is bounded as well, and how its numbers are read. */
export interface ParseLimits {
  /** @default {10_485_760} UTF-16 units */
  maxLength?: number;
  /** Whole numbers are bigints, which hold all their digits, and `n` is a name where one belongs. */
  isExact?: boolean;
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

  constructor(message: string, line?: number, column?: number) {
    const said = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message;
    const place = `line ${line}${column === undefined ? "" : `, column ${column}`}`;
    super(ProblemCode.InvalidArgument, line === undefined ? said : `${place}: ${said}`);
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
  const { isExact = false } = limits;
  const plain = withoutMarks(text);
  const json = isExact ? undefined : parseJson(plain);
  const documents = (json ?? parseYaml(plain, isExact)).filter(({ value }) => value !== null);
  for (const { value } of documents) {
    if (depthOf(value) > MAX_DEPTH) {
      throw new ParseError(TOO_DEEP);
    }
  }
  if (!isExact && mayLoseDigits(text)) {
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

/** A text without byte order marks before its lines: files that were put behind each other have one each. */
function withoutMarks(text: string): string {
  return text.includes("\ufeff") ? text.replace(/^\ufeff/gm, "") : text;
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
function checkBrackets(lexemes: Iterable<string>): void {
  let depth = 0;
  for (const lexeme of lexemes) {
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

function parseYaml(text: string, isExact: boolean): ParsedDocument[] {
  const isDeep = hasManyBrackets(text);
  if (isDeep) checkBrackets(lexFreely(text));
  const lines = new LineCounter();
  const options = {
    ...YAML_OPTIONS,
    stringKeys: isExact,
    intAsBigInt: isExact || mayLoseDigits(text),
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "silent",
  } as const;
  let documents: Document.Parsed[];
  try {
    const free = parseFreely(text, options);
    if (free === undefined && isDeep) checkBrackets(new Lexer().lex(text));
    documents = free ?? [...parseAllDocuments(text, options)];
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
      throw faultOf(error.message, error.pos[0], text, lines);
    }
    checkNodes(document, lines);
    return { value: toJson(document, lines), lineOf: (path) => lineOf(document, lines, path) };
  });
}

/** What to look for, by what the parser says. It speaks of what it expected, and often sees a mistake only lines after it. */
const ADVICE: readonly [says: RegExp, advice: string][] = [
  [/^Tabs are not allowed/, "a tab stands where spaces must: indent with spaces only"],
  [
    /must start at the same column$/,
    "this is indented otherwise than what it belongs to: look at the spaces before it",
  ],
  [
    /^Sequence item without - indicator/,
    "this is neither a new item of the list above, nor indented as a part of its last one: look at the spaces before it",
  ],
  [
    /^Nested mappings are not allowed/,
    "a second colon on this line, or a line below that is indented too far: put a text with a colon in quotes, or look at the spaces",
  ],
  [
    /^Implicit (map )?keys? /,
    "expected a name, a colon and a space (name: value): look for a missing colon, or a missing space after one",
  ],
  [/^Missing , /, "look for a missing comma or a missing quote before this place"],
  [
    /^Plain value cannot start with/,
    "a text that begins with this character must be in quotes",
  ],
  [
    / at node end$|^Unexpected flow-\w+-start token/,
    "something stands after the end of a value: put all of the value in quotes, or --- before a further document",
  ],
  [/^Unexpected flow-\w+-end token/, "there is a closing bracket more than there are opening ones"],
  [/^Map keys must be unique/, "this name stands twice in one object: remove one of them"],
  [
    /^Invalid escape sequence/,
    "between double quotes a backslash begins an escape: write two of them, or take single quotes",
  ],
];

/** A mistake in a text: its place, what to look for, and what the parser says. */
function faultOf(message: string, at: number, text: string, lines: LineCounter): ParseError {
  const { line, col } = lines.linePos(at);
  const isOpen = /must .*end with a [\]}]$|^Missing closing /.test(message);
  const opened = isOpen ? lastOpened(text, at) : undefined;
  const advice = opened === undefined
    ? ADVICE.find(([says]) => says.test(message))?.[1]
    : notClosed(text.charAt(opened), lines.linePos(opened));
  return new ParseError(advice === undefined ? message : `${advice} (${message})`, line, col);
}

function notClosed(sign: string, { line, col }: { line: number; col: number }): string {
  const closing = { "[": "]", "{": "}" }[sign] ?? sign;
  return `the ${sign} on line ${line}, column ${col} is not closed: look for a missing ${closing}`;
}

/** What the lexer says that is no part of the text. One of it stands before each text without quotes. */
const SCALAR_MARK = "\u001f";
const MARKS = ["\u0002", "\u0018", SCALAR_MARK];

/** Where the bracket or the quote stands that is open at a place of a text. */
function lastOpened(text: string, at: number): number | undefined {
  const opened: number[] = [];
  let offset = 0;
  let before = "";
  for (const lexeme of new Lexer().lex(text)) {
    if (offset >= at) break;
    if (lexeme === "[" || lexeme === "{") opened.push(offset);
    else if (lexeme === "]" || lexeme === "}") opened.pop();
    else if (/^["']/.test(lexeme) && before !== SCALAR_MARK && offset + lexeme.length >= at) {
      opened.push(offset);
    }
    if (!MARKS.includes(lexeme)) offset += lexeme.length;
    before = lexeme;
  }
  return opened.at(-1);
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

function toJson(document: Document.Parsed, lines: LineCounter): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) ?? null;
  } catch (error) {
    // The aliases refer to nothing, or multiply without bound; or what a merge key names is no mapping.
    if (!(error instanceof Error)) throw error;
    const at = strangeAlias(document);
    if (at === undefined || !/^Unresolved alias/.test(error.message)) {
      throw new ParseError(error.message);
    }
    const { line, col } = lines.linePos(at);
    throw new ParseError(
      `nothing before this has the anchor that the * names: a text that begins with * must be in quotes (${error.message})`,
      line,
      col,
    );
  }
}

/** Where the first alias stands whose anchor is not before it. */
function strangeAlias(document: Document.Parsed): number | undefined {
  const anchors = new Set<string>();
  let found: number | undefined;
  visit(document, {
    Node: (_place, node) => {
      if (isAlias(node)) {
        if (anchors.has(node.source)) return undefined;
        found = node.range?.[0];
        return visit.BREAK;
      }
      if (node.anchor !== undefined) anchors.add(node.anchor);
      return undefined;
    },
  });
  return found;
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
