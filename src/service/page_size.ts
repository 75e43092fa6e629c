/**
 * How much one page of a list holds. A full page ends with a continue token even if no limit was asked for. A page always
 * has room for one item.
 */

/** Characters of stored text in a page. */
export const MAX_PAGE_SIZE = 2 ** 24;
/** The same for a list that is passed on page by page. */
export const MAX_PORTION_SIZE = 2 ** 22;
/** A watched workflow with more characters of stored text is shown without its nodes. */
export const MAX_WATCHED_SIZE = 2 ** 23;
