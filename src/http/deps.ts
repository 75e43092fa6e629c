/** What the HTTP application gets: the service, authentication and bounds. */
import type { Context, Hono } from "hono";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { ServiceDeps } from "../service/deps.ts";
import type { RequestEnv } from "./every_request.ts";
import type { OriginRule } from "./origin.ts";
import type { RateLimiter } from "./rate_limit.ts";

/** Answers with a page that says that there is none. */
export type MissingPage = (c: Context<{ Bindings: RequestEnv }>) => Promise<Response>;

export interface AppDeps {
  service: ServiceDeps;
  gatekeeper: Gatekeeper;
  metrics: Metrics;
  /** Largest request body, bytes; events have a limit of their own. */
  maxBodyBytes: number;
  /** Most bytes of all bodies that are held at a time. */
  maxBodiesBytes: number;
  /** Most members of a body, see `readFirstJson`. */
  maxBodyMembers: number;
  /** Largest file that can be uploaded as an artifact, bytes. */
  maxUploadBytes: number;
  /** How long a body may take to arrive; for an upload, its longest silence. */
  bodyTimeoutMs: number;
  /** Which web pages may call. */
  origin: OriginRule;
  /** Rejects with the reason when the server can't do its work now. */
  ready: () => Promise<void>;
  /** Why the store refuses writes now; undefined while it takes them. */
  writesRefused?: () => string | undefined;
  /** Aborts when the server is about to stop, so that open streams are closed properly. */
  closing: AbortSignal;
  /** Absent: requests are not limited. */
  rateLimiter?: RateLimiter;
  /** The number of this process among those that share the port, and the metrics of all of them. Absent: it is alone. */
  seat?: { process: number; metricsPage: () => Promise<string> };
  /** Folder with built pages of the reference. Absent: there are none. */
  argoUiDir?: string;
  /** Adds the pages, and gives that for people who open an address where nothing is. Absent: there are none. */
  pages?: (app: Hono<{ Bindings: RequestEnv }>) => MissingPage;
}
