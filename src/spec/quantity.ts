/**
 * Kubernetes quantities in their canonical form: no fraction, the largest suffix that fits, binary suffixes only for
 * amounts of at least 1024.
 */

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)$/;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Amounts with larger exponents do not exist. */
const MAX_EXPONENT = 30;

/** Rewrites a quantity; other text is returned as it is. */
export function canonicalQuantity(text: string): string {
  const match = FORM.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = "", letter, exponentText, suffix = ""] = match;
  if (whole === "" && fraction === "") return text;
  const exponent = Number(exponentText ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT || fraction.length > MAX_EXPONENT) return text;
  const isBinary = suffix.endsWith("i");
  // The amount in billionths, rounded up as Kubernetes does.
  const scale = isBinary ? 0 : letter === undefined ? 3 * (DECIMAL.indexOf(suffix) - 3) : exponent;
  const factor = isBinary ? 1024n ** BigInt(BINARY.indexOf(suffix)) : 1n;
  const power = 9 + scale - fraction.length;
  const digits = BigInt(`${whole}${fraction}`) * factor;
  const nanos = power >= 0
    ? digits * 10n ** BigInt(power)
    : divideUp(digits, 10n ** BigInt(-power));
  if (nanos === 0n) return "0";
  const minus = sign === "-" ? "-" : "";
  if (isBinary && nanos >= 1024n * 10n ** 9n) return minus + binaryText(divideUp(nanos, 10n ** 9n));
  return minus + decimalText(nanos, letter !== undefined);
}

function binaryText(amount: bigint): string {
  let index = 0;
  while (amount % 1024n === 0n && index < BINARY.length - 1) {
    amount /= 1024n;
    index++;
  }
  return `${amount}${BINARY[index]}`;
}

function decimalText(nanos: bigint, asExponent: boolean): string {
  let index = 0;
  while (nanos % 1000n === 0n && index < DECIMAL.length - 1) {
    nanos /= 1000n;
    index++;
  }
  const exponent = 3 * (index - 3);
  if (asExponent) return exponent === 0 ? `${nanos}` : `${nanos}e${exponent}`;
  return `${nanos}${DECIMAL[index]}`;
}

function divideUp(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
