/** What the pages of cron workflows show: state, schedules in words, due times, skipped runs. */
import {
  cronClock,
  type CronSchedule,
  nextDue,
  parseSchedule,
} from "../../../spec/cron_schedule.ts";
import { type CronSkip, skipsFrom } from "../../../spec/cron_skips.ts";
import type { CronWorkflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";
import { unreadableReason } from "./stored.ts";
import { durationText, manifestDuration } from "./times.ts";

export type CronState = "on" | "off" | "stopped" | "wrong";

/** What a cron workflow does at its next due time. */
export function stateOf({ metadata, spec, status }: CronWorkflow): CronState {
  if (unreadableReason(metadata) !== undefined) return "wrong";
  if (status?.phase === "Stopped") return "stopped";
  if (schedulesOf(spec?.schedules).some((one) => one === undefined)) return "wrong";
  if ((status?.conditions ?? []).some(({ type }) => type === "SpecError")) return "wrong";
  return spec?.suspend === true ? "off" : "on";
}

function schedulesOf(texts: readonly string[] = []): (CronSchedule | undefined)[] {
  return texts.map((text) => {
    try {
      return parseSchedule(text);
    } catch {
      return undefined;
    }
  });
}

export interface DueTimes {
  /** Epoch ms, in order. */
  times: number[];
  /** There are more before the end. */
  hasMore: boolean;
}

/** Due times after a time, whether or not it is switched on. @param most at most so many */
export function dueTimes(
  cron: CronWorkflow,
  after: number,
  { until = Infinity, most }: { until?: number; most: number },
): DueTimes {
  const clock = cronClock(cron);
  const next = schedulesOf(cron.spec?.schedules).map((schedule) => (from: number) => {
    try {
      return schedule && nextDue(schedule, from, clock);
    } catch {
      // There is no such time zone.
      return undefined;
    }
  });
  const times: number[] = [];
  let from = after;
  while (times.length <= most) {
    const due = next.flatMap((one) => one(from) ?? []).reduce((a, b) => Math.min(a, b), Infinity);
    if (due > until || due === Infinity) return { times, hasMore: false };
    times.push(due);
    from = due;
  }
  return { times: times.slice(0, most), hasMore: true };
}

const PREFIX = /^(?:TZ|CRON_TZ)=(\S*)\s*/;

/**
 * A schedule in words; as it is written if it cannot be read.
 * @param describe puts the five fields of a schedule, or a macro, into words
 */
export function scheduleWords(
  text: string,
  timezone: string | undefined,
  describe: (fields: string) => string,
): string {
  const zone = PREFIX.exec(text)?.[1] || timezone || "";
  const rest = text.replace(PREFIX, "");
  const every = rest.startsWith("@every ")
    ? manifestDuration(rest.slice("@every ".length).trim())
    : undefined;
  if (every !== undefined) return TEXTS.crons.every(durationText(every));
  let words: string;
  try {
    parseSchedule(text);
    words = describe(rest);
  } catch {
    return text;
  }
  return zone === "" ? words : TEXTS.crons.zone(words, zone);
}

/** Due times at which it did not run, newest first. */
export function skipsOf({ metadata }: CronWorkflow): CronSkip[] {
  const found = Object.entries(metadata.annotations ?? {})
    .find(([key]) => /^cronworkflows\..*\/skipped$/.test(key));
  return skipsFrom(found?.[1]);
}
