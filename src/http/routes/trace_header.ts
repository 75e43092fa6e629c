/** The `traceparent` header: what caused a request. */
import { parseTraceparent, type TraceOrigin } from "../../base/trace_context.ts";
import type { Call } from "../route.ts";

type Traced = Pick<Call, "headers" | "service">;

/** Where a workflow comes from that the request submits; undefined where nothing is traced, or the request says nothing. */
export function originOf({ headers, service }: Traced): TraceOrigin | undefined {
  if (service.traces === undefined) return undefined;
  const parent = headers.get("traceparent");
  if (parent === null) return undefined;
  const found = parseTraceparent(parent, headers.get("tracestate"));
  if (found === undefined) return undefined;
  return { parent: parent.trim(), ...(found.state !== undefined && { state: found.state }) };
}

/** The same for a request about a workflow that exists. */
export function causeOf(call: Traced): string | undefined {
  return originOf(call)?.parent;
}
