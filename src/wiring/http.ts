/** Puts together what answers requests: the API, and the calls of pods. */
import { hostname } from "node:os";
import { createApp } from "../http/app.ts";
import { createOriginRule, type HostRule } from "../http/origin.ts";
import { createRateLimiter } from "../http/rate_limit.ts";
import { ROUTES } from "../http/routes/all.ts";
import { mountCallbackPages } from "../http/routes/callback_pages.ts";
import { type Config, isLoopback } from "../platform/config.ts";
import type { FetchHandler } from "../platform/serve.ts";
import type { ServiceDeps } from "../service/deps.ts";
import { createAssetSource } from "../ui/assets.ts";
import { mountPages } from "../ui/pages.ts";
import type { Access } from "./access.ts";
import { listOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** What pods call; they prove themselves by a token of their task. */
const TASK_PATH = "/api/v1/tasks/";

/** @param callback answers the calls of pods; absent where no pods run */
export function createHandler(
  { config, settings, log, metrics, closing, seat }: ServerContext,
  { store, clock, writesRefused }: Storage,
  { service, access: { gatekeeper, takesTokens, sso }, callback }: {
    service: ServiceDeps;
    access: Access;
    callback: ((request: Request) => Promise<Response>) | undefined;
  },
): FetchHandler {
  const assets = createAssetSource(log);
  seat?.showMetrics(() => metrics.render());
  const app = createApp({
    service,
    gatekeeper,
    metrics,
    maxBodyBytes: config.maxBodyBytes,
    maxBodiesBytes: config.maxBodiesBytes,
    maxBodyMembers: config.maxBodyMembers,
    maxUploadBytes: config.maxUploadBytes,
    bodyTimeoutMs: config.bodyTimeout,
    origin: createOriginRule({
      allowed: settings.origins,
      hosts: allowedHosts(config),
    }),
    ready: () => store.ping(),
    writesRefused,
    closing,
    ...(config.apiRateLimit !== 0 &&
      { rateLimiter: createRateLimiter(config.apiRateLimit, clock) }),
    ...(seat !== undefined &&
      { seat: { process: seat.number, metricsPage: () => seat.metricsPage() } }),
    ...(config.argoUiDir !== "" && { argoUiDir: config.argoUiDir }),
    pages: (app) => {
      mountCallbackPages(app, service);
      return mountPages(app, { assets, gatekeeper, takesTokens, sso, log });
    },
  }, ROUTES);
  return (request, info) =>
    callback !== undefined && new URL(request.url).pathname.startsWith(TASK_PATH)
      ? callback(request)
      : app.fetch(request, info as object);
}

/** By which names the server may be called; undefined: by any, because callers must prove who they are. */
function allowedHosts(config: Config): HostRule | undefined {
  if (isLoopback(config.host)) return "local";
  if (!config.authMode.includes("server")) return undefined;
  return [hostname(), ...listOf(config.allowedHosts)];
}
