/** Times and lengths of time as people read them. */

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]] as const;

/** The two largest units: `1h2m`, `3m4s`, `5s`. */
export function span(ms: number): string {
  return units(ms).map(([count, unit]) => `${count}${unit[0]}`).join("") || "0s";
}

/** The two largest units in words: `1 hour 2 minutes`. */
export function spanWords(ms: number): string {
  return units(ms).map(counted).join(" ") || "0 seconds";
}

/** A time stamp in the time zone of this machine, and how long ago it was: `Sun Feb 01 10:00:00 +0000 (2 days ago)`. */
export function moment(stamp: string, now: number): string {
  const at = new Date(stamp);
  const [largest] = units(Math.abs(now - at.getTime()));
  const ago = largest === undefined
    ? "now"
    : `${counted(largest)} ${at.getTime() > now ? "from now" : "ago"}`;
  const two = (value: number) => String(value).padStart(2, "0");
  const offset = -at.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${
    two(Math.abs(offset) % 60)
  }`;
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const [weekday, month] = [
    at.toLocaleString("en", { weekday: "short" }),
    at.toLocaleString("en", { month: "short" }),
  ];
  return `${weekday} ${month} ${two(at.getDate())} ${clock} ${zone} (${ago})`;
}

/** How long ago a time stamp was; `-` if there is none. */
export function age(stamp: string | null | undefined, now: number): string {
  return stamp ? span(now - Date.parse(stamp)) : "-";
}

/** Milliseconds from start to end, or to `now` while it runs; undefined before the start. */
export function durationMs(
  part: { startedAt: string | null; finishedAt: string | null } | undefined,
  now: number,
): number | undefined {
  if (!part?.startedAt) return undefined;
  return (part.finishedAt ? Date.parse(part.finishedAt) : now) - Date.parse(part.startedAt);
}

type Count = [count: number, unit: string];

function units(ms: number): Count[] {
  let rest = Math.max(0, Math.floor(ms / 1000));
  const parts: Count[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 && parts.length < 2) parts.push([count, unit]);
    else if (parts.length > 0) break;
  }
  return parts;
}

function counted([count, unit]: Count): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
