/** Reads times from text, in Go's layouts. */

import { fault } from "./error.ts";
import { daysInMonth, MONTHS, timeFromCivil, WEEKDAYS } from "./go_calendar.ts";
import { piecesOf } from "./go_layout.ts";
import { goTimeQuote } from "./go_quote.ts";
import { fixedZone, UTC } from "./go_zone.ts";
import { GoTime, type GoZone } from "./values.ts";

/** The fields of a time that were read; -1 and undefined mean not given. */
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

/** An element that is a number. */
interface NumberElement {
  readonly field: "year" | "month" | "day" | "yearDay" | "hour" | "minute" | "second";
  readonly digits: RegExp;
  /** Smallest and largest value, if it can be checked at once. */
  readonly range?: readonly [least: number, most: number];
}

const TWO_DIGITS = /^\d{2}/;
const ONE_OR_TWO_DIGITS = /^\d{1,2}/;

const NUMBERS: ReadonlyMap<string, NumberElement> = new Map<string, NumberElement>([
  ["2006", { field: "year", digits: /^\d{4}/ }],
  ["01", { field: "month", digits: TWO_DIGITS, range: [1, 12] }],
  ["1", { field: "month", digits: ONE_OR_TWO_DIGITS, range: [1, 12] }],
  ["02", { field: "day", digits: TWO_DIGITS }],
  ["2", { field: "day", digits: ONE_OR_TWO_DIGITS }],
  ["_2", { field: "day", digits: ONE_OR_TWO_DIGITS }],
  ["002", { field: "yearDay", digits: /^\d{3}/ }],
  ["__2", { field: "yearDay", digits: /^\d{1,3}/ }],
  ["15", { field: "hour", digits: ONE_OR_TWO_DIGITS, range: [0, 23] }],
  ["03", { field: "hour", digits: TWO_DIGITS, range: [0, 12] }],
  ["3", { field: "hour", digits: ONE_OR_TWO_DIGITS, range: [0, 12] }],
  ["04", { field: "minute", digits: TWO_DIGITS, range: [0, 59] }],
  ["4", { field: "minute", digits: ONE_OR_TWO_DIGITS, range: [0, 59] }],
  ["05", { field: "second", digits: TWO_DIGITS, range: [0, 59] }],
  ["5", { field: "second", digits: ONE_OR_TWO_DIGITS, range: [0, 59] }],
]);

/**
 * Reads a time in a layout.
 * @param zone the zone if the text has no offset
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
        // Of two pieces that follow one another, one is an element.
        const next = pieces[i + 1]?.isElement === false ? pieces[i + 2] : pieces[i + 1];
        if (isSecond && !/^[.,]/.test(next?.text ?? "")) this.#hiddenFraction();
      }
    }
    if (this.#rest !== "") this.#fail(`: extra text: ${goTimeQuote(this.#rest)}`);
    return this.#result();
  }

  #fail(tail: string): never {
    const as = tail.startsWith(":") ? "" : ` as ${goTimeQuote(this.#layout)}: `;
    return fault(`parsing time ${goTimeQuote(this.#text)}${as}${tail}`);
  }

  #mismatch(element: string): never {
    this.#fail(`cannot parse ${goTimeQuote(this.#rest)} as ${goTimeQuote(element)}`);
  }

  #outOfRange(what: string): never {
    this.#fail(`: ${what} out of range`);
  }

  /** Text between elements; a run of blanks may have any length. */
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

  #number(element: string, { field, digits, range }: NumberElement): number {
    const value = Number(this.#take(digits, element));
    if (range !== undefined && (value < range[0] || value > range[1])) this.#outOfRange(field);
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
    const number = NUMBERS.get(element);
    if (number !== undefined) {
      if (element === "_2") this.#rest = this.#rest.replace(/^ /, "");
      if (element === "__2") this.#rest = this.#rest.replace(/^ {1,2}/, "");
      fields[number.field] = this.#number(element, number);
      return;
    }
    switch (element) {
      case "06": {
        const year = Number(this.#take(TWO_DIGITS, element));
        fields.year = year >= 69 ? year + 1900 : year + 2000;
        return;
      }
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
    if (fields.zoneName !== "") return this.#inNamedZone(at(UTC));
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

  /** The given zone if it has this offset at that time, else a nameless one. */
  #zoneWithOffset(asUtc: GoTime, offset: number): GoZone {
    const here = this.#zone.at(asUtc.seconds - offset);
    const { zoneName } = this.#fields;
    if (here.offset === offset && (zoneName === "" || here.abbreviation === zoneName)) {
      return this.#zone;
    }
    return fixedZone(zoneName, offset);
  }

  /**
   * A name that the zone has counts also at times when it has another, such as that of summer in winter. With any other
   * name the time is that of UTC, which `GMT+3` only shows elsewhere.
   */
  #inNamedZone({ seconds, nanos }: GoTime): GoTime {
    const { zoneName } = this.#fields;
    const zone = this.#zone;
    let known: number | undefined;
    for (const moment of [seconds, ...NAMED_AT]) {
      const { offset, abbreviation } = zone.at(moment);
      if (abbreviation !== zoneName) continue;
      known ??= offset;
      if (zone.at(seconds - offset).abbreviation !== zoneName) continue;
      known = offset;
      break;
    }
    if (known !== undefined) return new GoTime(seconds - known, nanos, zone);
    const hours = /^GMT([+-]\d+)$/.exec(zoneName)?.[1] ?? "0";
    return new GoTime(seconds, nanos, fixedZone(zoneName, Number(hours) * 3_600));
  }
}

/** Times at which a zone is asked for its names: winter and summer, in the past and in these years. */
const NAMED_AT = [1972, 2024].flatMap((year) => [0, 6].map((month) => Date.UTC(year, month) / 1e3));
