/** How large the source of an expression may be. */

/** Longest source, in UTF-16 units. */
export const MAX_SOURCE_LENGTH = 262_144;
/** Most nodes of one expression; the reference's number. */
export const MAX_NODES = 10_000;
/** Deepest nesting of parentheses, lists, unary operators, conditional arms and so on. */
export const MAX_NESTING = 400;
/** Most links (`.name`, `[index]`, piped calls) in a row. */
export const MAX_CHAIN = 500;
