/** What all parts of one server share. */
import type { Config } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Traces } from "../platform/traces/span.ts";
import type { Seat } from "../processes/seat.ts";
import type { Naming } from "../spec/naming.ts";
import type { ReadSettings } from "./setting.ts";

export interface ServerContext {
  config: Config;
  /** Those of `config` that another layer reads. */
  settings: ReadSettings;
  log: Logger;
  metrics: Metrics;
  /** Where it listens, as a URL without a slash at the end. */
  address: string;
  /** Name of this process, unlike that of any other replica. */
  replica: string;
  /** Aborts when the server begins to stop. */
  closing: AbortSignal;
  /** Takes spans. Undefined: nothing is traced. */
  traces: Traces | undefined;
  /** Where several processes serve one port: the place of this one. */
  seat: Seat | undefined;
}

/** What the deployment calls its labels and kinds. */
export function namingOf({ labelPrefix, apiGroup }: Config): Naming {
  return { labelPrefix, apiGroup };
}

/** The parts of a text between commas. */
export function listOf(text: string): string[] {
  return text.split(",").map((one) => one.trim()).filter((one) => one !== "");
}
