/** Changes of the feed that can't be read. */
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { Change } from "./port.ts";

/** Changes that are remembered as told: many read the same one. */
const MAX_TOLD = 1_000;

/** Reads a change; what can't be read becomes one that says no more than whose it is, if that is known. */
export function changeReader(onUnreadable: ReportUnreadable) {
  const told = new Set<string>();
  return (place: Pick<Change, "type" | "id" | "version">, read: () => Change): Change => {
    try {
      return read();
    } catch (error) {
      const { id, type, version } = place;
      const key = `${version} ${id}`;
      if (!told.has(key)) onUnreadable("feed", { version, id, err: error });
      if (told.size >= MAX_TOLD) told.clear();
      told.add(key);
      // Of an actor that is gone there is nothing to load.
      const isKnown = id.startsWith("wf/") && (type === "ADDED" || type === "MODIFIED");
      return {
        type: "MODIFIED",
        id: isKnown ? id : "unreadable",
        version,
        put: {},
        drop: [],
        unreadable: true,
      };
    }
  };
}
