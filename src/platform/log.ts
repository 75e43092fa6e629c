/** Logging: JSON lines, or readable ones on a terminal. Whatever may hold a secret is masked before it is written. */
import process from "node:process";
import { pino } from "pino";
import { PinoPretty } from "pino-pretty";
import type { DestinationStream, Logger, LoggerOptions, SerializedError } from "pino";
import { withoutCallbackTokens } from "../base/callback_tokens.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { systemClock } from "./clock.ts";
import { openStdout } from "./log_destination.ts";
import type { LogLevel } from "./log_level.ts";
import { Seldom } from "./seldom.ts";

export type { Logger };

/** Names of fields that never reach a log line, up to three levels deep. */
const SECRET_FIELDS = [
  "authorization",
  "Authorization",
  "cookie",
  "token",
  "accessToken",
  "password",
  "secret",
  "data",
  "stringData",
  "headers",
];

/**
 * What a line says that tells of something that can't be reached; undefined for any other line. While that lasts, everybody
 * who needs it says so with every try.
 */
function unreachable([fields, message]: readonly unknown[]): string | undefined {
  if (typeof fields !== "object" || fields === null || !("err" in fields)) return undefined;
  const { err } = fields;
  if (!(err instanceof Problem)) return undefined;
  if (err.code !== ProblemCode.Unavailable && err.code !== ProblemCode.DeadlineExceeded) {
    return undefined;
  }
  // Whoever noticed it: every shard and worker does.
  return JSON.stringify([message, err.message]);
}

/**
 * An error as a line shows it: with its stack if it is a defect of the program. What a problem or the machine says is for
 * whoever operates the server, to whom the place in the program tells nothing.
 */
function shownError(err: Error): unknown {
  if (!(err instanceof Error)) return err;
  const shown = pino.stdSerializers.errWithCause(err);
  const isDefect = err instanceof Problem ? err.code === ProblemCode.Internal : !("syscall" in err);
  return isDefect ? shown : withoutStack(shown);
}

function withoutStack({ stack: _, cause, ...rest }: Partial<SerializedError>): object {
  if (cause === undefined) return rest;
  return { ...rest, cause: typeof cause === "object" && cause ? withoutStack(cause) : cause };
}

/** Gives more fields for a line with these, such as the trace of what it is about; undefined: there are none. */
export type MoreFields = (fields: object) => object | undefined;

const more = new Set<MoreFields>();

/** Adds fields to the lines of all loggers. @returns ends it */
export function addFields(give: MoreFields): () => void {
  more.add(give);
  return () => void more.delete(give);
}

/** Whoever looks for a fault in the program sees where each error comes from. */
function showsStacks(level: LogLevel): boolean {
  return level === "debug" || level === "trace";
}

/** Makes the root logger. `destination` is stdout unless a test wants to read along. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const seldom = new Seldom(systemClock);
  const options: LoggerOptions = {
    level,
    hooks: {
      logMethod(args, method) {
        const trouble = unreachable(args);
        const passedOver = trouble === undefined ? 0 : seldom.ask(trouble);
        if (passedOver === undefined) return;
        if (passedOver > 0) Object.assign(args, [{ ...args[0] as object, passedOver }]);
        for (const give of more) {
          const found = typeof args[0] === "object" && args[0] !== null && give(args[0]);
          if (found) Object.assign(args, [{ ...args[0] as object, ...found }]);
        }
        method.apply(this, args);
      },
      streamWrite: withoutCallbackTokens,
    },
    base: null,
    redact: {
      paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: "[hidden]",
    },
    // Pino's other serializer repeats the cause's text in the message, where a Problem has it already.
    serializers: { err: showsStacks(level) ? pino.stdSerializers.errWithCause : shownError },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (destination) return pino(options, destination);
  if (!process.stdout.isTTY) return pino(options, openStdout());
  return pino(
    { ...options, formatters: {} },
    PinoPretty({ colorize: true, translateTime: "HH:MM:ss.l", sync: true }),
  );
}

/** Resolves when what was logged is written, at the latest after a second. */
export function flushLog(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()));
}
