/** Rules for when a cron workflow runs. */
import { goQuote } from "../../expr/values/go_quote.ts";
import { isTimeZone, parseSchedule } from "../cron_schedule.ts";
import type { CronWorkflowSpec } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

const CONCURRENCY_POLICIES = ["", "Allow", "Forbid", "Replace"];

/** @throws {SpecError} */
export function checkCronSpec(spec: CronWorkflowSpec): void {
  const schedules = spec.schedules ?? [];
  if (schedules.length === 0) {
    throw new SpecError("cron workflow must have at least one schedule");
  }
  for (const schedule of schedules) {
    try {
      parseSchedule(schedule);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new SpecError(`cron schedule ${schedule} is malformed: ${error.message}`);
    }
  }
  const zone = spec.timezone ?? "";
  if (!isTimeZone(zone)) {
    throw new SpecError(`invalid timezone ${goQuote(zone)}: unknown time zone ${zone}`);
  }
  const policy = spec.concurrencyPolicy ?? "";
  if (!CONCURRENCY_POLICIES.includes(policy)) {
    throw new SpecError(`'${policy}' is not a valid concurrencyPolicy`);
  }
  if ((spec.startingDeadlineSeconds ?? 0) < 0) {
    throw new SpecError("startingDeadlineSeconds must be positive");
  }
}
