/** Lists of manifests that may be long. */
import { defined } from "../base/defined.ts";
import { nextTurn } from "../platform/clock.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import type { ManifestStore, StoredManifest } from "./manifest_port.ts";
import type { Version } from "./version.ts";

/** Manifests of one page: few enough that reading them delays nobody. */
const PAGE = 500;

/** A page, and the version of all manifests when it was read. */
export interface ManifestPage {
  items: StoredManifest[];
  version: Version;
}

/**
 * All manifests of a kind, by namespace and name, in pages; others have their turn in between. What is stored all the time is
 * listed once, whatever is changed beside it.
 */
export async function* manifestPages(
  manifests: Pick<ManifestStore, "list">,
  kind: ManifestKind,
  query: { namespace?: string } = {},
): AsyncGenerator<ManifestPage> {
  let from: string | undefined;
  do {
    const page = await manifests.list(kind, {
      ...query,
      limit: PAGE,
      ...defined({ continue: from }),
    });
    yield { items: page.items, version: page.version };
    from = page.continue;
    if (from !== undefined) await nextTurn();
  } while (from !== undefined);
}
