/** Rows of the archive of which it has noted that the store has them too. */
import type { Archive, ArchivedEntry } from "./port.ts";

const PAGE = 500;

/** All of them, a page at a time. */
export async function* notedLive(
  archive: Pick<Archive, "notedLive">,
): AsyncIterable<ArchivedEntry[]> {
  for (let after = "";;) {
    const page = await archive.notedLive(PAGE, after);
    yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.uid ?? after;
  }
}
