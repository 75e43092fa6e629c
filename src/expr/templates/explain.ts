/**
 * Why a condition is true or false: what each part of its `and`, `or` and `not` gave, and the values that decided. For
 * people who read it; what a condition is worth is decided by `contexts.ts`.
 */
import type { Node } from "../language/ast.ts";
import { compileExpr } from "../language/compile.ts";
import { parseExpr } from "../language/parse.ts";
import { printExpr } from "../language/print.ts";
import type { CompileOptions } from "../language/program.ts";
import { BudgetExceeded, ExprCompileError, ExprRuntimeError } from "../values/error.ts";
import { RunContext, type RunOptions } from "../values/run_context.ts";
import type { Value, ValueMap } from "../values/values.ts";
import { shortText } from "./contexts.ts";

/** One part of a condition, or the whole. */
export interface ConditionPart {
  /** In normal form, with parentheses around operations; cut after 300 characters. Absent if it has parts. */
  text?: string;
  /** `skipped`: it was not evaluated, because an earlier part had decided. */
  verdict: "true" | "false" | "error" | "skipped";
  /** How its parts are joined; absent: it has none. */
  operator?: "and" | "or" | "not";
  parts?: ConditionPart[];
  /** What its operands were; literals are left out. */
  values?: { text: string; value: string }[];
  /** Why it failed, with the place in its text. */
  message?: string;
}

/** What the parts may use. */
export interface ExplainOptions extends Pick<CompileOptions, "functions" | "open"> {
  run?: RunOptions;
  /** Makes the environment with something else in place of secrets. What differs in it is not shown. */
  makeOpenEnv?: () => ValueMap;
}

/** Parts that are told apart; what is beyond them is one part. */
const MAX_PARTS = 50;
/** Values of operands that are shown. */
const MAX_VALUES = 50;
const MAX_TEXT = 300;
/** Stands for what is not shown. */
export const HIDDEN = "(hidden)";

/**
 * Explains a condition.
 *
 * @param makeEnv makes the environment; it is called twice, because functions may change what they see
 * @returns undefined when the expression does not compile, so that it has no parts
 */
export function explainCondition(
  source: string,
  makeEnv: () => ValueMap,
  { run, makeOpenEnv, ...options }: ExplainOptions,
): ConditionPart | undefined {
  const env = makeEnv();
  const context = new RunContext(run);
  try {
    compileExpr(source, { ...options, env, context: new RunContext() });
    const explainer = new Explainer(env, context, options, makeOpenEnv?.());
    const whole = explainer.explain(parseExpr(source), "");
    explainer.addValues(makeEnv(), new RunContext(run));
    return whole;
  } catch (error) {
    if (error instanceof ExprCompileError || error instanceof RangeError) return undefined;
    throw error;
  }
}

type Outcome = { value: Value } | { message: string };
type Joint = Extract<Node, { kind: "binary" }>;

class Explainer {
  readonly #env: ValueMap;
  readonly #context: RunContext;
  readonly #options: Pick<CompileOptions, "functions" | "open">;
  /** Absent: there are no secrets. */
  readonly #openEnv: ValueMap | undefined;
  readonly #decided: { part: ConditionPart; node: Node; lets: string }[] = [];
  #left = MAX_PARTS;

  constructor(
    env: ValueMap,
    context: RunContext,
    options: Pick<CompileOptions, "functions" | "open">,
    openEnv: ValueMap | undefined,
  ) {
    this.#env = env;
    this.#context = context;
    this.#options = options;
    this.#openEnv = openEnv;
  }

  /** @param lets the `let` clauses around the node, as source */
  explain(node: Node, lets: string): ConditionPart {
    if (node.kind === "let") {
      return this.explain(node.body, `${lets}let ${node.name} = (${printExpr(node.value)}); `);
    }
    const operator = operatorOf(node);
    if (operator === undefined || this.#left <= 1) return this.#leaf(node, lets);
    if (operator === "not") {
      this.#left--;
      const operand = (node as Node & { kind: "unary" }).operand;
      const part = this.explain(operand, lets);
      const verdict = part.verdict === "true"
        ? "false"
        : part.verdict === "false"
        ? "true"
        : part.verdict;
      return { verdict, operator, parts: [part] };
    }
    return this.#joined(node as Joint, operator, lets);
  }

  #joined(node: Joint, operator: "and" | "or", lets: string): ConditionPart {
    // The first part that has this verdict decides.
    const deciding = operator === "and" ? "false" : "true";
    const parts: ConditionPart[] = [];
    let verdict: ConditionPart["verdict"] = operator === "and" ? "true" : "false";
    let isOver = false;
    const operands = operandsOfChain(node, operator);
    while (operands.length > 0) {
      const isLast = this.#left <= 1;
      const operand = isLast ? rejoined(operands.splice(0), node) : operands.shift();
      if (operand === undefined) break;
      if (isOver) {
        this.#left--;
        parts.push({ text: textOf(operand), verdict: "skipped" });
        continue;
      }
      const part = this.explain(operand, lets);
      parts.push(part);
      if (part.verdict !== deciding && part.verdict !== "error") continue;
      verdict = part.verdict;
      isOver = true;
    }
    return { verdict, operator, parts };
  }

  #leaf(node: Node, lets: string): ConditionPart {
    this.#left--;
    const text = textOf(node);
    const source = lets + printExpr(node);
    const outcome = this.#evaluate(source, this.#env, this.#context);
    if ("message" in outcome) {
      return { text, verdict: "error", message: this.#shown(source, outcome, this.#context) };
    }
    const { value } = outcome;
    if (typeof value !== "boolean") {
      const message = `it gives ${this.#shown(source, outcome, this.#context)}, not true or false`;
      return { text, verdict: "error", message };
    }
    const part: ConditionPart = { text, verdict: value ? "true" : "false" };
    this.#decided.push({ part, node, lets });
    return part;
  }

  /** Adds what the operands of the parts were, after all parts are decided. */
  addValues(env: ValueMap, context: RunContext): void {
    let left = MAX_VALUES;
    for (const { part, node, lets } of this.#decided) {
      const known = new Set<string>();
      for (const operand of operandsOf(node)) {
        const source = printExpr(operand);
        if (known.has(source) || left-- <= 0) continue;
        known.add(source);
        const outcome = this.#evaluate(lets + source, env, context);
        if ("message" in outcome) continue;
        part.values ??= [];
        const value = this.#shown(lets + source, outcome, context);
        part.values.push({ text: cut(source), value });
      }
    }
  }

  #evaluate(source: string, env: ValueMap, context: RunContext): Outcome {
    try {
      return { value: compileExpr(source, { ...this.#options, env, context }).run(env, context) };
    } catch (error) {
      if (error instanceof ExprCompileError || error instanceof ExprRuntimeError) {
        return { message: error.message };
      }
      throw error;
    }
  }

  /** An outcome as a text, unless secrets have a part in it: then it differs without them. */
  #shown(source: string, outcome: Outcome, context: RunContext): string {
    const text = this.#textOf(outcome, context);
    if (this.#openEnv === undefined) return text;
    const open = this.#evaluate(source, this.#openEnv, context);
    return this.#textOf(open, context) === text ? text : HIDDEN;
  }

  #textOf(outcome: Outcome, context: RunContext): string {
    if ("message" in outcome) return outcome.message;
    try {
      return shortText(outcome.value, context);
    } catch (error) {
      if (error instanceof BudgetExceeded) return "…";
      throw error;
    }
  }
}

function operatorOf(node: Node): ConditionPart["operator"] {
  if (node.kind === "unary" && (node.operator === "!" || node.operator === "not")) return "not";
  if (node.kind !== "binary") return undefined;
  if (node.operator === "&&" || node.operator === "and") return "and";
  return node.operator === "||" || node.operator === "or" ? "or" : undefined;
}

/** `a && b && c` are three operands of one `and`. */
function operandsOfChain(node: Joint, operator: "and" | "or"): Node[] {
  const operands: Node[] = [];
  const open: Node[] = [node];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (one.kind === "binary" && operatorOf(one) === operator) open.push(one.right, one.left);
    else operands.push(one);
  }
  return operands;
}

function rejoined(operands: readonly Node[], { operator, at }: Joint): Node | undefined {
  const [first, ...rest] = operands;
  return rest.reduce<Node | undefined>(
    (left, right) => left && { kind: "binary", operator, left, right, at },
    first,
  );
}

/** What a reader wants to know the value of. */
function operandsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "binary":
      return [node.left, node.right].filter(isOpen);
    case "unary":
      return [node.operand].filter(isOpen);
    case "builtin":
    case "call":
      return node.args.filter(isOpen);
    case "conditional":
      return [node.test].filter(isOpen);
    case "chain":
      return operandsOf(node.body);
    default:
      return [];
  }
}

/** A value that its text does not show already. */
function isOpen(node: Node): boolean {
  if (node.kind === "literal" || node.kind === "predicate") return false;
  return node.kind !== "array" || node.items.some(isOpen);
}

function textOf(node: Node): string {
  return cut(printExpr(node));
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
