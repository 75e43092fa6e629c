/** Opens what takes spans, if the variables of OpenTelemetry ask for it. */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { errorText } from "../../base/error_text.ts";
import { VERSION } from "../../base/version.ts";
import { addFields, type Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { traceFields } from "./log_fields.ts";
import type { SdkOptions } from "./sdk.ts";
import { type Env, traceSettings } from "./settings.ts";
import { SpanQueue } from "./span_queue.ts";
import type { NotedTrace, Traces } from "./span.ts";

/** Longest wait for the collector at the end, ms. */
const CLOSE_MS = 3_000;
/** Names whose trace is known to log lines. */
const MAX_NOTED = 20_000;
/** How long it is quiet about lost spans after it has said so, ms. */
const QUIET_MS = 60_000;

export interface OpenTracesOptions {
  env: Env;
  /** Attributes also show what users have written into parameters and messages. */
  showsValues: boolean;
  /** Name of this process. */
  instance: string;
  log: Logger;
  metrics: Metrics;
}

/** Spans that are sent, and what is noted of traces; undefined where no traces are wanted. */
export async function openTraces(options: OpenTracesOptions): Promise<Traces | undefined> {
  const { env, showsValues, instance, log, metrics } = options;
  const settings = traceSettings(env);
  if (settings === undefined) return undefined;
  const { onExported, onDropped } = lossReporter(metrics, log);
  // Only now: without traces nothing of it is loaded.
  const { openSdk } = await import("./sdk.ts");
  const sdk = await openSdk({
    settings,
    version: VERSION,
    instance,
    onExported,
    onDropped,
  });
  const queue = new SpanQueue({
    max: settings.maxQueueSize,
    send: (record) => sdk.send(record),
    onFull: (spans) => onDropped(spans, "queue_full"),
  });
  const noted = new BoundedCache<string, NotedTrace>(MAX_NOTED);
  const traces: Traces = {
    showsValues,
    delayMs: settings.scheduleDelayMs,
    isSampled: (traceId, parent) => sdk.isSampled(traceId, parent),
    emit: (spans) => queue.add(spans),
    note: (names, trace) => {
      for (const name of names) noted.set(name, trace);
    },
    find: (name) => noted.get(name),
    async close() {
      queue.drain();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, CLOSE_MS));
      // What can't be sent has been counted.
      await Promise.race([sdk.close().catch(() => {}), late]);
      clearTimeout(timer);
      endFields();
    },
  };
  const endFields = addFields(traceFields(traces));
  return traces;
}

/** Counts spans, and says in the log, now and then, that some are lost. */
function lossReporter(metrics: Metrics, log: Logger): Pick<SdkOptions, "onExported" | "onDropped"> {
  const exported = metrics.counter(
    "sluice_trace_spans_exported_total",
    "Spans sent to a collector",
  );
  const dropped = metrics.counter(
    "sluice_trace_spans_dropped_total",
    "Spans lost: the queue was full, or the collector did not take them",
  );
  const byReason = {
    queue_full: { reason: "queue_full" },
    export_failed: { reason: "export_failed" },
  };
  for (const labels of Object.values(byReason)) dropped.inc(labels, 0);
  exported.inc(undefined, 0);
  // Each by itself: a collector that refuses spans soon fills the queue too, and the cause must not stay unsaid.
  const quietUntil = { queue_full: 0, export_failed: 0 };
  return {
    onExported: (spans) => exported.inc(undefined, spans),
    onDropped(spans, reason, cause) {
      dropped.inc(byReason[reason], spans);
      const now = performance.now();
      if (now < quietUntil[reason]) return;
      quietUntil[reason] = now + QUIET_MS;
      log.warn(
        { reason, spans, ...(cause !== undefined && { cause: exportFault(cause) }) },
        "spans are lost; sluice_trace_spans_dropped_total counts them",
      );
    },
  };
}

/** What went wrong, with the status of an answer: nobody can repair what the log does not name. */
function exportFault(cause: unknown): string {
  const { code } = cause as { code?: unknown };
  const text = errorText(cause);
  return code === undefined || text.includes(String(code)) ? text : `${text} (${String(code)})`;
}
