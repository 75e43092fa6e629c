/**
 * The executor of http templates: the replica itself sends the request. It reaches whatever the replica reaches, so limit
 * that by the network where users aren't trusted. A request is sent again when the replica dies before its answer is
 * stored; it carries the task's id as `Idempotency-Key`, so that a server can tell.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { errorText } from "../../base/error_text.ts";
import type { Json } from "../../base/json.ts";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import type { HttpTemplate } from "../../spec/manifest.ts";
import { MAX_PARAMETER_BYTES } from "../capture.ts";
import type { HttpAnswer } from "../../platform/http_message.ts";
import { headersByName, sendHttp } from "../../platform/http_request.ts";
import { isPassing } from "../passing_trouble.ts";
import type { Report } from "../port.ts";
import { ReplicaExecutor, type Stop } from "../replica_executor.ts";

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
/** How long a Secret that can't be read now is not asked for, ms. */
const SECRET_WAIT_MS = 500;
/** Lengths of timeouts that share a timer. */
const TIMEOUT_LENGTHS = 100;

/** A request that could not be made or had no answer, with the text for the node. */
class HttpFault extends Error {}

export class HttpExecutor extends ReplicaExecutor {
  readonly name = "http";
  protected readonly taskKind = "an HTTP request";
  readonly #options: HttpExecutorOptions;
  /** By namespace: one whose servers never answer holds three quarters of them at most. */
  readonly #turns: FairLimiter;
  readonly #timeouts = new BoundedCache<number, Deadlines>(TIMEOUT_LENGTHS);

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

  protected async run(task: TaskSpec, stop: Stop, report: Report): Promise<TaskOutcome> {
    const read = (header: string, of: SecretKey) => this.#secret(task, header, of, stop, report);
    const http = task.template.http ?? {};
    const { url: given = "", timeoutSeconds = 0, insecureSkipVerify = false } = http;
    const method = (http.method || "GET").toUpperCase();
    const line = `${titled(method)} "${given}"`;
    const place = this.#turns.enter(task.namespace, stop.signal);
    if (place !== undefined) await place;
    let answered = () => {};
    try {
      const url = URL.parse(given);
      if (url === null) throw new HttpFault(`${line}: not a URL`);
      const headers: [string, string][] = [];
      for (const { name, value = "", valueFrom } of http.headers ?? []) {
        const from = valueFrom?.secretKeyRef;
        headers.push([name, from === undefined ? value : await read(name, from)]);
      }
      addOwnHeaders(headers, task);
      const bytes = http.bodyFrom?.bytes;
      const body = bytes === undefined ? http.body ?? "" : Buffer.from(bytes, "base64");
      const seconds = timeoutSeconds > 0 ? timeoutSeconds : DEFAULT_TIMEOUT_SECONDS;
      answered = this.#timeoutsOf(seconds).add(() =>
        stop.fail(`${line}: no answer within ${seconds} seconds`)
      );
      const sent = sendHttp({
        method,
        url,
        headers,
        body: body.length === 0 ? undefined : Buffer.from(body),
        insecureSkipVerify,
        maxBytes: MAX_PARAMETER_BYTES,
        signal: stop.signal,
      });
      const answer = await sent.catch((error) => {
        throw new HttpFault(`${line}: ${errorText(error)}`);
      });
      return this.#judge(http, answer, () => ({
        method,
        url: given,
        body: body.toString(),
        headers: headersByName(headers),
      }));
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      return { phase: "Failed", message: error.message };
    } finally {
      answered();
      this.#turns.leave(task.namespace);
    }
  }

  /** Timeouts of that length. */
  #timeoutsOf(seconds: number): Deadlines {
    return this.#timeouts.get(seconds) ??
      this.#timeouts.set(seconds, new Deadlines(this.clock, seconds * 1000));
  }

  /** @param seen the request as an expression sees it */
  #judge(http: HttpTemplate, answer: HttpAnswer, seen: () => Record<string, Json>): TaskOutcome {
    const { status: statusCode, body } = answer;
    const outputs = { result: body };
    const { successCondition = "" } = http;
    if (successCondition === "") {
      if (statusCode >= 200 && statusCode < 300) return { phase: "Succeeded", outputs };
      return {
        phase: "Failed",
        message: `received non-2xx response code: ${statusCode}`,
        outputs,
      };
    }
    const response = { statusCode, body, headers: headersByName(Object.entries(answer.headers)) };
    try {
      if (this.#options.evaluate(successCondition, { request: seen(), response })) {
        return { phase: "Succeeded", outputs };
      }
    } catch (error) {
      return { phase: "Error", message: errorText(error), outputs };
    }
    return {
      phase: "Failed",
      message: `successCondition '${successCondition}' evaluated false`,
      outputs,
    };
  }

  /** The value of a header that a Secret holds. Waits, and says so, while the store or the cluster can't tell. */
  async #secret(
    { id, namespace }: TaskSpec,
    header: string,
    { name = "", key }: SecretKey,
    { signal }: Stop,
    report: Report,
  ): Promise<string> {
    for (;;) {
      try {
        const found = (await this.#options.config.secret(namespace, name))?.[key];
        if (found !== undefined) return found;
        throw new HttpFault(
          `Secret "${name}" in namespace ${namespace} has no key "${key}" for header ${header}`,
        );
      } catch (error) {
        if (signal.aborted || !isPassing(error)) throw error;
        report({ type: "task-pending", task: id, message: errorText(error) });
      }
      await this.clock.sleep(SECRET_WAIT_MS, signal);
    }
  }
}

type SecretKey = { name?: string; key: string };

/** Adds the headers that each request has, where the template has none of that name. */
function addOwnHeaders(headers: [string, string][], task: TaskSpec): void {
  const has = (wanted: string) => headers.some(([name]) => name.toLowerCase() === wanted);
  if (!has("idempotency-key")) headers.push(["Idempotency-Key", task.id]);
  if (task.traceparent !== undefined && !has("traceparent")) {
    headers.push(["traceparent", task.traceparent]);
    if (task.tracestate !== undefined) headers.push(["tracestate", task.tracestate]);
  }
}

function titled(method: string): string {
  return method.charAt(0).toUpperCase() + method.slice(1).toLowerCase();
}
