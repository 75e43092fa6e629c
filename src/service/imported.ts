/** What an import did, or would do, with one object of another installation. */

export interface ImportOptions {
  /** An object that differs here is replaced. @default {false} */
  overwrite?: boolean | undefined;
  /** Says what would happen, and stores nothing. @default {false} */
  dryRun?: boolean | undefined;
}

export interface Imported {
  /**
   * `created`: it was not here. `unchanged`: it is here as given. `differs`: it is here, and another; nothing was done.
   * `replaced`: it was here, and another. `left`: this server would not keep it.
   */
  outcome: "created" | "unchanged" | "differs" | "replaced" | "left";
  /** Why, for `differs` and `left`. */
  message?: string;
}
