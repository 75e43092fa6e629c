/** Rules for when a cron workflow runs. */
import { goQuote } from "../../expr/values/go_quote.ts";
import { isTimeZone, MAX_SCHEDULES, parseSchedule } from "../cron_schedule.ts";
import type { CronWorkflowSpec } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

/** Most characters of a schedule that its refusal shows. */
const MAX_SHOWN = 200;
const CONCURRENCY_POLICIES = ["", "Allow", "Forbid", "Replace"];

/** @throws {SpecError} */
export function checkCronSpec(spec: CronWorkflowSpec): void {
  const schedules = spec.schedules ?? [];
  if (schedules.length === 0) {
    throw new SpecError("cron workflow must have at least one schedule");
  }
  if (schedules.length > MAX_SCHEDULES) {
    throw new SpecError(
      `spec.schedules has ${schedules.length} schedules, and may have ${MAX_SCHEDULES}: a schedule may list minutes, hours ` +
        "and days, as in 0,30 8-18 * * 1-5",
    );
  }
  for (const schedule of schedules) {
    try {
      parseSchedule(schedule);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const shown = schedule.length > MAX_SHOWN ? `${schedule.slice(0, MAX_SHOWN)}…` : schedule;
      throw new SpecError(`cron schedule ${shown} is malformed: ${error.message}`);
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
