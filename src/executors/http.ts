/**
 * The executor of http templates: the replica itself sends the request. It reaches whatever the replica reaches, so limit
 * that by the network where users aren't trusted. A request is sent again when the replica dies before its answer is
 * stored; it carries the task's id as `Idempotency-Key`, so that a server can tell.
 */
import type { Json } from "../base/json.ts";
import type { ConfigSource } from "../artifacts/config_source.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { HttpTemplate } from "../spec/manifest.ts";
import { MAX_PARAMETER_BYTES } from "./capture.ts";
import { canonicalName, sendHttp } from "../platform/http_request.ts";
import type { HttpAnswer } from "../platform/http_request.ts";
import { ReplicaExecutor } from "./replica_executor.ts";

/** Truth of an expression over an environment; throws with a text when it has none. */
export type EvaluateCondition = (expression: string, env: Record<string, Json>) => boolean;

export interface HttpExecutorOptions {
  config: ConfigSource;
  clock: Clock;
  evaluate: EvaluateCondition;
  /** @default {256} Requests under way at once; more wait. */
  maxRunning?: number;
}

/**
 * From the look-up of the server's name to the last byte of its answer, redirects included. The reference documents it, but
 * waits for ever.
 */
const DEFAULT_TIMEOUT_SECONDS = 30;

/** A request that could not be made or had no answer, with the text for the node. */
class HttpFault extends Error {}

export class HttpExecutor extends ReplicaExecutor {
  readonly name = "http";
  protected readonly taskKind = "an HTTP request";
  readonly #options: HttpExecutorOptions;
  /** By namespace: one whose servers never answer holds three quarters of them at most. */
  readonly #turns: FairLimiter;

  constructor(options: HttpExecutorOptions) {
    super(options.clock);
    this.#options = options;
    this.#turns = new FairLimiter(options.maxRunning ?? 256);
  }

  refuses(task: TaskSpec): string | undefined {
    return task.template.http === undefined
      ? "The http executor runs http templates only"
      : undefined;
  }

  isTied(): boolean {
    return true;
  }

  protected async run(task: TaskSpec, signal: AbortSignal): Promise<TaskOutcome> {
    try {
      return await this.#turns.run(
        task.namespace,
        () => this.#request(task, task.template.http ?? {}, signal),
        signal,
      );
    } catch (error) {
      if (signal.aborted || !(error instanceof HttpFault)) throw error;
      return { phase: "Failed", message: error.message };
    }
  }

  async #request(
    task: TaskSpec,
    http: HttpTemplate,
    signal: AbortSignal,
  ): Promise<TaskOutcome> {
    const method = (http.method ?? "") === "" ? "GET" : (http.method ?? "").toUpperCase();
    const url = http.url ?? "";
    if (!URL.canParse(url)) {
      return { phase: "Failed", message: `${titled(method)} "${url}": not a URL` };
    }
    const headers = await this.#headers(task, http);
    const bytes = http.bodyFrom?.bytes;
    const body = bytes === undefined ? http.body ?? "" : Buffer.from(bytes, "base64");
    const given = http.timeoutSeconds ?? 0;
    const seconds = given > 0 ? given : DEFAULT_TIMEOUT_SECONDS;
    const timeout = new AbortController();
    const cancelTimeout = this.clock.after(seconds * 1000, () => timeout.abort());
    const answer = await sendHttp({
      method,
      url,
      headers,
      body: body.length === 0 ? undefined : Buffer.from(body),
      insecureSkipVerify: http.insecureSkipVerify === true,
      maxBytes: MAX_PARAMETER_BYTES,
      signal: AbortSignal.any([signal, timeout.signal]),
    }).catch((error) => {
      const reason = timeout.signal.aborted
        ? `no answer within ${seconds} seconds`
        : messageOf(error);
      throw new HttpFault(`${titled(method)} "${url}": ${reason}`);
    }).finally(cancelTimeout);
    return this.#judge(http, answer, {
      method,
      url,
      body: body.toString(),
      headers: listed(headers),
    });
  }

  #judge(http: HttpTemplate, answer: HttpAnswer, request: Record<string, Json>): TaskOutcome {
    const outputs = { result: answer.body };
    const { successCondition = "" } = http;
    if (successCondition === "") {
      if (answer.status >= 200 && answer.status < 300) return { phase: "Succeeded", outputs };
      return {
        phase: "Failed",
        message: `received non-2xx response code: ${answer.status}`,
        outputs,
      };
    }
    const response = { statusCode: answer.status, body: answer.body, headers: answer.headers };
    try {
      if (this.#options.evaluate(successCondition, { request, response })) {
        return { phase: "Succeeded", outputs };
      }
    } catch (error) {
      return { phase: "Error", message: messageOf(error), outputs };
    }
    return {
      phase: "Failed",
      message: `successCondition '${successCondition}' evaluated false`,
      outputs,
    };
  }

  async #headers(task: TaskSpec, http: HttpTemplate): Promise<[string, string][]> {
    const headers: [string, string][] = [];
    for (const { name, value = "", valueFrom } of http.headers ?? []) {
      const reference = valueFrom?.secretKeyRef;
      if (reference === undefined) {
        headers.push([name, value]);
        continue;
      }
      const secret = await this.#options.config.secret(task.namespace, reference.name ?? "");
      const found = secret?.[reference.key];
      if (found === undefined) {
        throw new HttpFault(
          `Secret "${
            reference.name ?? ""
          }" in namespace ${task.namespace} has no key "${reference.key}" for header ${name}`,
        );
      }
      headers.push([name, found]);
    }
    if (!headers.some(([name]) => name.toLowerCase() === "idempotency-key")) {
      headers.push(["Idempotency-Key", task.id]);
    }
    return headers;
  }
}

/** The request's headers as an expression sees them. */
function listed(headers: readonly [string, string][]): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const [name, value] of headers) (all[canonicalName(name)] ??= []).push(value);
  return all;
}

function titled(method: string): string {
  return method.charAt(0).toUpperCase() + method.slice(1).toLowerCase();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
