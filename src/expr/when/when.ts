/**
 * The `when` of a step or task, and of a cron workflow: an older expression dialect, in which bare words are text. Tags
 * are replaced before it is read, so a value with a dash, a dot or a blank breaks the expression unless it is quoted.
 * Verdicts and texts are those of the reference; each error adds a hint.
 */
import { workingOn } from "../../base/work.ts";
import { BudgetExceeded } from "../values/error.ts";
import { RunContext } from "../values/run_context.ts";
import { checkOrder, scanWhen, WhenFault, type WhenToken } from "./tokens.ts";
import { compilePatterns, planWhen, runWhen, whenText, type WhenValue } from "./plan.ts";

/** A `when` that can't be read or evaluated, or gives no boolean. */
export class WhenError extends Error {
  override readonly name = "WhenError";
  /** What to write instead. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Steps for reading and running one token. */
const STEPS_PER_TOKEN = 10;

const QUOTE_HINT = '(hint: try wrapping the affected expression in quotes ("))';

/**
 * Decides the `when` of a step or task, after its tags were replaced. Empty text is true.
 * @param evaluation whose budget is used; a new one by default
 * @throws {WhenError}
 */
export function evaluateWhen(text: string, evaluation?: RunContext): boolean {
  if (text === "") return true;
  workingOn("expression", text);
  const context = evaluation ?? new RunContext();
  const tokens = guard(text, (reason) => {
    const hint = reason.includes("Invalid token") ? ` ${QUOTE_HINT}` : "";
    return `Invalid 'when' expression '${text}': ${reason}${hint}`;
  }, () => read(scanWhen(text, context), context));
  const stage = guard(
    text,
    (reason) => `Failed to parse 'when' expression '${text}': ${reason}`,
    () => {
      const words = tokens.map((token): WhenToken =>
        token.kind === "VARIABLE" ? { ...token, kind: "STRING" } : token
      );
      return planWhen(read(words, context), context);
    },
  );
  const result = guard(
    text,
    (reason) => `Failed to evaluate 'when' expresion '${text}': ${reason}`,
    () => runWhen(stage, context),
  );
  return boolean(text, result);
}

/**
 * Decides the `when` of a cron workflow, after its tags were replaced. Here, bare words are not text, but unknown
 * names.
 * @param evaluation whose budget is used; a new one by default
 * @throws {WhenError}
 */
export function evaluateCronWhen(text: string, evaluation?: RunContext): boolean {
  if (text === "") return true;
  const context = evaluation ?? new RunContext();
  const run = () => runWhen(planWhen(read(scanWhen(text, context), context), context), context);
  return boolean(text, guard(text, (reason) => reason, run));
}

/** Checks a list of tokens as the reference does: order, then patterns, then the tree. */
function read(tokens: readonly WhenToken[], context: RunContext): WhenToken[] {
  context.step(tokens.length * STEPS_PER_TOKEN);
  checkOrder(tokens);
  const compiled = compilePatterns(tokens, context);
  planWhen(compiled, context);
  return compiled;
}

function boolean(text: string, result: WhenValue): boolean {
  if (typeof result === "boolean") return result;
  throw new WhenError(
    `Expected boolean evaluation for '${text}'. Got ${whenText(result)}`,
    'Write a comparison, for example `"{{steps.a.outputs.result}}" == "yes"`, or `true` or `false` without quotes',
  );
}

function guard<T>(text: string, describe: (reason: string) => string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof WhenFault || error instanceof BudgetExceeded) {
      throw new WhenError(describe(error.message), hintFor(text, error.message));
    }
    throw error;
  }
}

const HINTS: readonly [RegExp, string][] = [
  [/budget exceeded/, "Shorten the text and its patterns, or decide with a step of its own"],
  [/\{\{/, "A tag was not replaced: check that the name in it exists at this place"],
  [/Invalid token: '='/, "Compare with `==`"],
  [/Invalid token: '==='/, "Compare with `==`"],
  [/VARIABLE \[(and|or|not)\]/, "Use `&&` for and, `||` for or, `!( … )` for not"],
  [/PREFIX \[!\]/, "Negate a comparison in parentheses, `!(a == b)`, or use `!=`"],
  [
    /Undefined function/,
    "Functions do not exist in `when`; use a tag such as `{{=len(inputs.parameters.x) > 1}}`",
  ],
  [/comparator 'in'/, "Give at least two values in parentheses: `x in (a, b)`"],
  [
    /comparator '[<>]/,
    "Order compares two numbers without quotes, or two texts: use `==`, or drop the quotes around numbers",
  ],
  [/VARIABLE \[e[0-9]+\]/, "Numbers have no exponent here: write them out"],
  [
    /error parsing regexp|Unable to compile regexp/,
    "The pattern on the right of `=~` is not a valid RE2 expression",
  ],
  [
    /logical operator/,
    "Both sides of `&&` and `||` must be comparisons, or `true` or `false` without quotes",
  ],
  [
    /UNKNOWN \[<nil>\] to|Unexpected end/,
    'One side is empty: put quotes around both sides, `"{{…}}" == ""`',
  ],
  [/Unbalanced parenthesis/, "Close every parenthesis, and quote text that contains one"],
];

function hintFor(text: string, reason: string): string {
  const found = HINTS.find(([pattern]) => pattern.test(reason));
  if (found !== undefined) return found[1];
  const quoted = text.includes("==") || text.includes("!=")
    ? 'on both sides: `"a-b" == "a-b"`'
    : "around text";
  return `Put double quotes ${quoted}; text with anything but letters, digits and \`_\` needs them`;
}
