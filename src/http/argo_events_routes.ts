/**
 * Event sources and sensors, which belong to another product whose pages and clients ask for them here. There are none:
 * lists are empty, streams are quiet, and writes say what to use instead.
 */
import { notFound, Problem, ProblemCode } from "../base/problem.ts";
import { requireAccess } from "../service/access.ts";
import { timeLimit } from "../service/time_limit.ts";
import { GET_OPTIONS, LIST_OPTIONS } from "./query.ts";
import { type Call, param, type Route, streaming, unary, type UnaryRoute } from "./route.ts";
import { watchRequest } from "./shared_options.ts";
import type { Messages } from "./stream.ts";

const tag = "event sources";

/** A kind of which there is never one. */
interface AbsentKind {
  /** In paths. */
  segment: string;
  /** Plural, as access rules name it. */
  resource: string;
  /** In the names of operations: `EventSource`. */
  word: string;
  service: string;
}

const KINDS: readonly AbsentKind[] = [
  {
    segment: "event-sources",
    resource: "eventsources",
    word: "EventSource",
    service: "EventSourceService",
  },
  { segment: "sensors", resource: "sensors", word: "Sensor", service: "SensorService" },
];

/** Every route of this file. */
export const ARGO_EVENTS_ROUTES: readonly Route[] = KINDS.flatMap(routesOf);

function routesOf({ segment, resource, word, service }: AbsentKind): Route[] {
  const all = `/api/v1/${segment}/{namespace}`;
  const one = `${all}/{name}`;
  const may = (call: Call, verb: "list" | "get" | "watch" | "create" | "update" | "delete") => {
    const name = verb === "get" || verb === "update" || verb === "delete"
      ? { name: param(call, "name") }
      : {};
    return requireAccess(call.caller, {
      verb,
      resource,
      namespace: param(call, "namespace"),
      ...name,
    });
  };
  const refusal = (
    method: "POST" | "PUT" | "DELETE",
    path: string,
    verb: "create" | "update" | "delete",
  ): UnaryRoute => {
    const title = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
    return unary({
      method,
      path,
      operation: `${service}_${title}${word}`,
      tag,
      summary: `Refused: there are no ${resource} here`,
      answer: { type: "empty" },
      run: async (call) => {
        await may(call as Call, verb);
        throw new Problem(
          ProblemCode.Unimplemented,
          `there are no ${resource} here: post events to /api/v1/events/${
            param(call, "namespace")
          }/ and let a WorkflowEventBinding act on them`,
        );
      },
    });
  };
  const quiet = (path: string, operation: string, summary: string): Route =>
    streaming({
      method: "GET",
      path,
      operation,
      tag,
      summary,
      query: LIST_OPTIONS,
      open: async (call) => {
        await may(call as Call, "watch");
        const { timeoutSeconds } = watchRequest(call);
        return silence(timeLimit(call.service.clock, call.signal, timeoutSeconds));
      },
    });
  return [
    unary({
      method: "GET",
      path: all,
      operation: `${service}_List${word}s`,
      tag,
      summary: `An empty list: there are no ${resource} here`,
      query: LIST_OPTIONS,
      run: async (call) => {
        await may(call as Call, "list");
        return { metadata: {}, items: [] };
      },
    }),
    unary({
      method: "GET",
      path: one,
      operation: `${service}_Get${word}`,
      tag,
      summary: `Not found: there are no ${resource} here`,
      query: GET_OPTIONS,
      run: async (call) => {
        await may(call as Call, "get");
        const { apiGroup } = call.service.settings.naming;
        throw notFound(`${resource}.${apiGroup} ${JSON.stringify(param(call, "name"))} not found`);
      },
    }),
    refusal("POST", all, "create"),
    refusal("PUT", one, "update"),
    refusal("DELETE", one, "delete"),
    quiet(
      `/api/v1/stream/${segment}/{namespace}`,
      `${service}_Watch${word}s`,
      "A stream without changes",
    ),
    quiet(
      `/api/v1/stream/${segment}/{namespace}/logs`,
      `${service}_${word}sLogs`,
      "A stream without lines",
    ),
  ];
}

/** A stream that has nothing to tell, and ends when its reader or the server does. */
// deno-lint-ignore require-yield -- that is what it is
async function* silence(until: AbortSignal): AsyncIterable<Messages> {
  if (until.aborted) return;
  await new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }));
}
