/** Numbers as text, as Go's `strconv` reads them. */

const PREFIXES = new Map([["0x", 16], ["0o", 8], ["0b", 2]]);
/** Longest text that is worth reading. */
const MAX_LENGTH = 1_000;

/**
 * Reads a 64-bit integer with an optional sign.
 * @param base 2 to 36, or 0: the prefix decides (`0x`, `0o`, `0b`, `0`), and `_` may separate digits
 * @returns undefined if the text is not an integer, or does not fit
 */
export function parseGoInt(text: string, base: number): bigint | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, sign = "", body = ""] = /^([+-]?)([^]*)$/.exec(text) ?? [];
  let digits = body.toLowerCase();
  let radix = base;
  if (base === 0) {
    if (!isSeparatedWell(digits)) return undefined;
    radix = PREFIXES.get(digits.slice(0, 2)) ?? (/^0./.test(digits) ? 8 : 10);
    if (PREFIXES.has(digits.slice(0, 2))) digits = digits.slice(2);
    digits = digits.replaceAll("_", "");
  }
  if (digits === "") return undefined;
  let value = 0n;
  for (const char of digits) {
    const digit = /^[0-9a-z]$/.test(char) ? parseInt(char, 36) : radix;
    if (digit >= radix) return undefined;
    value = value * BigInt(radix) + BigInt(digit);
  }
  if (sign === "-") value = -value;
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/**
 * Reads a float: decimal or hexadecimal, with `_` between digits, `Inf`, `Infinity` and `NaN` in any case.
 * @returns undefined if the text is not a float, or too large for one
 */
export function parseGoFloat(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const lower = text.toLowerCase();
  if (lower === "nan") return NaN;
  const infinity = /^([+-]?)inf(inity)?$/.exec(lower);
  if (infinity !== null) return infinity[1] === "-" ? -Infinity : Infinity;
  if (!isSeparatedWell(lower.replace(/^[+-]/, ""))) return undefined;
  const plain = lower.replaceAll("_", "");
  const value = plain.includes("x") ? parseHexFloat(plain) : parseDecimalFloat(plain);
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}

function parseDecimalFloat(text: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}

function parseHexFloat(text: string): number | undefined {
  const parts = /^([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([+-]?\d+)$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  if (whole + fraction === "" || /[.].*[.]/.test(text)) return undefined;
  const power = Math.max(-5000, Math.min(5000, Number(exponent))) - 4 * fraction.length;
  const size = scaled(BigInt(`0x${whole}${fraction}`), power);
  return sign === "-" ? -size : size;
}

const SMALLEST_POWER = -1074;

/** digits · 2^power, rounded half to even. */
function scaled(digits: bigint, power: number): number {
  if (power >= SMALLEST_POWER) return Number(digits) * 2 ** power;
  const shift = BigInt(SMALLEST_POWER - power);
  let kept = digits >> shift;
  const rest = digits - (kept << shift);
  const half = 1n << (shift - 1n);
  if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++;
  return Number(kept) * 2 ** SMALLEST_POWER;
}

/** Tells whether every `_` is between two digits (a base prefix counts as one). */
function isSeparatedWell(text: string): boolean {
  if (!text.includes("_")) return true;
  const isHex = text.startsWith("0x");
  const body = /^0[xob]/.test(text) ? `0${text.slice(2)}` : text;
  return !(isHex ? /(^|[^0-9a-f_])_|_([^0-9a-f]|$)/ : /(^|[^0-9_])_|_([^0-9]|$)/).test(body);
}
