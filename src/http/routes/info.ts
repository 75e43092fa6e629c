/** Routes about the service itself and the caller. */
import { getInfo, getUserInfo, getVersion } from "../../service/info.ts";
import { TRACKING, type TrackingBody } from "../requests.ts";
import { type Route, unary } from "../route.ts";

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
