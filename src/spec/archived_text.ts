/** Texts in the archive of the reference. */

/** What it writes in place of the character NUL, which PostgreSQL has in no text. */
export const NUL_TEXT = "ARGO_POSTGRES_NULL_REPLACEMENT";
