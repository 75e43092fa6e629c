/** Metrics and log lines of requests. */
import { parseTraceparent } from "../base/trace_context.ts";
import type { Labels } from "../platform/metrics.ts";
import type { AppDeps } from "./deps.ts";
import type { RequestEnv } from "./every_request.ts";
import type { Route } from "./route.ts";

/** Measures a request that is answered. @param start when it came, monotonic ms */
export type Measure = (env: RequestEnv, request: Request, status: number, start: number) => void;

/** Measures the requests of a route. */
export function requestMetrics({ metrics, service }: AppDeps, { operation }: Route): Measure {
  const total = metrics.counter("sluice_http_requests_total", "Requests by operation and status");
  const seconds = metrics.histogram(
    "sluice_http_request_seconds",
    "Time to the answer of a request, for streams to the first byte",
  );
  const labels = { operation };
  const byStatus = new Map<number, Labels>();
  return ({ requestId }, request, status, start) => {
    let counted = byStatus.get(status);
    if (counted === undefined) {
      byStatus.set(status, counted = { operation, status: String(status) });
    }
    total.inc(counted);
    const ms = service.clock.monotonic() - start;
    if (service.traces === undefined) seconds.observe(ms / 1000, labels);
    else seconds.observe(ms / 1000, labels, sampledTrace(request));
    if (service.log.isLevelEnabled("debug")) {
      service.log.debug({ requestId, operation, status, ms: Math.round(ms) }, "request");
    }
  };
}

/** The trace of a request, if whoever sent it keeps that. */
function sampledTrace({ headers }: Request): string | undefined {
  const remote = parseTraceparent(headers.get("traceparent"));
  return remote?.isSampled === true ? remote.traceId : undefined;
}
