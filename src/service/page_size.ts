/**
 * How much one page of any list holds. A page that is full ends with a continue token, also when no limit was asked for;
 * one item is always there.
 */

/** Characters of stored text in a page. */
export const MAX_PAGE_SIZE = 2 ** 24;
/** The same where a list is read only to be passed on piece by piece. */
export const MAX_PORTION_SIZE = 2 ** 22;
/** A watched workflow with more characters of stored text is shown without its nodes. */
export const MAX_WATCHED_SIZE = 2 ** 23;
