/** Routes of event sources. */
import type { Route } from "../route.ts";
import { absentKindRoutes } from "./absent_kinds.ts";

/** Every route of event sources. */
export const EVENT_SOURCE_ROUTES: readonly Route[] = absentKindRoutes({
  segment: "event-sources",
  resource: "eventsources",
  word: "EventSource",
  service: "EventSourceService",
});
