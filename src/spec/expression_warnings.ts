/** Expressions and conditions that can't be read: accepted, and an error when they are evaluated. */
import { parseExpr } from "../expr/language/parse.ts";
import { OPEN, tagsOf } from "../expr/templates/tags.ts";
import { ExprCompileError } from "../expr/values/error.ts";
import { RunContext } from "../expr/values/run_context.ts";
import { checkOrder, scanWhen } from "../expr/when/tokens.ts";

/** Members that hold an expression, by the end of their paths. */
const EXPRESSIONS = /\.(?:expression|fromExpression|http\.successCondition)$/;
/** Most characters of an expression that a warning shows. */
const SHOWN = 80;
/** A variable of metrics that hides the function of its name. */
const HIDDEN: ReadonlySet<string> = new Set(["duration"]);
/** What may stand in place of a tag: a condition that can be read with neither can't be read at all. */
const STAND_INS = ["x", "1"];

/** One line for each in a part of a manifest, with its path. @param at of the part */
export function expressionWarnings(at: string, part: object): string[] {
  const found: string[] = [];
  const visit = (place: string, value: unknown): void => {
    if (typeof value === "string") {
      for (const fault of faultsIn(place, value)) {
        found.push(`${place} ends in an error when it is evaluated: ${fault}`);
      }
    } else if (Array.isArray(value)) {
      value.forEach((one, index) => visit(`${place}[${index}]`, one));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, one] of Object.entries(value)) {
        if (name !== "plugin") visit(`${place}.${name}`, one);
      }
    }
  };
  visit(at, part);
  return found;
}

function faultsIn(place: string, text: string): string[] {
  const sources = tagsOf(text).flatMap((tag) => tag.type === "expression" ? [tag.source] : []);
  if (EXPRESSIONS.test(place)) sources.push(text);
  const faults = sources.flatMap((source) => expressionFault(source) ?? []);
  return place.endsWith(".when") ? [...faults, ...whenFault(text) ?? []] : faults;
}

/** A tag inside is replaced before the expression is read, so nothing is said of one that has some. */
function expressionFault(source: string): string | undefined {
  if (source.includes(OPEN)) return undefined;
  try {
    parseExpr(source, HIDDEN);
    return undefined;
  } catch (error) {
    if (!(error instanceof ExprCompileError)) throw error;
    return `${shown(source)} is not a valid expression: ${error.message.split("\n", 1)[0]}`;
  }
}

function whenFault(text: string): string[] | undefined {
  const faults = STAND_INS.flatMap((standIn) => {
    try {
      checkOrder(scanWhen(withoutTags(text, standIn), new RunContext()));
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
  const [first] = faults;
  return first !== undefined && faults.length === STAND_INS.length
    ? [`${shown(text)} is not a valid condition: ${first}`]
    : undefined;
}

function withoutTags(text: string, standIn: string): string {
  let [rest, at] = ["", 0];
  for (const { start, end } of tagsOf(text)) {
    rest += text.slice(at, start) + standIn;
    at = end;
  }
  return rest + text.slice(at);
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}
