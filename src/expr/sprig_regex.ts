/** Regular expression functions of sprig, in RE2 syntax and linear time. */
import type { RE2JS } from "re2js";
import { Fault, fault } from "./error.ts";
import { goFunction } from "./go_call.ts";
import { compileRegex, matchesRegex } from "./regex.ts";
import type { RunContext } from "./run_context.ts";
import { type GoFunction, nilList, typedList, type Value } from "./values.ts";
import { wellFormed } from "./utf8.ts";

/** A match: where it is, and its groups (0 is the whole). */
interface Match {
  start: number;
  end: number;
  group(reference: string): string;
}

/** The matches of a pattern, left to right; an empty one right behind another is none. */
function matchesOf(context: RunContext, regex: RE2JS, text: string, limit: number): Match[] {
  const matcher = regex.matcher(text);
  const names = new Map(Object.entries(regex.namedGroups()));
  const found: Match[] = [];
  let lastEnd = -1;
  while ((limit < 0 || found.length < limit) && matcher.find()) {
    context.step();
    const start = matcher.start();
    const end = matcher.end();
    if (start === end && start === lastEnd) continue;
    lastEnd = end;
    const groups: string[] = [];
    for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? "");
    found.push({
      start,
      end,
      group: (reference) =>
        groups[/^\d+$/.test(reference) ? Number(reference) : names.get(reference) ?? -1] ?? "",
    });
  }
  return found;
}

function findAll(context: RunContext, regex: RE2JS, text: string, limit: number): Value[] {
  const matches = matchesOf(context, regex, text, limit);
  context.spend(matches.length);
  return matches.length === 0
    ? nilList("string")
    : typedList(matches.map((match) => match.group("0")), "string");
}

function replaceAll(
  context: RunContext,
  regex: RE2JS,
  text: string,
  replacement: (match: Match) => string,
): string {
  let result = "";
  let at = 0;
  for (const match of matchesOf(context, regex, text, -1)) {
    const piece = text.slice(at, match.start) + replacement(match);
    context.produce(piece.length);
    result += piece;
    at = match.end;
  }
  return result + text.slice(at);
}

/** Puts groups into a replacement: `$1`, `${name}`, `$$`. */
function expand(template: string, match: Match): string {
  return template.replace(
    /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu,
    (all, braced, plain) => all === "$$" ? "$" : match.group(braced ?? plain),
  );
}

function split(
  context: RunContext,
  regex: RE2JS,
  pattern: string,
  text: string,
  limit: number,
): Value[] {
  if (limit === 0) return nilList("string");
  if (pattern !== "" && text === "") return typedList([""], "string");
  const parts: string[] = [];
  let at = 0;
  let end = 0;
  for (const match of matchesOf(context, regex, text, limit)) {
    if (limit > 0 && parts.length === limit - 1) break;
    end = match.start;
    if (match.end !== 0) parts.push(text.slice(at, end));
    at = match.end;
  }
  if (end !== text.length) parts.push(text.slice(at));
  context.spend(parts.length);
  return typedList(parts, "string");
}

/** A pattern of a function without `must`, whose failure Go words otherwise. */
function mustCompile(pattern: string): RE2JS {
  try {
    return compileRegex(pattern);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // deno-lint-ignore no-control-regex
    const quoted = /[`\x00-\x08\x0a-\x1f\x7f]/.test(pattern)
      ? JSON.stringify(pattern)
      : `\`${pattern}\``;
    return fault(`regexp: Compile(${quoted}): ${error.message}`);
  }
}

function functionsWith(prefix: string, compile: (pattern: string) => RE2JS): GoFunction[] {
  const name = (plain: string) =>
    prefix === "" ? plain : `must${plain.charAt(0).toUpperCase()}${plain.slice(1)}`;
  const text2 = ["string", "string"] as const;
  const text3 = ["string", "string", "string"] as const;
  return [
    goFunction(
      name("regexFindAll"),
      ["string", "string", "int"],
      (context, pattern, text, limit) =>
        findAll(context, compile(pattern), wellFormed(text), limit),
    ),
    goFunction(
      name("regexFind"),
      text2,
      (context, pattern, text) =>
        matchesOf(context, compile(pattern), wellFormed(text), 1)[0]?.group("0") ?? "",
    ),
    goFunction(
      name("regexReplaceAll"),
      text3,
      (context, pattern, text, replacement) =>
        replaceAll(
          context,
          compile(pattern),
          wellFormed(text),
          (match) => expand(replacement, match),
        ),
    ),
    goFunction(
      name("regexReplaceAllLiteral"),
      text3,
      (context, pattern, text, replacement) =>
        replaceAll(context, compile(pattern), wellFormed(text), () => replacement),
    ),
    goFunction(
      name("regexSplit"),
      ["string", "string", "int"],
      (context, pattern, text, limit) =>
        split(context, compile(pattern), pattern, wellFormed(text), limit),
    ),
  ];
}

/** The regular expression functions, by name. */
export const REGEX_FUNCTIONS: readonly GoFunction[] = [
  goFunction("regexMatch", ["string", "string"], (_, pattern, text) => {
    try {
      return matchesRegex(compileRegex(pattern), text);
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  }),
  goFunction(
    "mustRegexMatch",
    ["string", "string"],
    (_, pattern, text) => matchesRegex(compileRegex(pattern), text),
  ),
  ...functionsWith("", mustCompile),
  ...functionsWith("must", compileRegex),
  goFunction("regexQuoteMeta", ["string"], (context, text) => {
    context.produce(text.length * 2);
    return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
  }),
];
