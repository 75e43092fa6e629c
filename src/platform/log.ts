/** Logging: JSON lines, or readable ones on a terminal. Whatever may hold a secret is masked before it is written. */
import process from "node:process";
import { pino } from "pino";
import { PinoPretty } from "pino-pretty";
import type { DestinationStream, Logger } from "pino";
import { openStdout } from "./log_destination.ts";

export type { Logger };

export const LogLevel = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = typeof LogLevel[number];

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

/** Masks the password of a URL, for messages and logs. */
export function maskUrl(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@:]*):[^/]*@/i, "$1:***@");
}

/** Makes the root logger. `destination` is stdout unless a test wants to read along. */
export function createLogger(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    redact: {
      paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: "[hidden]",
    },
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
