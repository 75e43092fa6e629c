/** From the most talkative to none. */
export const LogLevel = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = typeof LogLevel[number];
