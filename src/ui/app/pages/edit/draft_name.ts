import type { StoredKindName } from "../../paths.ts";

/** Under this name a new manifest is kept while it is written. @param event that it is made for; "" for none */
export function draftName(kind: StoredKindName, event: string): string {
  return `sluice-edit ${kind}${event === "" ? "" : ` ${event}`}`;
}
