/** Regular expression functions of sprig, in RE2 syntax and linear time. */
import { fault } from "../values/error.ts";
import { goFunction } from "./go_call.ts";
import { compileRegex, type Match as Found, type Pattern } from "../values/regex.ts";
import { MeteredText } from "../values/regex_input.ts";
import type { RunContext } from "../values/run_context.ts";
import { type GoFunction, nilList, typedList, type Value } from "../values/values.ts";
import { wellFormed } from "../values/utf8.ts";

/** A match: where it is, and its groups (0 is the whole). */
interface Match {
  start: number;
  end: number;
  group(reference: string): string;
}

/** The matches of a pattern, left to right; an empty match directly after another one does not count. */
function matchesOf(
  context: RunContext,
  pattern: Pattern,
  text: string,
  limit: number,
  withGroups = false,
): Match[] {
  const input = new MeteredText(text, context);
  const found: Match[] = [];
  let lastEnd = -1;
  let from = 0;
  while ((limit < 0 || found.length < limit) && from <= text.length) {
    const match = pattern.find(input, from, withGroups);
    if (match === undefined) break;
    context.step(16);
    const [start = 0, end = 0] = match;
    from = start === end ? end + characterWidth(text, end) : end;
    if (start === end && start === lastEnd) continue;
    lastEnd = end;
    found.push({ start, end, group: (reference) => groupText(pattern, match, text, reference) });
  }
  return found;
}

function characterWidth(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** Text of a group by its number or name; empty if there is no such group, or none of the name did match. */
function groupText(pattern: Pattern, match: Found, text: string, reference: string): string {
  const group = /^\d+$/.test(reference)
    ? Number(reference)
    : pattern.names.get(reference)?.find((one) => (match[2 * one] ?? -1) >= 0) ?? match.length;
  const start = match[2 * group] ?? -1;
  return start < 0 ? "" : text.slice(start, match[2 * group + 1]);
}

function findAll(context: RunContext, regex: Pattern, text: string, limit: number): Value[] {
  const matches = matchesOf(context, regex, text, limit);
  context.spend(matches.length);
  return matches.length === 0
    ? nilList("string")
    : typedList(matches.map((match) => match.group("0")), "string");
}

function replaceAll(
  context: RunContext,
  regex: Pattern,
  text: string,
  replacement: (match: Match) => string,
  withGroups: boolean,
): string {
  let result = "";
  let at = 0;
  for (const match of matchesOf(context, regex, text, -1, withGroups)) {
    const piece = text.slice(at, match.start) + replacement(match);
    context.produce(piece.length);
    result += piece;
    at = match.end;
  }
  return result + text.slice(at);
}

/** Inserts groups into a replacement: `$1`, `${name}`, `$$`. */
function expand(context: RunContext, template: string, match: Match): string {
  context.step(template.length);
  return template.replace(
    /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu,
    (all, braced, plain) => all === "$$" ? "$" : match.group(braced ?? plain),
  );
}

function split(
  context: RunContext,
  regex: Pattern,
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

/** The pattern of a function without `must`, for which Go words failures differently. */
function mustCompile(pattern: string, context: RunContext): Pattern {
  return context.orElse(() => compileRegex(pattern, context), ({ message }) => {
    // deno-lint-ignore no-control-regex
    const quoted = /[`\x00-\x08\x0a-\x1f\x7f]/.test(pattern)
      ? JSON.stringify(pattern)
      : `\`${pattern}\``;
    return fault(`regexp: Compile(${quoted}): ${message}`);
  });
}

function functionsWith(
  prefix: string,
  compile: (pattern: string, context: RunContext) => Pattern,
): GoFunction[] {
  const name = (plain: string) =>
    prefix === "" ? plain : `must${plain.charAt(0).toUpperCase()}${plain.slice(1)}`;
  const text2 = ["string", "string"] as const;
  const text3 = ["string", "string", "string"] as const;
  return [
    goFunction(
      name("regexFindAll"),
      ["string", "string", "int"],
      (context, pattern, text, limit) =>
        findAll(context, compile(pattern, context), wellFormed(text), limit),
    ),
    goFunction(
      name("regexFind"),
      text2,
      (context, pattern, text) =>
        matchesOf(context, compile(pattern, context), wellFormed(text), 1)[0]?.group("0") ?? "",
    ),
    goFunction(
      name("regexReplaceAll"),
      text3,
      (context, pattern, text, replacement) =>
        replaceAll(
          context,
          compile(pattern, context),
          wellFormed(text),
          (match) => expand(context, replacement, match),
          true,
        ),
    ),
    goFunction(
      name("regexReplaceAllLiteral"),
      text3,
      (context, pattern, text, replacement) =>
        replaceAll(context, compile(pattern, context), wellFormed(text), () => replacement, false),
    ),
    goFunction(
      name("regexSplit"),
      ["string", "string", "int"],
      (context, pattern, text, limit) =>
        split(context, compile(pattern, context), pattern, wellFormed(text), limit),
    ),
  ];
}

/** The regular expression functions, by name. */
export const REGEX_FUNCTIONS: readonly GoFunction[] = [
  goFunction(
    "regexMatch",
    ["string", "string"],
    (context, pattern, text) =>
      context.orElse(() => compileRegex(pattern, context).matches(text, context), () => false),
  ),
  goFunction(
    "mustRegexMatch",
    ["string", "string"],
    (context, pattern, text) => compileRegex(pattern, context).matches(text, context),
  ),
  ...functionsWith("", mustCompile),
  ...functionsWith("must", compileRegex),
  goFunction("regexQuoteMeta", ["string"], (context, text) => {
    context.step(text.length / 2);
    context.produce(text.length * 2);
    return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
  }),
];
