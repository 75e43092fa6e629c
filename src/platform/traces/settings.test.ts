import { expect, test } from "vitest";
import { type Env, traceSettings } from "./settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

test.each<[string, Env]>([
  ["nothing says where to", {}],
  ["an endpoint that is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ["no exporter", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
  ["the SDK is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
])("traces are off: %s", (_, env) => {
  expect(traceSettings(env)).toBeUndefined();
});

test("an endpoint, or the exporter alone, turns traces on, with the standard's defaults", () => {
  const defaults = {
    protocol: "http/protobuf",
    sampler: "parentbased_always_on",
    ratio: 1,
    maxQueueSize: 2_048,
    scheduleDelayMs: 5_000,
  };
  expect(traceSettings(ENDPOINT)).toEqual(defaults);
  expect(traceSettings({ OTEL_TRACES_EXPORTER: "otlp" })).toEqual(defaults);
  expect(traceSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://a/b" })).toEqual(defaults);
});

test("the protocol of traces goes before that of everything", () => {
  const env = {
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
  };
  expect(traceSettings(env)?.protocol).toBe("http/json");
});

test("each value that can't be used is a problem that names its variable, and no address is repeated", () => {
  const problems: string[] = [];
  traceSettings({
    OTEL_TRACES_EXPORTER: "zipkin",
    OTEL_EXPORTER_OTLP_ENDPOINT: "user:secret@collector",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_TRACES_SAMPLER: "sometimes",
    OTEL_TRACES_SAMPLER_ARG: "2",
    OTEL_BSP_MAX_QUEUE_SIZE: "0",
    OTEL_BSP_SCHEDULE_DELAY: "soon",
  }, problems);
  expect(problems.map((problem) => problem.split(" ")[0])).toEqual([
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_SCHEDULE_DELAY",
  ]);
  expect(problems.join()).not.toContain("secret");
});
