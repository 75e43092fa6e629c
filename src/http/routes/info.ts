/** Routes about the service itself and the caller. */
import { getAccess } from "../../service/rights.ts";
import type { JsonObject } from "../../base/json.ts";
import { examine } from "../../service/doctor.ts";
import { getInfo, getUserInfo, getVersion } from "../../service/info.ts";
import { TRACKING, type TrackingBody } from "../requests.ts";
import { param, type Route, unary } from "../route.ts";

/** Every route about the service and the caller. */
export const INFO_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: "/api/v1/info",
    operation: "InfoService_GetInfo",
    tag: "info",
    summary: "Settings that user interfaces ask for",
    run: (call) => Promise.resolve(getInfo(call.service)),
  }),
  unary({
    method: "GET",
    path: "/api/v1/version",
    operation: "InfoService_GetVersion",
    tag: "info",
    summary: "The running version",
    run: (call) => Promise.resolve({ ...getVersion(call.service) }),
  }),
  unary({
    method: "GET",
    path: "/api/v1/userinfo",
    operation: "InfoService_GetUserInfo",
    tag: "info",
    summary: "What is known about the caller",
    run: (call) => Promise.resolve(getUserInfo(call.service, call.caller)),
  }),
  unary({
    method: "GET",
    path: "/api/v1/access/{namespace}",
    operation: "InfoService_GetAccess",
    tag: "info",
    summary: "What the caller may do in a namespace, or with one object of it; without one, in all",
    query: { resource: "strings", name: "string" },
    run: (call) =>
      getAccess(call.caller, {
        namespace: param(call, "namespace"),
        resources: call.query.resource ?? [],
        name: call.query.name ?? "",
      }),
  }),
  unary({
    method: "POST",
    path: "/api/v1/doctor",
    operation: "InfoService_Examine",
    tag: "info",
    summary:
      "Examine what the server stands on: store, clock, replicas, cluster, artifacts, webhooks",
    run: async (call): Promise<JsonObject> => {
      const { version, time, findings } = await examine(call.service, call.caller);
      const wire = findings.map((one) => ({ ...one }));
      return { version, time: new Date(time).toISOString(), findings: wire };
    },
  }),
  unary<TrackingBody>({
    method: "POST",
    path: "/api/v1/tracking/event",
    operation: "InfoService_CollectEvent",
    tag: "info",
    summary: "Accepted and ignored: nothing is tracked here",
    body: TRACKING,
    answer: { type: "empty" },
    run: () => Promise.resolve({}),
  }),
];
