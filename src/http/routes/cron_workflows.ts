/** Routes of cron workflows. */
import { suspendCronWorkflow } from "../../service/cron/suspend.ts";
import { getManifest } from "../../service/manifests/reads.ts";
import { CRON_BODIES, CRON_RESUME, CRON_SUSPEND, type CronBody, kindSchema } from "../requests.ts";
import { param, type Route, unary, type UnaryRoute } from "../route.ts";
import { cronWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

const PATH = "/api/v1/cron-workflows/{namespace}";
const SERVICE = "CronWorkflowService";
const tag = "cron workflows";

function switchRoute(action: "suspend" | "resume"): UnaryRoute {
  const isOff = action === "suspend";
  return unary({
    method: "PUT",
    path: `${PATH}/{name}/${action}`,
    operation: `${SERVICE}_${isOff ? "Suspend" : "Resume"}CronWorkflow`,
    tag,
    summary: isOff ? "Switch a schedule off" : "Switch a schedule on",
    body: isOff ? CRON_SUSPEND : CRON_RESUME,
    answer: { type: "object", schema: kindSchema("CronWorkflow") },
    run: async (call) => {
      const [namespace, name] = [param(call, "namespace"), param(call, "name")];
      return cronWire(
        await suspendCronWorkflow(call.service, call.caller, namespace, name, isOff),
      );
    },
  });
}

/** Every route of cron workflows. */
export const CRON_WORKFLOW_ROUTES: readonly Route[] = [
  ...manifestRoutes({
    kind: "CronWorkflow",
    path: PATH,
    service: SERVICE,
    tag,
    words: "cron workflow",
    bodies: CRON_BODIES,
    objectOf: ({ cronWorkflow }: CronBody) => cronWorkflow,
    get: (deps, caller, namespace, name) =>
      getManifest(deps, caller, "CronWorkflow", namespace, name),
    wire: cronWire,
  }),
  switchRoute("suspend"),
  switchRoute("resume"),
];
