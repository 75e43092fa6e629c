import { expect, test } from "vitest";
import { parseConfig } from "../platform/config.ts";
import { createLogger } from "../platform/log.ts";
import { shutDown } from "./shut_down.ts";
import type { System } from "./system.ts";

const DRAIN_MS = 400;
const never = () => new Promise<never>(() => {});

test("whatever never ends, the server has stopped when its time is over", async () => {
  const closing = new AbortController();
  let isHalted = false;
  const system = {
    closing,
    events: { stop: never },
    cron: { stop: never },
    host: { drain: never, halt: () => void (isHalted = true) },
    service: { watches: { close() {} } },
    executor: { close: never },
    store: { close: never },
  } as unknown as System;
  const server = {
    hostname: "",
    port: 0,
    close: (graceMs: number) => new Promise<void>((resolve) => setTimeout(resolve, graceMs)),
  };
  const startedAt = performance.now();
  await shutDown(
    system,
    server,
    parseConfig([`--drain-timeout=${DRAIN_MS}ms`], {}),
    createLogger("silent"),
  );
  const tookMs = performance.now() - startedAt;
  expect([closing.signal.aborted, isHalted]).toEqual([true, true]);
  // Timers are late on a busy machine, and at most a tenth of a second early.
  expect(tookMs).toBeGreaterThan(DRAIN_MS - 100);
  expect(tookMs).toBeLessThan(DRAIN_MS + 1_000);
});
