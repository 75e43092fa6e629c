/** Prints integers in printf formats, for loops over sequences. */

const VERB = /%([-+ 0#]*)(\d*)([a-zA-Z%])/g;

/** Prints an integer in a printf format. As in Go, verbs for other kinds of values show what is wrong. */
export function formatInteger(format: string, value: number): string {
  if (format === "%d") return String(value);
  let isUsed = false;
  const text = format.replace(VERB, (_match, flags: string, width: string, verb: string) => {
    if (verb === "%") return "%";
    if (isUsed) return `%!${verb}(MISSING)`;
    isUsed = true;
    const digits = convert(verb, Math.abs(value), flags.includes("#"));
    if (digits === undefined) return `%!${verb}(int=${value})`;
    return pad(digits, value < 0, flags, Number(width || 0));
  });
  return isUsed ? text : `${text}%!(EXTRA int=${value})`;
}

/** Largest width that a format asks for. */
export function widestOf(format: string): number {
  let widest = 0;
  for (const [, , width] of format.matchAll(VERB)) widest = Math.max(widest, Number(width));
  return widest;
}

function convert(verb: string, value: number, isAlternate: boolean): string | undefined {
  switch (verb) {
    case "d":
    case "v":
      return String(value);
    case "x":
      return `${isAlternate ? "0x" : ""}${value.toString(16)}`;
    case "X":
      return `${isAlternate ? "0X" : ""}${value.toString(16).toUpperCase()}`;
    case "o":
      return `${isAlternate ? "0" : ""}${value.toString(8)}`;
    case "b":
      return value.toString(2);
    case "c":
      return String.fromCodePoint(Math.min(value, 0x10ffff));
    case "U":
      return `U+${value.toString(16).toUpperCase().padStart(4, "0")}`;
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
