/**
 * Everything of OpenTelemetry that runs only where traces are wanted. Load it with `import()`: its packages take time and
 * memory to load. It registers nothing globally, so it leaves the telemetry of the runtime (Deno's with `OTEL_DENO`, or that
 * of a program in which the server is embedded) alone.
 */
import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import type { RemoteSpan } from "../../base/trace_context.ts";
import type { TraceSettings } from "./settings.ts";
import type { SpanRecord } from "./span.ts";

/** Longest value of an attribute, characters. */
const MAX_VALUE = 1_024;

export interface SdkOptions {
  settings: TraceSettings;
  /** Of this program. */
  version: string;
  /** Name of this process. */
  instance: string;
  onExported(spans: number): void;
  /** Hears of spans that are lost, and why; of a failed export also what went wrong. */
  onDropped(spans: number, reason: "queue_full" | "export_failed", cause?: unknown): void;
}

/** What makes spans and sends them. */
export interface Sdk {
  isSampled(traceId: string, parent: RemoteSpan | undefined): boolean;
  send(record: SpanRecord): void;
  /** Sends what waits, and stops. */
  close(): Promise<void>;
}

export async function openSdk(options: SdkOptions): Promise<Sdk> {
  const { settings, version, instance } = options;
  const sampler = samplerOf(settings);
  const ids = new GivenIds();
  const processor = new BoundedProcessor(await openExporter(settings), options);
  const ours = resourceFromAttributes({
    "service.name": "sluice",
    "service.version": version,
    "service.instance.id": instance,
  });
  const provider = new BasicTracerProvider({
    // What comes here is wanted.
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    resource: defaultResource().merge(ours).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE },
  });
  const tracer = provider.getTracer("sluice", version);
  return {
    isSampled: (traceId, parent) => isSampled(sampler, traceId, parent),
    send: (record) => send(tracer, ids, record),
    close: () => provider.shutdown(),
  };
}

/** Both speak OTLP over HTTP, and read the `OTEL_EXPORTER_OTLP_…` variables. */
async function openExporter({ protocol }: TraceSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } = protocol === "http/json"
    ? await import("@opentelemetry/exporter-trace-otlp-http")
    : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const root = sampler.endsWith("always_on")
    ? new AlwaysOnSampler()
    : sampler.endsWith("always_off")
    ? new AlwaysOffSampler()
    : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function isSampled(sampler: Sampler, traceId: string, parent: RemoteSpan | undefined): boolean {
  const context = parent === undefined ? ROOT_CONTEXT : contextOf(parent);
  const { decision } = sampler.shouldSample(context, traceId, "", SpanKind.INTERNAL, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function contextOf(span: RemoteSpan): Context {
  return trace.setSpanContext(ROOT_CONTEXT, spanContext(span));
}

function spanContext({ traceId, spanId, isSampled }: RemoteSpan) {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote: true };
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

function send(tracer: Tracer, ids: GivenIds, record: SpanRecord): void {
  const { parent, name, kind = "internal", attributes, links = [], error } = record;
  ids.next = record;
  const span = tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      startTime: record.start,
      attributes,
      links: links.map((link): Link => ({ context: spanContext(link) })),
    },
    parent === undefined ? ROOT_CONTEXT : contextOf(parent),
  );
  if (error !== undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.slice(0, MAX_VALUE) });
  }
  span.end(Math.max(record.start, record.end));
}

/** Gives each span the ids of its record. */
class GivenIds implements IdGenerator {
  next: Pick<SpanRecord, "traceId" | "spanId"> = { traceId: "", spanId: "" };

  generateTraceId(): string {
    return this.next.traceId;
  }

  generateSpanId(): string {
    return this.next.spanId;
  }
}

/**
 * Batches spans, and counts those that are lost. A collector that is slow or gone costs nothing more than its full queue, which
 * holds what waits and what is on its way.
 */
class BoundedProcessor implements SpanProcessor {
  readonly #inner: BatchSpanProcessor;
  readonly #options: SdkOptions;
  #waiting = 0;

  constructor(exporter: SpanExporter, options: SdkOptions) {
    this.#options = options;
    this.#inner = new BatchSpanProcessor({
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#waiting -= spans.length;
          if (result.code === 0) options.onExported(spans.length);
          else options.onDropped(spans.length, "export_failed", result.error);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush?.() }),
    } as SpanExporter);
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= this.#options.settings.maxQueueSize) {
      return this.#options.onDropped(1, "queue_full");
    }
    this.#waiting++;
    this.#inner.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }
}
