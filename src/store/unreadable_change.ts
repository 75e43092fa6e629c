/** Changes in the feed that can't be read. */
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { Change } from "./port.ts";

/** Reads a change. One that can't be read becomes a change that only names its actor, if that is known. */
export function changeReader(onUnreadable: ReportUnreadable) {
  return (place: Pick<Change, "type" | "id" | "version">, read: () => Change): Change => {
    try {
      return read();
    } catch (error) {
      const { id, type, version } = place;
      onUnreadable("feed", `${version} ${id}`, { err: error });
      // There is nothing to load of a removed actor.
      const isKnown = id.startsWith("wf/") && (type === "ADDED" || type === "MODIFIED");
      return {
        type: "MODIFIED",
        id: isKnown ? id : "unreadable",
        version,
        put: {},
        drop: [],
        mustLoad: true,
      };
    }
  };
}
