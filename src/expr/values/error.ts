/**
 * The two errors of the expression language. Each shows the source line with a caret under the place, in the
 * reference's form: `MESSAGE (LINE:COL)`, then ` | ` and the line, then dots up to the caret.
 */

/** Where in a source text something is. */
export interface SourcePlace {
  /** Offset in UTF-16 units from 0. */
  readonly offset: number;
  /** Line from 1. */
  readonly line: number;
  /** Column from 1, in code points. */
  readonly column: number;
}

/** Finds line and column of an offset; an offset outside the text counts as its nearest end. */
function placeOf(source: string, offset: number): SourcePlace {
  const at = Math.min(Math.max(offset, 0), source.length);
  const before = source.slice(0, at);
  const lineStart = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let i = before.indexOf("\n"); i >= 0; i = before.indexOf("\n", i + 1)) line++;
  return { offset: at, line, column: countCodePoints(before.slice(lineStart)) + 1 };
}

/** The lines under an error message: the source line and the caret; empty for an empty line. */
function snippetOf(source: string, place: SourcePlace): string {
  const start = source.lastIndexOf("\n", place.offset - 1) + 1;
  const end = source.indexOf("\n", place.offset);
  const line = source.slice(start, end < 0 ? source.length : end).replaceAll("\t", " ");
  return line === "" ? "" : `\n | ${line}\n | ${".".repeat(place.column - 1)}^`;
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** What both error classes share. */
abstract class ExprError extends Error {
  readonly source: string;
  readonly reason: string;
  /** Offset in UTF-16 units from 0. */
  readonly offset: number;
  /** Line from 1. */
  readonly line: number;
  /** Column from 1, in code points. */
  readonly column: number;

  /** @param reason the message without the place. */
  constructor(reason: string, source: string, offset: number, options?: ErrorOptions) {
    const place = placeOf(source, offset);
    const snippet = snippetOf(source, place);
    super(
      snippet === "" ? reason : `${reason} (${place.line}:${place.column})${snippet}`,
      options,
    );
    this.reason = reason;
    this.source = source;
    this.offset = place.offset;
    this.line = place.line;
    this.column = place.column;
  }

  /** The evaluation has exhausted a budget; trying again does not help. */
  get isBudgetExceeded(): boolean {
    return this.cause instanceof BudgetExceeded;
  }
}

/** The expression is not valid: syntax, an unknown name, or types that can never fit. */
export class ExprCompileError extends ExprError {
  override readonly name = "ExprCompileError";
}

/** The expression is valid, but failed with the given values. */
export class ExprRuntimeError extends ExprError {
  override readonly name = "ExprRuntimeError";
}

/**
 * A failure at run time that does not know its place yet. Functions throw it (see {@link fault}); the compiled program
 * turns it into an {@link ExprRuntimeError}. It never leaves `src/expr`.
 */
export class Fault extends Error {
  override readonly name = "Fault";
}

/**
 * An evaluation has exhausted one of its budgets. Unlike a {@link Fault}, no function of an expression may catch it: an
 * expression can't continue by ignoring it.
 */
export class BudgetExceeded extends Error {
  override readonly name = "BudgetExceeded";
}

/** Distinguishes a failure of the expression itself from a defect. */
export function isFailure(error: unknown): error is Fault | BudgetExceeded {
  return error instanceof Fault || error instanceof BudgetExceeded;
}

/** Fails the running expression with a message. @throws {Fault} always */
export function fault(message: string): never {
  throw new Fault(message);
}
