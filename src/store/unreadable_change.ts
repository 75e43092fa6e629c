/** Changes of the feed that can't be read. */
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { Change } from "./port.ts";

/** Reads a change; what can't be read becomes one that says no more than whose it is, if that is known. */
export function changeReader(onUnreadable: ReportUnreadable) {
  return (place: Pick<Change, "type" | "id" | "version">, read: () => Change): Change => {
    try {
      return read();
    } catch (error) {
      const { id, type, version } = place;
      onUnreadable("feed", `${version} ${id}`, { err: error });
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
