/** What is common to stored manifests. */
import type { ObjectMeta } from "../../../spec/manifest.ts";

/** Why a stored manifest cannot be read; undefined when it can. Such a one can only be deleted. */
export function unreadableReason({ annotations = {} }: ObjectMeta): string | undefined {
  return Object.entries(annotations).find(([key]) => key.endsWith("/unreadable"))?.[1];
}

/** What a manifest calls itself, beside its name. */
export function titleIn({ annotations = {} }: ObjectMeta): string {
  return Object.entries(annotations).find(([key]) => key.endsWith("/title"))?.[1] ?? "";
}

/** What a manifest says about itself. */
export function descriptionOf({ annotations = {} }: ObjectMeta): string {
  return Object.entries(annotations).find(([key]) => key.endsWith("/description"))?.[1] ?? "";
}
