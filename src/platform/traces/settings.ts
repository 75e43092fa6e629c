/** Whether traces are wanted, by the standard variables of OpenTelemetry. Its packages read the others themselves. */

export type Env = Readonly<Record<string, string | undefined>>;

/** What this program must know of the variables; the exporter reads addresses, headers and times by itself. */
export interface TraceSettings {
  protocol: Protocol;
  sampler: SamplerName;
  /** Share of the traces that a sampler with a ratio takes, 0 to 1. */
  ratio: number;
  /** Most spans that wait to be sent. */
  maxQueueSize: number;
  /** How long a span waits for others before it is sent, ms. */
  scheduleDelayMs: number;
}

const PROTOCOLS = ["http/protobuf", "http/json"] as const;
export type Protocol = typeof PROTOCOLS[number];

const SAMPLERS = [
  ...["always_on", "always_off", "traceidratio"] as const,
  ...["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] as const,
];
export type SamplerName = typeof SAMPLERS[number];

/** Each of these asks for traces. */
const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOL_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/**
 * What the variables ask for; undefined: no traces.
 * @param problems gets a line for each variable whose value can't be used
 */
export function traceSettings(env: Env, problems: string[] = []): TraceSettings | undefined {
  if (textOf(env, "OTEL_SDK_DISABLED").toLowerCase() === "true") return undefined;
  const exporter = textOf(env, "OTEL_TRACES_EXPORTER");
  if (exporter === "none") return undefined;
  if (exporter === "" && ENDPOINTS.every((name) => textOf(env, name) === "")) return undefined;
  if (exporter !== "" && exporter !== "otlp") {
    problems.push(`OTEL_TRACES_EXPORTER is "${exporter}", expected otlp or none`);
  }
  for (const name of ENDPOINTS) {
    const url = textOf(env, name);
    // Not repeated: it may hold a password.
    if (url !== "" && !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
      problems.push(`${name} is not an address, expected http://HOST:PORT or https://HOST:PORT`);
    }
  }
  const protocolName = PROTOCOL_VARIABLES.find((name) => textOf(env, name) !== "") ?? "";
  return {
    protocol: choice(env, protocolName, PROTOCOLS, "http/protobuf", problems),
    sampler: choice(env, "OTEL_TRACES_SAMPLER", SAMPLERS, "parentbased_always_on", problems),
    ratio: number(env, "OTEL_TRACES_SAMPLER_ARG", [0, 1], 1, problems),
    maxQueueSize: number(env, "OTEL_BSP_MAX_QUEUE_SIZE", [1, 1_000_000], 2_048, problems),
    scheduleDelayMs: number(env, "OTEL_BSP_SCHEDULE_DELAY", [0, 600_000], 5_000, problems),
  };
}

/** A variable that is empty counts as absent, as the standard says. */
function textOf(env: Env, name: string): string {
  return (env[name] ?? "").trim();
}

function choice<T extends string>(
  env: Env,
  name: string,
  choices: readonly T[],
  byDefault: T,
  problems: string[],
): T {
  const text = textOf(env, name);
  if (text === "") return byDefault;
  const found = choices.find((one) => one === text);
  if (found === undefined) {
    problems.push(`${name} is "${text}", expected ${choices.join(", ")}`);
  }
  return found ?? byDefault;
}

function number(
  env: Env,
  name: string,
  [min, max]: readonly [number, number],
  byDefault: number,
  problems: string[],
): number {
  const text = textOf(env, name);
  if (text === "") return byDefault;
  const value = Number(text);
  if (value >= min && value <= max) return value;
  problems.push(`${name} is "${text}", expected a number from ${min} to ${max}`);
  return byDefault;
}
