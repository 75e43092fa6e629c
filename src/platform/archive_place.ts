/** Where finished workflows go. */

/** The settings that say so, as the configuration has them. */
interface ArchiveSettings {
  readonly archive: boolean;
  readonly archiveStore: string;
  readonly store: string;
}

/**
 * `sqlite:FOLDER`, `postgres://…`, or `store`: they stay where they are. By default the folder of the embedded store, which
 * one server has for itself: the archive is a file of its own there.
 */
export function archivePlace({ archive, archiveStore, store }: ArchiveSettings): string {
  if (archiveStore !== "") return archiveStore;
  return archive && store.startsWith("sqlite:") ? store : "store";
}
