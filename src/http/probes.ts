/** Probes: is the server alive, can it work, how is it doing. */
import { credentialsOf } from "../auth/credentials.ts";
import { openMetrics, prefersOpenMetrics, withoutExemplars } from "../base/openmetrics.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import type { AppDeps } from "./deps.ts";
import { asProblem, problemResponse } from "./problems.ts";
import type { RouteApp } from "./serve_route.ts";

/** Adds `/healthz`, `/readyz` and `/metrics`. */
export function mountProbes(app: RouteApp, deps: AppDeps): void {
  const who = deps.seat === undefined ? {} : { process: deps.seat.process };
  app.get("/healthz", (c) => c.json({ status: "ok", ...who }));
  app.get("/readyz", async (c) => {
    try {
      if (deps.closing.aborted) throw unavailable("the server is stopping");
      await deps.ready();
      // While writes are refused, reads go on. Requests still belong here, because every replica has the same store.
      const refused = deps.writesRefused?.();
      const trouble = deps.service.history?.trouble();
      return c.json({
        status: "ok",
        ...who,
        ...(refused !== undefined && { writes: `refused: ${refused}` }),
        // Without its archive, the server does everything else.
        ...(trouble !== undefined && { archive: `away: ${trouble}` }),
      });
    } catch (error) {
      return c.json({ status: "not ready", ...who, reason: asProblem(error).message }, 503);
    }
  });
  app.get("/metrics", async (c) => {
    try {
      await deps.gatekeeper(credentialsOf(c.req.raw.headers));
    } catch (error) {
      return metricsRefusal(asProblem(error));
    }
    const page = await deps.seat?.metricsPage() ?? deps.metrics.render();
    if (prefersOpenMetrics(c.req.raw.headers.get("accept"))) {
      return c.text(openMetrics(page), 200, {
        "content-type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
      });
    }
    // Without traces there are none.
    const plain = deps.service.traces === undefined ? page : withoutExemplars(page);
    return c.text(plain, 200, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
    });
  });
}

/** As the reference refuses it: 403 where other paths answer 401. A cluster that can't be asked now is no refusal. */
function metricsRefusal(problem: Problem): Response {
  return problemResponse(
    problem.status === 401 ? new Problem(ProblemCode.PermissionDenied, problem.message) : problem,
  );
}
