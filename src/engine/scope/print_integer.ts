/** Prints integers in printf formats, for loops over sequences. */

/** Flags, width, precision and verb. */
const VERB = /%([-+ 0#]*)(\d*)(?:\.(\d*))?(.?)/gsu;

/** Prints an integer in a printf format. As in Go, verbs for other kinds of values show what is wrong. */
export function formatInteger(format: string, value: number | bigint): string {
  if (format === "%d") return String(value);
  let isUsed = false;
  const text = format.replace(
    VERB,
    (_match, flags: string, width: string, precision: string | undefined, verb: string) => {
      if (verb === "%") return "%";
      if (verb === "") return "%!(NOVERB)";
      if (isUsed) return `%!${verb}(MISSING)`;
      isUsed = true;
      const print = (as: string) => printAs(as, value, flags, Number(width || 0), precision);
      return print(verb) ?? `%!${verb}(int=${print("d")})`;
    },
  );
  return isUsed ? text : `${text}%!(EXTRA int=${value})`;
}

function printAs(
  verb: string,
  value: number | bigint,
  flags: string,
  width: number,
  precision: string | undefined,
): string | undefined {
  const digits = convert(verb, value < 0 ? -value : value, flags.includes("#"), precision);
  if (digits === undefined) return undefined;
  // Go prints no digit and no sign of 0 when no digit is asked for.
  if (Number(value) === 0 && Number(precision ?? 1) === 0 && /[dvxXobO]/.test(verb)) {
    return " ".repeat(width);
  }
  // A precision says how many digits there are; no further zeros are added.
  const kept = precision === undefined ? flags : flags.replaceAll("0", "");
  return pad(digits, value < 0, kept, width);
}

/** Largest width or precision that a format asks for. */
export function widestOf(format: string): number {
  let widest = 0;
  for (const [, , width, precision = ""] of format.matchAll(VERB)) {
    widest = Math.max(widest, Number(width), Number(precision));
  }
  return widest;
}

function convert(
  verb: string,
  value: number | bigint,
  isAlternate: boolean,
  precision: string | undefined,
): string | undefined {
  const filled = (base: number) => value.toString(base).padStart(Number(precision ?? 0), "0");
  switch (verb) {
    case "d":
    case "v":
      return filled(10);
    case "x":
      return `${isAlternate ? "0x" : ""}${filled(16)}`;
    case "X":
      return `${isAlternate ? "0X" : ""}${filled(16).toUpperCase()}`;
    case "o": {
      const digits = filled(8);
      return isAlternate && !digits.startsWith("0") ? `0${digits}` : digits;
    }
    case "O":
      return `0o${filled(8)}`;
    case "b":
      return `${isAlternate ? "0b" : ""}${filled(2)}`;
    case "c":
      return String.fromCodePoint(Math.min(Number(value), 0x10ffff));
    case "U":
      return `U+${
        value.toString(16).toUpperCase().padStart(Math.max(4, Number(precision ?? 0)), "0")
      }`;
    default:
      return undefined;
  }
}

function pad(digits: string, isNegative: boolean, flags: string, width: number): string {
  const sign = isNegative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  if (flags.includes("-")) return (sign + digits).padEnd(width);
  if (flags.includes("0")) return sign + digits.padStart(width - sign.length, "0");
  return (sign + digits).padStart(width);
}
