/** What of a stored manifest its editor shows, and what of it comes back unseen when the text is stored. */
import type { ObjectMeta } from "../../../spec/manifest.ts";

export interface StoredObject {
  metadata: ObjectMeta;
  spec?: unknown;
}

/** The server keeps these annotations of a cron workflow, and changes them while somebody writes. */
const KEPT_ANNOTATION = /^cronworkflows\./;

type Annotations = Record<string, string>;

function annotationsOf({ annotations }: ObjectMeta, areKept: boolean): Annotations | undefined {
  const found = Object.entries(annotations ?? {})
    .filter(([key]) => KEPT_ANNOTATION.test(key) === areKept);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** What people write, without what the server adds. */
export function shownPart({ metadata, spec }: StoredObject): StoredObject {
  const { name, namespace, labels } = metadata;
  const annotations = annotationsOf(metadata, false);
  const shown = {
    name,
    namespace,
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  };
  return JSON.parse(JSON.stringify({ metadata: shown, spec }));
}

/** Tells whether two versions are the same for whoever writes. */
export function isSameShown(one: StoredObject, other: StoredObject): boolean {
  return JSON.stringify(shownPart(one)) === JSON.stringify(shownPart(other));
}

/**
 * What an edited text replaces a stored manifest by.
 * @param edited as its text was read
 */
export function withKept<Stored extends StoredObject>(
  edited: StoredObject,
  stored: Stored,
): Stored {
  const { metadata, spec: _spec, ...others } = stored;
  const { labels: _labels, annotations: _annotations, ...kept } = metadata;
  const annotations = {
    ...annotationsOf(edited.metadata ?? {}, false),
    ...annotationsOf(metadata, true),
  };
  const { uid, resourceVersion } = metadata;
  return {
    ...edited,
    ...others,
    metadata: { ...kept, ...edited.metadata, annotations, uid, resourceVersion },
  } as unknown as Stored;
}
