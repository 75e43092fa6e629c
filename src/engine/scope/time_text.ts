/** Times as the API and variables show them. */
import { BoundedCache } from "../../base/bounded_cache.ts";

// Texts of the last few seconds, and the last one: many nodes of a workflow have the same one.
const texts = new BoundedCache<number, string>(64);
let last = { second: NaN, text: "" };

/** RFC 3339 with seconds, in UTC. */
export function rfc3339(at: number): string {
  const second = Math.floor(at / 1000);
  if (second !== last.second) {
    const text = texts.get(second) ??
      texts.set(second, `${new Date(at).toISOString().slice(0, 19)}Z`);
    last = { second, text };
  }
  return last.text;
}

/** RFC 3339 with milliseconds, in UTC. */
export function rfc3339WithMs(at: number): string {
  return new Date(at).toISOString();
}

/** A time in UTC as Go prints it: `2024-01-01 00:00:05 +0000 UTC`. */
export function goTime(at: number): string {
  return `${rfc3339(at).replace("T", " ").replace("Z", "")} +0000 UTC`;
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July", "August"],
  ...["September", "October", "November", "December"],
];

/** Letters of the conversions below. */
export const STRFTIME_LETTERS = [..."BbmAadHIMSYypZzL"] as const;

/** One strftime conversion of a time in UTC, by its letter; undefined for an unknown letter. */
export function strftime(at: number, letter: string): string | undefined {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const hour = time.getUTCHours();
  switch (letter) {
    case "B":
      return MONTHS[time.getUTCMonth()];
    case "b":
      return MONTHS[time.getUTCMonth()]?.slice(0, 3);
    case "m":
      return two(time.getUTCMonth() + 1);
    case "A":
      return DAYS[time.getUTCDay()];
    case "a":
      return DAYS[time.getUTCDay()]?.slice(0, 3);
    case "d":
      return two(time.getUTCDate());
    case "H":
      return two(hour);
    case "I":
      return two(hour % 12 === 0 ? 12 : hour % 12);
    case "M":
      return two(time.getUTCMinutes());
    case "S":
      return two(time.getUTCSeconds());
    case "Y":
      return String(time.getUTCFullYear());
    case "y":
      return two(time.getUTCFullYear() % 100);
    case "p":
      return hour < 12 ? "AM" : "PM";
    case "Z":
      return "UTC";
    case "z":
      return "+0000";
    case "L":
      return `.${String(time.getUTCMilliseconds()).padStart(3, "0")}`;
    default:
      return undefined;
  }
}

/**
 * A wait in words, in its two largest units without what is left: `4 seconds`, `2 minutes 0 seconds`, `1 hour 1 minutes`. As in
 * the reference, the second unit is always in the plural.
 */
export function humanizeWait(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return plural(seconds, "second");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${plural(minutes, "minute")} ${seconds % 60} seconds`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${plural(hours, "hour")} ${minutes % 60} minutes`;
  return `${plural(Math.floor(hours / 24), "day")} ${hours % 24} hours`;
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
