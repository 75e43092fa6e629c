/** The operators, and how tightly they bind: the higher the number, the tighter. */

/** Operators that may follow `not` between two operands. */
export const NEGATABLE = new Set(["in", "matches", "contains", "startsWith", "endsWith"]);
/** They may follow one another: `a < b < c`. */
export const COMPARISONS = new Set(["<", "<=", ">", ">="]);
/** Operators before an operand. */
export const UNARY = new Map<string, number>([["not", 50], ["!", 50], ["-", 90], ["+", 90]]);
/** Operators between two operands. */
export const BINARY = new Map([
  ["|", 0],
  ...["or", "||"].map((op) => [op, 10] as const),
  ...["and", "&&"].map((op) => [op, 15] as const),
  ...["==", "!=", ...COMPARISONS, ...NEGATABLE].map((op) => [op, 20] as const),
  ["..", 25],
  ...["+", "-"].map((op) => [op, 30] as const),
  ...["*", "/", "%"].map((op) => [op, 60] as const),
  ...["**", "^"].map((op) => [op, 100] as const),
  ["??", 500],
]);
