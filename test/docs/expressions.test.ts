/** Every example of docs/expressions.md has the result that the page shows. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ARGO_FUNCTIONS } from "../../src/expr/functions/argo_functions.ts";
import { ExpressionError } from "../../src/expr/templates/contexts.ts";
import { evaluateDepends, expandDepends } from "../../src/expr/templates/depends.ts";
import { ExprCompileError, ExprRuntimeError } from "../../src/expr/values/error.ts";
import { evaluateForUser } from "../../src/expr/templates/evaluate_for_user.ts";
import { MAX_NESTING, MAX_NODES, MAX_SOURCE_LENGTH } from "../../src/expr/language/limits.ts";
import { MAX_PATTERN_LENGTH, MAX_PATTERN_SIZE } from "../../src/expr/values/regex.ts";
import { MAX_SELECTOR_LENGTH, MAX_SELECTOR_TERMS } from "../../src/expr/selectors/limits.ts";
import { MEMORY_BUDGET, STEP_BUDGET, TEXT_BUDGET } from "../../src/expr/values/run_context.ts";
import { scopeOf } from "../../src/expr/language/scope.ts";
import { substituteText, TemplateError } from "../../src/expr/templates/template.ts";
import { evaluateWhen, WhenError } from "../../src/expr/when/when.ts";

const PAGE = readFileSync(new URL("../../docs/expressions.md", import.meta.url), "utf8");

function blocks(info: string): string[] {
  return [...PAGE.matchAll(/^```([^\n]+)\n([^]*?)^```$/gm)]
    .filter(([, found]) => found === info)
    .map(([, , body]) => body as string);
}

/** The `SOURCE ⇒ RESULT` lines of all blocks of a kind. */
function examples(info: string): { source: string; want: string }[] {
  return blocks(info).flatMap((body) => body.split("\n")).filter((line) => line.includes("⇒")).map(
    (line) => {
      const at = line.lastIndexOf("⇒");
      return { source: line.slice(0, at).trim(), want: line.slice(at + 1).trim() };
    },
  );
}

/** The result, or `error: ` and the first line of the message without its position. */
function outcome(run: () => string): string {
  try {
    return run();
  } catch (error) {
    if (error instanceof ExprCompileError || error instanceof ExprRuntimeError) {
      return `error: ${error.reason}`;
    }
    if (error instanceof WhenError) return `error: ${error.hint}`;
    if (error instanceof TemplateError) {
      return `error: ${error.message.split("\n")[0]?.replace(/ \(\d+:\d+\)$/, "")}`;
    }
    if (error instanceof ExpressionError) return "error";
    throw error;
  }
}

const ENV = JSON.parse(blocks("json env").join());
const VARIABLES = JSON.parse(blocks("json variables").join());

test("the page has examples of each kind", () => {
  expect(examples("expr").length).toBeGreaterThan(70);
  for (const kind of ["template", "when", "depends"]) {
    expect(examples(kind).length).toBeGreaterThan(4);
  }
});

describe("expressions", () => {
  test.each(examples("expr"))("$source", ({ source, want }) => {
    const got = outcome(() => {
      const { type, text } = evaluateForUser(source, ENV, { now: () => 0, random: () => 0.5 });
      return type === "string" ? JSON.stringify(text) : text;
    });
    expect(got).toBe(want);
  });
});

describe("template tags", () => {
  test.each(examples("template"))("$source", ({ source, want }) => {
    expect(
      outcome(() =>
        substituteText(source, scopeOf(VARIABLES), { missing: "error", functions: ARGO_FUNCTIONS })
      ),
    )
      .toBe(want);
  });
});

describe("depends", () => {
  const [phases = ""] = blocks("depends").join().split("\n");
  const results = phases.split(", ").map((part) => {
    const [task = "", phase = ""] = part.split(": ");
    return [task, { [phase]: true }] as const;
  });
  test.each(examples("depends"))("$source", ({ source, want }) => {
    expect(outcome(() => String(evaluateDepends(expandDepends(source), results)))).toBe(want);
  });
});

describe("when", () => {
  test.each(examples("when"))("$source", ({ source, want }) => {
    expect(outcome(() => String(evaluateWhen(source)))).toBe(want);
  });
});

test("limits are the ones in force", () => {
  const numbers = [
    ...[
      MAX_SOURCE_LENGTH,
      MAX_NODES,
      MAX_NESTING,
      MEMORY_BUDGET,
      TEXT_BUDGET,
      STEP_BUDGET,
      MAX_PATTERN_LENGTH,
      MAX_PATTERN_SIZE,
      MAX_SELECTOR_LENGTH,
      MAX_SELECTOR_TERMS,
    ],
  ];
  const section = PAGE.slice(PAGE.indexOf("## Limits"));
  for (const number of numbers) expect(section).toContain(number.toLocaleString("en-US"));
});

test("every function the page names exists", () => {
  const section = PAGE.slice(
    PAGE.indexOf("## Built-in functions"),
    PAGE.indexOf("## More functions"),
  );
  const names = [...section.matchAll(/\| `([a-zA-Z0-9 ]+)` \|/g)].flatMap(([, list]) =>
    (list as string).split(" ")
  );
  expect(names.length).toBeGreaterThan(50);
  for (const name of names) expect(evaluateForUser(`type(${name})`, {}).type, name).toBe("string");
});
