/** Writes times as text, in Go's layouts. */

import { type Civil, civilOf, MONTHS, WEEKDAYS } from "./go_calendar.ts";
import { piecesOf } from "./go_layout.ts";
import type { GoTime } from "./values.ts";

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
