/**
 * Routes of kinds that belong to another product, Argo Events. Pages and clients of the reference ask for them here, but there
 * are none: lists are empty, streams are quiet, and writes are refused with a hint what to use instead.
 */
import { notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { checkAbsentList } from "../../service/absent_kinds.ts";
import { requireAccess } from "../../service/access.ts";
import { timeLimit } from "../../service/watch_timeout.ts";
import { GET_OPTIONS, LIST_OPTIONS } from "../query.ts";
import {
  param,
  type Route,
  streaming,
  type StreamRoute,
  unary,
  type UnaryRoute,
} from "../route.ts";
import type { Messages } from "../stream.ts";
import { watchRequest } from "./shared_options.ts";

const tag = "event sources";

/** A kind that has no objects here. */
export interface AbsentKind {
  /** In paths: `event-sources`. */
  segment: string;
  /** Plural, as access rules name it. */
  resource: string;
  /** In the names of operations: `EventSource`. */
  word: string;
  service: string;
}

/** Every route of an absent kind. */
export function absentKindRoutes(kind: AbsentKind): Route[] {
  const { segment, word, service } = kind;
  const stream = `/api/v1/stream/${segment}/{namespace}`;
  return [
    listRoute(kind),
    getRoute(kind),
    refusedRoute(kind, "POST", "create"),
    refusedRoute(kind, "PUT", "update"),
    refusedRoute(kind, "DELETE", "delete"),
    quietRoute(kind, stream, `${service}_Watch${word}s`, "A stream without changes"),
    quietRoute(kind, `${stream}/logs`, `${service}_${word}sLogs`, "A stream without lines"),
  ];
}

function allPath({ segment }: AbsentKind): string {
  return `/api/v1/${segment}/{namespace}`;
}

function listRoute(kind: AbsentKind): UnaryRoute {
  const { resource, word, service } = kind;
  return unary({
    method: "GET",
    path: allPath(kind),
    operation: `${service}_List${word}s`,
    tag,
    summary: `An empty list: there are no ${resource} here`,
    query: LIST_OPTIONS,
    run: async (call) => {
      await checkAbsentList(call.caller, "list", resource, watchRequest(call));
      return { metadata: {}, items: [] };
    },
  });
}

function getRoute(kind: AbsentKind): UnaryRoute {
  const { resource, word, service } = kind;
  return unary({
    method: "GET",
    path: `${allPath(kind)}/{name}`,
    operation: `${service}_Get${word}`,
    tag,
    summary: `Not found: there are no ${resource} here`,
    query: GET_OPTIONS,
    run: async (call) => {
      const [namespace, name] = [param(call, "namespace"), param(call, "name")];
      await requireAccess(call.caller, { verb: "get", resource, namespace, name });
      const { apiGroup } = call.service.settings.naming;
      throw notFound(`${resource}.${apiGroup} ${JSON.stringify(name)} not found`);
    },
  });
}

function refusedRoute(
  kind: AbsentKind,
  method: "POST" | "PUT" | "DELETE",
  verb: "create" | "update" | "delete",
): UnaryRoute {
  const { resource, word, service } = kind;
  const hasName = verb !== "create";
  return unary({
    method,
    path: hasName ? `${allPath(kind)}/{name}` : allPath(kind),
    operation: `${service}_${verb.charAt(0).toUpperCase()}${verb.slice(1)}${word}`,
    tag,
    summary: `Refused: there are no ${resource} here`,
    answer: { type: "empty" },
    run: async (call) => {
      const namespace = param(call, "namespace");
      await requireAccess(call.caller, {
        verb,
        resource,
        namespace,
        ...(hasName && { name: param(call, "name") }),
      });
      throw new Problem(
        ProblemCode.Unimplemented,
        `there are no ${resource} here: post events to /api/v1/events/${namespace}/ and let a ` +
          "WorkflowEventBinding act on them",
      );
    },
  });
}

function quietRoute(
  { resource }: AbsentKind,
  path: string,
  operation: string,
  summary: string,
): StreamRoute {
  return streaming({
    method: "GET",
    path,
    operation,
    tag,
    summary,
    query: LIST_OPTIONS,
    open: async (call) => {
      const request = watchRequest(call);
      await checkAbsentList(call.caller, "watch", resource, request);
      return silence(timeLimit(call.service.clock, call.signal, request.timeoutSeconds));
    },
  });
}

/** A stream without messages that ends when its reader or the server does. */
// deno-lint-ignore require-yield -- that is what it is
async function* silence(until: AbortSignal): AsyncIterable<Messages> {
  if (until.aborted) return;
  await new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }));
}
