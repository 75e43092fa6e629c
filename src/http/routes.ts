/** All declared routes of the API. */
import { ARCHIVE_ROUTES } from "./archive_routes.ts";
import { ARGO_EVENTS_ROUTES } from "./argo_events_routes.ts";
import { ARTIFACT_ROUTES } from "./artifact_routes.ts";
import { EVENT_ROUTES } from "./event_routes.ts";
import { MANIFEST_ROUTES } from "./manifest_routes.ts";
import type { Route } from "./route.ts";
import { SERVICE_ROUTES } from "./service_routes.ts";
import { WORKFLOW_ROUTES } from "./workflow_routes.ts";

export const ROUTES: readonly Route[] = [
  ...WORKFLOW_ROUTES,
  ...MANIFEST_ROUTES,
  ...ARCHIVE_ROUTES,
  ...EVENT_ROUTES,
  ...SERVICE_ROUTES,
  ...ARTIFACT_ROUTES,
  ...ARGO_EVENTS_ROUTES,
];
