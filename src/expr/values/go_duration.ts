/** Durations as text, as Go writes and reads them: `1h30m0.5s`. */

import { fault } from "./error.ts";
import { goTimeQuote } from "./go_quote.ts";

const UNITS = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n],
  ["\u03bcs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const MAX = 2n ** 63n;

/**
 * Reads a duration in nanoseconds.
 * @throws {Fault} when it is not a duration, or does not fit into 64 bits
 */
export function parseDuration(text: string): bigint {
  const invalid = () => fault(`time: invalid duration ${goTimeQuote(text)}`);
  const [, sign = "", body = ""] = /^([+-]?)([^]*)$/.exec(text) ?? [];
  if (body === "0") return 0n;
  if (body === "") return invalid();
  let total = 0n;
  let rest = body;
  while (rest !== "") {
    const [all = "", whole = "", fraction = ""] = /^(\d*)(?:\.(\d*))?/.exec(rest) ?? [];
    if (whole === "" && fraction === "") return invalid();
    rest = rest.slice(all.length);
    const unitName = /^[^\d.]*/.exec(rest)?.[0] ?? "";
    if (unitName === "") fault(`time: missing unit in duration ${goTimeQuote(text)}`);
    const unit = UNITS.get(unitName) ??
      fault(
        `time: unknown unit ${goTimeQuote(unitName)} in duration ${goTimeQuote(text)}`,
      );
    rest = rest.slice(unitName.length);
    if (whole.length > 20) return invalid();
    const digits = fraction.slice(0, 18);
    total += BigInt(whole === "" ? "0" : whole) * unit;
    if (digits !== "") total += BigInt(digits) * unit / 10n ** BigInt(digits.length);
    if (total > MAX) return invalid();
  }
  if (sign === "-") return -total;
  return total === MAX ? invalid() : total;
}

/** Writes a duration in nanoseconds. */
export function durationText(ns: bigint): string {
  const sign = ns < 0n ? "-" : "";
  const size = ns < 0n ? -ns : ns;
  if (size === 0n) return "0s";
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`;
  const seconds = decimal(size % 60_000_000_000n, 9);
  const minutes = size / 60_000_000_000n;
  if (minutes === 0n) return `${sign}${seconds}s`;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}s`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}s`;
}

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = String(value % scale).padStart(places, "0").replace(/0+$/, "");
  return fraction === "" ? String(value / scale) : `${value / scale}.${fraction}`;
}
