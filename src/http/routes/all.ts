/** All declared routes of the API. */
import type { Route } from "../route.ts";
import { ARCHIVE_ROUTES } from "./archive.ts";
import { ARTIFACT_ROUTES } from "./artifacts.ts";
import { CALLBACK_ROUTES } from "./callbacks.ts";
import { CLUSTER_WORKFLOW_TEMPLATE_ROUTES } from "./cluster_workflow_templates.ts";
import { CRON_WORKFLOW_ROUTES } from "./cron_workflows.ts";
import { EVENT_BINDING_ROUTES } from "./event_bindings.ts";
import { SUBSCRIPTION_ROUTES } from "./subscriptions.ts";
import { EVENT_DELIVERY_ROUTES } from "./event_deliveries.ts";
import { EVENT_SOURCE_ROUTES } from "./event_sources.ts";
import { EVENT_ROUTES } from "./events.ts";
import { IMPORT_ROUTES } from "./imports.ts";
import { INFO_ROUTES } from "./info.ts";
import { LOCK_ROUTES } from "./locks.ts";
import { SENSOR_ROUTES } from "./sensors.ts";
import { SYNC_LIMIT_ROUTES } from "./sync_limits.ts";
import { SYSTEM_ROUTES } from "./system.ts";
import { WORKFLOW_CONTROL_ROUTES } from "./workflow_control.ts";
import { WORKFLOW_LOG_ROUTES } from "./workflow_logs.ts";
import { WORKFLOW_TEMPLATE_ROUTES } from "./workflow_templates.ts";
import { WORKFLOW_WATCH_ROUTES } from "./workflow_watches.ts";
import { WORKFLOW_ROUTES } from "./workflows.ts";

/** In the order in which they are documented. */
export const ROUTES: readonly Route[] = [
  ...WORKFLOW_ROUTES,
  ...WORKFLOW_CONTROL_ROUTES,
  ...CALLBACK_ROUTES,
  ...WORKFLOW_LOG_ROUTES,
  ...WORKFLOW_WATCH_ROUTES,
  ...WORKFLOW_TEMPLATE_ROUTES,
  ...CLUSTER_WORKFLOW_TEMPLATE_ROUTES,
  ...CRON_WORKFLOW_ROUTES,
  ...EVENT_BINDING_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...ARCHIVE_ROUTES,
  ...IMPORT_ROUTES,
  ...EVENT_ROUTES,
  ...EVENT_DELIVERY_ROUTES,
  ...INFO_ROUTES,
  ...SYNC_LIMIT_ROUTES,
  ...LOCK_ROUTES,
  ...SYSTEM_ROUTES,
  ...ARTIFACT_ROUTES,
  ...EVENT_SOURCE_ROUTES,
  ...SENSOR_ROUTES,
];
