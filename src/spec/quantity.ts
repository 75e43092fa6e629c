/**
 * Kubernetes quantities: which texts are quantities, and their canonical form. That has no fraction, the largest suffix
 * that fits, and a binary suffix only for whole amounts of at least 1024.
 */

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const EXPONENT = /^[eE]([-+]?[0-9]+)$/;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Amounts with larger exponents do not exist. */
const MAX_EXPONENT = 30;
/** Most digits of an amount that Kubernetes keeps as a plain number. */
const PLAIN_DIGITS = 18;

const WRONG_FORM =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_SUFFIX = "unable to parse quantity's suffix";

/** Why a text is no quantity, in the words of Kubernetes; undefined if it is one. */
export function quantityProblem(text: string): string | undefined {
  const suffix = text === "" ? undefined : FORM.exec(text)?.[4];
  if (suffix === undefined) return WRONG_FORM;
  const isKnown = DECIMAL.includes(suffix) || BINARY.includes(suffix) || EXPONENT.test(suffix);
  return isKnown ? undefined : WRONG_SUFFIX;
}

/** Rewrites a quantity; other text is returned as it is. */
export function canonicalQuantity(text: string): string {
  if (quantityProblem(text) !== undefined) return text;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = FORM.exec(text) ?? [];
  const exponentText = EXPONENT.exec(suffix)?.[1];
  const exponent = Number(exponentText ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT || fraction.length > MAX_EXPONENT) return text;
  const isBinary = suffix.endsWith("i");
  const scale = isBinary
    ? 0
    : exponentText === undefined
    ? 3 * (DECIMAL.indexOf(suffix) - 3)
    : exponent;
  if (!isBinary && isKept(whole, fraction, scale)) return text;
  // The amount in billionths, rounded up as Kubernetes does.
  const factor = isBinary ? 1024n ** BigInt(BINARY.indexOf(suffix)) : 1n;
  const power = 9 + scale - fraction.length;
  const digits = BigInt(`${whole}${fraction}`) * factor;
  const nanos = power >= 0
    ? digits * 10n ** BigInt(power)
    : divideUp(digits, 10n ** BigInt(-power));
  if (nanos === 0n) return "0";
  const minus = sign === "-" ? "-" : "";
  const isWhole = nanos % 10n ** 9n === 0n;
  if (isBinary && isWhole && nanos >= 1024n * 10n ** 9n) {
    return minus + binaryText(nanos / 10n ** 9n);
  }
  return minus + decimalText(nanos, exponentText !== undefined);
}

/**
 * Tells whether Kubernetes keeps a decimal text: it takes digits that end at a suffix's border for the canonical form,
 * even `1.250`.
 */
function isKept(whole: string, fraction: string, scale: number): boolean {
  const digits = `${whole.replace(/^0+/, "") || "0"}${fraction}`;
  const end = scale - fraction.length;
  return digits.length <= PLAIN_DIGITS && end >= -9 && end % 3 === 0 &&
    !digits.endsWith("000") && !digits.startsWith("0");
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
