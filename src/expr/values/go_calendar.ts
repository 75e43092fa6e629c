/** The proleptic Gregorian calendar: seconds since 1970 to year, month, day and back. */

import { GoTime, type GoZone } from "./values.ts";

/** Full names of the months, January first. */
export const MONTHS: readonly string[] = [
  ...["January", "February", "March", "April", "May", "June", "July", "August", "September"],
  ...["October", "November", "December"],
];
/** Full names of the weekdays, Sunday first. */
export const WEEKDAYS: readonly string[] = [
  ...["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
];

/** A moment as a calendar and a clock show it. */
export interface Civil {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** From 1. */
  readonly yearDay: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

const DAY = 86_400;

/** Days of a month. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days from 1970-01-01 to a date; month and day may be out of range. */
function daysFromCivil(year: number, month: number, day: number): number {
  const years = year + Math.floor((month - 1) / 12);
  const monthIndex = (((month - 1) % 12) + 12) % 12;
  // In years that begin in March, the leap day is the last one.
  const y = monthIndex < 2 ? years - 1 : years;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * ((monthIndex + 10) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) +
    dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The calendar fields of a moment to which its zone's offset was already added. */
export function civilOf(localSeconds: number): Civil {
  const days = Math.floor(localSeconds / DAY);
  const rest = localSeconds - days * DAY;
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra -
    (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return {
    year,
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
    hour: Math.floor(rest / 3_600),
    minute: Math.floor(rest / 60) % 60,
    second: rest % 60,
    yearDay: days - daysFromCivil(year, 1, 1) + 1,
    weekday: (((days + 4) % 7) + 7) % 7,
  };
}

/** The fields of a moment; they may be out of range and carry over. */
export interface CivilInput {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** The moment at which a clock in the zone shows these fields. */
export function timeFromCivil(input: CivilInput, nanos: number, zone: GoZone): GoTime {
  const local = daysFromCivil(input.year, input.month, input.day) * DAY + input.hour * 3_600 +
    input.minute * 60 + input.second;
  // Two guesses find the right side of a change of offset. For a time that clocks skip the second one counts, as in Go.
  const guess = local - zone.at(local).offset;
  const seconds = local - zone.at(guess).offset;
  return new GoTime(seconds, nanos, zone);
}

/** The calendar fields of a time in its own zone. */
export function civilOfTime(time: GoTime): Civil {
  return civilOf(time.seconds + time.zone.at(time.seconds).offset);
}
