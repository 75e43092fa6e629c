/** The HTTP application: the declared routes, and on Hono probes, the description of the API, and pages. */
import { Hono } from "hono";
import { Deadlines } from "../platform/deadlines.ts";
import { SLOW_MS } from "./answer_text.ts";
import { mountArgoUi, servedPath, servedTarget } from "./argo_ui.ts";
import { BodyLedger } from "./body_ledger.ts";
import type { AppDeps } from "./deps.ts";
import { mountDescription } from "./api_description.ts";
import { completeAnswer, type RequestEnv, wrapRoutes } from "./every_request.ts";
import { mountProbes } from "./probes.ts";
import { asProblem, noGrpc, noSuchRoute, problemResponse } from "./problems.ts";
import { rawTarget } from "./request_path.ts";
import { requestMetrics } from "./request_metrics.ts";
import type { Route } from "./route.ts";
import { paramsReader, routerPaths, RouteTable } from "./route_table.ts";
import { logDefect, type RouteApp, type ServedRoute, serveRoute } from "./serve_route.ts";

/** Share of the members of a body that an event may have: every binding that reads an event gets a copy. */
const EVENT_SHARE = 1 / 4;

export interface App {
  fetch(request: Request, server: unknown): Promise<Response>;
  /** Every method and path beside the declared routes, in Hono's notation. */
  mounted: readonly { method: string; path: string }[];
}

/** Creates the application with these routes. */
export function createApp(deps: AppDeps, routes: readonly Route[]): App {
  const hasPages = deps.argoUiDir !== undefined;
  const app: RouteApp = new Hono(hasPages ? { getPath: servedPath } : {});
  mountProbes(app, deps);
  mountDescription(app, routes, deps.service.settings.build.version);
  if (deps.argoUiDir !== undefined) mountArgoUi(app, deps.argoUiDir);
  const missingPage = deps.pages?.(app);
  const table = tableOf(deps, routes);
  refuseOtherMethods(app, routes);
  app.notFound((c) => {
    const { path } = c.env.target;
    if (c.req.header("content-type")?.startsWith("application/grpc") === true) return noGrpc();
    if (path.startsWith("/api/")) return noRouteResponse(table, path);
    return missingPage !== undefined && c.req.header("accept")?.includes("text/html") === true
      ? missingPage(c)
      : c.json({ code: 5, message: "Not Found" }, 404);
  });
  app.onError((error, c) => {
    logDefect(error, deps, c.req.raw, c.env);
    return problemResponse(asProblem(error));
  });
  const fetch = async (request: Request, env: RequestEnv): Promise<Response> => {
    const { path } = env.target;
    const isHead = request.method === "HEAD";
    if (isHead && path.startsWith("/api/")) {
      const refusal = new Response(null, noRouteResponse(table, path));
      return completeAnswer(refusal, env, deps.origin);
    }
    const served = isHead ? table.find("GET", path) : undefined;
    if (served !== undefined) return new Response(null, await serveRoute(served, request, env));
    return completeAnswer(await app.fetch(request, env), env, deps.origin);
  };
  const handle = wrapRoutes({
    ids: deps.service.ids,
    rateLimiter: deps.rateLimiter,
    origin: deps.origin,
    targetOf: hasPages ? servedTarget : rawTarget,
    fetch(request, env) {
      const served = table.find(request.method, env.target.path);
      return served === undefined ? fetch(request, env) : serveRoute(served, request, env);
    },
  });
  return { fetch: handle, mounted: app.routes.map(({ method, path }) => ({ method, path })) };
}

function tableOf(deps: AppDeps, routes: readonly Route[]): RouteTable<ServedRoute> {
  const { service, maxBodiesBytes, maxBodyBytes, maxBodyMembers, bodyTimeoutMs: timeoutMs } = deps;
  const waits = new Deadlines(service.clock, timeoutMs);
  const reads = new Deadlines(service.clock, SLOW_MS);
  const { maxEventBytes } = service.settings;
  const ledger = new BodyLedger({ maxBytes: maxBodiesBytes, maxBodyBytes, maxEventBytes });
  const table = new RouteTable<ServedRoute>();
  for (const route of routes) {
    const { method, path, holdsEvent = false, maxBodyBytes: most = Infinity } = route;
    const maxBytes = Math.min(holdsEvent ? maxEventBytes : maxBodyBytes, most);
    table.add(method, path, {
      ...{ route, deps, reads, ledger },
      paramsOf: paramsReader(path),
      measure: requestMetrics(deps, route),
      limits: { maxBytes, timeoutMs, waits },
      maxMembers: holdsEvent ? EVENT_SHARE * maxBodyMembers : maxBodyMembers,
    });
  }
  return table;
}

/** The body is the one that clients of the reference know. Headers say what the sender may have meant. */
function noRouteResponse(table: RouteTable<ServedRoute>, path: string): Response {
  const response = problemResponse(noSuchRoute());
  const { headers } = response;
  const methods = table.methodsOf(path).join(", ");
  if (methods !== "") {
    headers.set("allow", methods);
    headers.set("warning", `299 - "this path takes ${methods}"`);
    return response;
  }
  const hasSlash = path.endsWith("/");
  const others = table.methodsOf(hasSlash ? path.slice(0, -1) : `${path}/`).join(", ");
  if (others === "") return response;
  const ending = hasSlash ? "without the slash at its end" : "with a slash at its end";
  headers.set("warning", `299 - "there is no such path; ${ending} it takes ${others}"`);
  return response;
}

/** Answers 405 to other methods, but not below /api, where clients of the reference rely on another answer. */
function refuseOtherMethods(app: RouteApp, routes: readonly Route[]): void {
  for (const { method, path } of routes.filter((route) => !route.path.startsWith("/api/"))) {
    const allow = method === "GET" ? "GET, HEAD" : method;
    for (const plain of routerPaths(path)) {
      app.all(plain, (c) => c.json({ code: 12, message: "Method Not Allowed" }, 405, { allow }));
    }
  }
}
