/** Routes of sensors. */
import type { Route } from "../route.ts";
import { absentKindRoutes } from "./absent_kinds.ts";

/** Every route of sensors. */
export const SENSOR_ROUTES: readonly Route[] = absentKindRoutes({
  segment: "sensors",
  resource: "sensors",
  word: "Sensor",
  service: "SensorService",
});
