/** Times as text and back, with Go's reference-time layouts (`2006-01-02 15:04:05`). */

import {
  type Civil,
  civilOf,
  daysInMonth,
  MONTHS,
  timeFromCivil,
  WEEKDAYS,
} from "./go_calendar.ts";
import { fault } from "./error.ts";
import { fixedZone, UTC } from "./go_zone.ts";
import type { GoTime, GoZone } from "./values.ts";

/** The elements of a layout, longest first where one begins with another. */
const ELEMENT = new RegExp(
  [
    "January",
    "Jan(?!uary)",
    "Monday",
    "Mon(?!day)",
    "MST",
    "2006",
    "[.,](?:0+|9+)(?!\\d)",
    "-07:00:00",
    "-07:00",
    "-070000",
    "-0700",
    "-07",
    "Z07:00:00",
    "Z07:00",
    "Z070000",
    "Z0700",
    "Z07",
    "__2",
    "002",
    "_2006",
    "_2",
    "0[1-6]",
    "15",
    "PM",
    "pm",
    "[1-5]",
  ].join("|"),
  "g",
);

type Piece = { readonly text: string; readonly isElement: boolean };

/** Splits a layout into elements and the text between. */
function piecesOf(layout: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  const add = (text: string, isElement: boolean) => {
    if (text !== "") pieces.push({ text, isElement });
  };
  for (const match of layout.matchAll(ELEMENT)) {
    let [element] = match;
    let { index } = match;
    // "_2006" is an underscore and a year; a month or weekday cut short by a small letter is not an element.
    if (element === "_2006") [element, index] = ["2006", index + 1];
    const isName = element === "Jan" || element === "Mon";
    if (isName && /^[a-z]/.test(layout.slice(index + 3))) continue;
    add(layout.slice(end, index), false);
    add(element, true);
    end = index + element.length;
  }
  add(layout.slice(end), false);
  return pieces;
}

const two = (n: number) => String(n).padStart(2, "0");

/** Writes a time in a layout. */
export function formatTime(time: GoTime, layout: string): string {
  const { offset, abbreviation } = time.zone.at(time.seconds);
  const civil = civilOf(time.seconds + offset);
  let out = "";
  for (const piece of piecesOf(layout)) {
    out += piece.isElement
      ? formatElement(piece.text, civil, time.nanos, offset, abbreviation)
      : piece.text;
  }
  return out;
}

function formatElement(
  element: string,
  civil: Civil,
  nanos: number,
  offset: number,
  abbreviation: string,
): string {
  const hour12 = civil.hour % 12 === 0 ? 12 : civil.hour % 12;
  switch (element) {
    case "2006":
      return yearText(civil.year);
    case "06":
      return two(((civil.year % 100) + 100) % 100);
    case "01":
      return two(civil.month);
    case "1":
      return String(civil.month);
    case "Jan":
      return (MONTHS[civil.month - 1] ?? "").slice(0, 3);
    case "January":
      return MONTHS[civil.month - 1] ?? "";
    case "02":
      return two(civil.day);
    case "2":
      return String(civil.day);
    case "_2":
      return String(civil.day).padStart(2);
    case "002":
      return String(civil.yearDay).padStart(3, "0");
    case "__2":
      return String(civil.yearDay).padStart(3);
    case "Mon":
      return (WEEKDAYS[civil.weekday] ?? "").slice(0, 3);
    case "Monday":
      return WEEKDAYS[civil.weekday] ?? "";
    case "15":
      return two(civil.hour);
    case "03":
      return two(hour12);
    case "3":
      return String(hour12);
    case "04":
      return two(civil.minute);
    case "4":
      return String(civil.minute);
    case "05":
      return two(civil.second);
    case "5":
      return String(civil.second);
    case "PM":
      return civil.hour >= 12 ? "PM" : "AM";
    case "pm":
      return civil.hour >= 12 ? "pm" : "am";
    case "MST":
      return abbreviation === "" ? zoneText("-0700", offset) : abbreviation;
    default:
      return /^[.,]/.test(element) ? fractionText(element, nanos) : zoneText(element, offset);
  }
}

function yearText(year: number): string {
  return year < 0 ? `-${String(-year).padStart(4, "0")}` : String(year).padStart(4, "0");
}

function fractionText(element: string, nanos: number): string {
  const digits = String(nanos).padStart(9, "0").slice(0, element.length - 1);
  const shown = element.includes("9") ? digits.replace(/0+$/, "") : digits;
  return shown === "" ? "" : element.charAt(0) + shown;
}

function zoneText(element: string, offset: number): string {
  if (element.startsWith("Z") && offset === 0) return "Z";
  const size = Math.abs(offset);
  const parts = [Math.floor(size / 3_600), Math.floor(size / 60) % 60, size % 60].map(two);
  const colon = element.includes(":") ? ":" : "";
  const digits = element.replace(/\D/g, "").length;
  return (offset < 0 ? "-" : "+") + parts.slice(0, digits / 2).join(colon);
}

/** A time as `%v` writes it. */
export function timeText(time: GoTime): string {
  return formatTime(time, "2006-01-02 15:04:05.999999999 -0700 MST");
}

/** What has been read of a time; -1 and undefined mean not given. */
interface Fields {
  year: number;
  month: number;
  day: number;
  yearDay: number;
  hour: number;
  minute: number;
  second: number;
  nanos: number;
  isPm: boolean | undefined;
  /** Seconds east. */
  offset: number | undefined;
  zoneName: string;
  isUtc: boolean;
}

/**
 * Reads a time in a layout.
 * @param zone where the text names no offset
 * @throws {Fault} `parsing time …`
 */
export function parseTime(layout: string, text: string, zone: GoZone = UTC): GoTime {
  return new TimeReader(layout, text, zone).read();
}

class TimeReader {
  readonly #layout: string;
  readonly #text: string;
  readonly #zone: GoZone;
  #rest: string;
  readonly #fields: Fields = {
    year: 0,
    month: -1,
    day: -1,
    yearDay: -1,
    hour: 0,
    minute: 0,
    second: 0,
    nanos: 0,
    isPm: undefined,
    offset: undefined,
    zoneName: "",
    isUtc: false,
  };

  constructor(layout: string, text: string, zone: GoZone) {
    this.#layout = layout;
    this.#text = text;
    this.#rest = text;
    this.#zone = zone;
  }

  read(): GoTime {
    const pieces = piecesOf(this.#layout);
    for (const [i, piece] of pieces.entries()) {
      if (!piece.isElement) this.#literal(piece.text);
      else {
        this.#element(piece.text);
        const isSecond = piece.text === "05" || piece.text === "5";
        if (isSecond && !/^[.,]/.test(pieces[i + 1]?.text ?? "")) this.#hiddenFraction();
      }
    }
    if (this.#rest !== "") this.#fail(`: extra text: ${JSON.stringify(this.#rest)}`);
    return this.#result();
  }

  #fail(tail: string): never {
    const as = tail.startsWith(":") ? "" : ` as ${JSON.stringify(this.#layout)}: `;
    return fault(`parsing time ${JSON.stringify(this.#text)}${as}${tail}`);
  }

  #mismatch(element: string): never {
    this.#fail(`cannot parse ${JSON.stringify(this.#rest)} as ${JSON.stringify(element)}`);
  }

  #outOfRange(what: string): never {
    this.#fail(`: ${what} out of range`);
  }

  /** Text between elements; a run of blanks may be of any length. */
  #literal(text: string): void {
    let i = 0;
    while (i < text.length) {
      if (text[i] === " ") {
        if (this.#rest !== "" && !this.#rest.startsWith(" ")) this.#mismatch(text.slice(i));
        while (text[i] === " ") i++;
        this.#rest = this.#rest.replace(/^ +/, "");
      } else {
        if (this.#rest === "" || this.#rest[0] !== text[i]) this.#mismatch(text.slice(i));
        this.#rest = this.#rest.slice(1);
        i++;
      }
    }
  }

  #take(pattern: RegExp, element: string): string {
    const found = pattern.exec(this.#rest)?.[0];
    if (found === undefined) this.#mismatch(element);
    this.#rest = this.#rest.slice(found.length);
    return found;
  }

  #number(pattern: RegExp, element: string, low: number, high: number, what: string): number {
    const value = Number(this.#take(pattern, element));
    if (value < low || value > high) this.#outOfRange(what);
    return value;
  }

  #hiddenFraction(): void {
    const found = /^[.,]\d+/.exec(this.#rest)?.[0];
    if (found === undefined) return;
    this.#rest = this.#rest.slice(found.length);
    this.#fields.nanos = Number(found.slice(1, 10).padEnd(9, "0"));
  }

  #element(element: string): void {
    const fields = this.#fields;
    const oneOrTwo = /^\d{1,2}/;
    switch (element) {
      case "2006":
        fields.year = Number(this.#take(/^\d{4}/, element));
        return;
      case "06": {
        const year = Number(this.#take(/^\d{2}/, element));
        fields.year = year >= 69 ? year + 1900 : year + 2000;
        return;
      }
      case "01":
        fields.month = this.#number(/^\d{2}/, element, 1, 12, "month");
        return;
      case "1":
        fields.month = this.#number(oneOrTwo, element, 1, 12, "month");
        return;
      case "Jan":
        fields.month = this.#name(MONTHS.map((name) => name.slice(0, 3)), element) + 1;
        return;
      case "January":
        fields.month = this.#name(MONTHS, element) + 1;
        return;
      case "Mon":
        this.#name(WEEKDAYS.map((name) => name.slice(0, 3)), element);
        return;
      case "Monday":
        this.#name(WEEKDAYS, element);
        return;
      case "02":
        fields.day = Number(this.#take(/^\d{2}/, element));
        return;
      case "2":
      case "_2":
        this.#rest = element === "_2" ? this.#rest.replace(/^ /, "") : this.#rest;
        fields.day = Number(this.#take(oneOrTwo, element));
        return;
      case "002":
      case "__2":
        fields.yearDay = Number(this.#take(element === "002" ? /^\d{3}/ : /^[ \d]{2}\d/, element));
        return;
      case "15":
        fields.hour = this.#number(oneOrTwo, element, 0, 23, "hour");
        return;
      case "03":
        fields.hour = this.#number(/^\d{2}/, element, 0, 12, "hour");
        return;
      case "3":
        fields.hour = this.#number(oneOrTwo, element, 0, 12, "hour");
        return;
      case "04":
        fields.minute = this.#number(/^\d{2}/, element, 0, 59, "minute");
        return;
      case "4":
        fields.minute = this.#number(oneOrTwo, element, 0, 59, "minute");
        return;
      case "05":
        fields.second = this.#number(/^\d{2}/, element, 0, 59, "second");
        return;
      case "5":
        fields.second = this.#number(oneOrTwo, element, 0, 59, "second");
        return;
      case "PM":
      case "pm":
        fields.isPm = /p/i.test(this.#take(element === "PM" ? /^[AP]M/ : /^[ap]m/, element));
        return;
      case "MST":
        this.#zoneName();
        return;
      default:
        if (/^[.,]/.test(element)) this.#fraction(element);
        else this.#offset(element);
    }
  }

  #name(names: readonly string[], element: string): number {
    const index = names.findIndex((name) =>
      this.#rest.slice(0, name.length).toLowerCase() === name.toLowerCase()
    );
    if (index < 0) this.#mismatch(element);
    this.#rest = this.#rest.slice((names[index] ?? "").length);
    return index;
  }

  #fraction(element: string): void {
    if (element.includes("9")) {
      this.#hiddenFraction();
      return;
    }
    const digits = this.#take(new RegExp(`^[.,]\\d{${element.length - 1}}`), element);
    this.#fields.nanos = Number(digits.slice(1, 10).padEnd(9, "0"));
  }

  #offset(element: string): void {
    if (element.startsWith("Z") && this.#rest.startsWith("Z")) {
      this.#rest = this.#rest.slice(1);
      this.#fields.isUtc = true;
      return;
    }
    const pairs = element.replace(/\D/g, "").length / 2;
    const colon = element.includes(":") ? ":" : "";
    const pattern = new RegExp(`^[+-]\\d{2}${`${colon}\\d{2}`.repeat(pairs - 1)}`);
    const found = this.#take(pattern, element);
    const [hours = 0, minutes = 0, seconds = 0] = (found.slice(1).match(/\d{2}/g) ?? []).map(
      Number,
    );
    if (hours > 24) this.#outOfRange("time zone offset hour");
    if (minutes > 60) this.#outOfRange("time zone offset minute");
    if (seconds > 60) this.#outOfRange("time zone offset second");
    this.#fields.offset = (found.startsWith("-") ? -1 : 1) *
      (hours * 3_600 + minutes * 60 + seconds);
  }

  #zoneName(): void {
    if (this.#rest.startsWith("UTC")) {
      this.#rest = this.#rest.slice(3);
      this.#fields.isUtc = true;
      return;
    }
    this.#fields.zoneName = this.#take(
      /^(ChST|MeST|GMT(?:[+-]0*(?:1?\d|2[0-3])(?!\d))?|[+-]0*(?:1?\d|2[0-3])(?!\d)|(?:WITA|[A-Z]{3}|[A-Z]{3,4}T)(?![A-Z]))/,
      "MST",
    );
  }

  #result(): GoTime {
    const fields = this.#fields;
    if (fields.isPm === true && fields.hour < 12) fields.hour += 12;
    else if (fields.isPm === false && fields.hour === 12) fields.hour = 0;
    this.#checkDay();
    const month = fields.month < 0 ? 1 : fields.month;
    const day = fields.day < 0 ? 1 : fields.day;
    const at = (zone: GoZone) => timeFromCivil({ ...fields, month, day }, fields.nanos, zone);
    if (fields.isUtc) return at(UTC);
    if (fields.offset !== undefined) return at(this.#zoneWithOffset(at(UTC), fields.offset));
    if (fields.zoneName !== "") return at(this.#zoneWithName(at(UTC).seconds));
    return at(this.#zone);
  }

  #checkDay(): void {
    const fields = this.#fields;
    if (fields.yearDay >= 0) {
      const leap = daysInMonth(fields.year, 2) === 29;
      if (fields.yearDay < 1 || fields.yearDay > (leap ? 366 : 365)) {
        this.#outOfRange("day-of-year");
      }
      let month = 1;
      let day = fields.yearDay;
      while (day > daysInMonth(fields.year, month)) day -= daysInMonth(fields.year, month++);
      if (fields.month >= 0 && fields.month !== month) {
        this.#fail(": day-of-year does not match month");
      }
      if (fields.day >= 0 && fields.day !== day) this.#fail(": day-of-year does not match day");
      fields.month = month;
      fields.day = day;
      return;
    }
    if (fields.day < 0) return;
    const month = fields.month < 0 ? 1 : fields.month;
    if (fields.day < 1 || fields.day > daysInMonth(fields.year, month)) this.#outOfRange("day");
  }

  /** The given zone where it has this offset then, else a nameless one. */
  #zoneWithOffset(asUtc: GoTime, offset: number): GoZone {
    const here = this.#zone.at(asUtc.seconds - offset);
    const { zoneName } = this.#fields;
    if (here.offset === offset && (zoneName === "" || here.abbreviation === zoneName)) {
      return this.#zone;
    }
    return fixedZone(zoneName, offset);
  }

  #zoneWithName(seconds: number): GoZone {
    const { zoneName } = this.#fields;
    const here = this.#zone.at(seconds);
    if (this.#zone.at(seconds - here.offset).abbreviation === zoneName) return this.#zone;
    const hours = /^GMT([+-]\d+)$/.exec(zoneName)?.[1];
    return fixedZone(zoneName, hours === undefined ? 0 : Number(hours) * 3_600);
  }
}
