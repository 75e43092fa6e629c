/** The HTTP application: the declared routes on Hono, probes, the description of the API, and pages. */
import { Hono } from "hono";
import { Deadlines } from "../platform/deadlines.ts";
import { SLOW_MS } from "./answer_text.ts";
import { mountArgoUi, servedPath, servedTarget } from "./argo_ui.ts";
import { BodyLedger } from "./body_ledger.ts";
import type { AppDeps } from "./deps.ts";
import { mountDescription } from "./api_description.ts";
import { wrapRoutes } from "./every_request.ts";
import { paramsReader, routerPaths } from "./path_params.ts";
import { mountProbes } from "./probes.ts";
import { asProblem, noSuchRoute, problemResponse } from "./problems.ts";
import { rawTarget } from "./request_path.ts";
import { requestMetrics } from "./request_metrics.ts";
import type { Route } from "./route.ts";
import { logDefect, type RouteApp, type RouteContext, serveRoute } from "./serve_route.ts";

export interface App {
  fetch(request: Request, server: unknown): Promise<Response>;
  /** Every method and path that the router knows, in its own notation. */
  mounted: readonly { method: string; path: string }[];
}

/** Creates the application with these routes. */
export function createApp(deps: AppDeps, routes: readonly Route[]): App {
  const hasPages = deps.argoUiDir !== undefined;
  const app: RouteApp = new Hono(hasPages ? { getPath: servedPath } : {});
  mountProbes(app, deps);
  mountDescription(app, routes, deps.service.settings.build.version);
  if (deps.argoUiDir !== undefined) mountArgoUi(app, deps.argoUiDir);
  deps.pages?.(app);
  mountRoutes(app, deps, routes);
  refuseOtherMethods(app, routes);
  app.notFound((c) => {
    const { path } = c.env.target;
    if (path.startsWith("/api/")) return problemResponse(noSuchRoute());
    return c.json({ code: 5, message: "Not Found" }, 404);
  });
  app.onError((error, c) => {
    logDefect(error, deps, c);
    return problemResponse(asProblem(error));
  });
  const handle = wrapRoutes({
    ids: deps.service.ids,
    rateLimiter: deps.rateLimiter,
    origin: deps.origin,
    targetOf: hasPages ? servedTarget : rawTarget,
    fetch: (request, env) => app.fetch(request, env),
  });
  return { fetch: handle, mounted: app.routes.map(({ method, path }) => ({ method, path })) };
}

function mountRoutes(app: RouteApp, deps: AppDeps, routes: readonly Route[]): void {
  const { service, maxBodiesBytes, maxBodyBytes, bodyTimeoutMs } = deps;
  const waits = new Deadlines(service.clock, bodyTimeoutMs);
  const reads = new Deadlines(service.clock, SLOW_MS);
  const { maxEventBytes } = service.settings;
  const ledger = new BodyLedger({ maxBytes: maxBodiesBytes, maxBodyBytes, maxEventBytes });
  for (const route of routes) {
    const measure = requestMetrics(deps, route);
    const served = { route, paramsOf: paramsReader(route.path), deps, waits, reads, ledger };
    const handler = (c: RouteContext) => measure(c.env, c.req.raw, () => serveRoute(served, c));
    for (const path of routerPaths(route.path)) app.on(route.method, path, handler);
  }
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
