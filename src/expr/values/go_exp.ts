/**
 * The exponential function and the logarithm with the digits that Go's give on amd64, which JavaScript leaves to its engines: they
 * differ from Go, and from one another. Every step rounds as there, also where a sum of a product rounds once.
 */

/** Powers of two in parts, so that a multiple of `log(2)` is exact as far as it is needed. */
const LN2_HIGH = 0.69314718055966295651160180568695068359375;
const LN2_LOW = 2.8235290563031577e-13;
const LOG_LN2_HIGH = 0.6931471803691238;
const LOG_LN2_LOW = 1.9082149292705877e-10;

/** 1/8!, 1/7! … 1/1!, without those that a float cannot tell apart: the series of the exponential function. */
const INVERSE_FACTORIALS = [40320, 5040, 720, 120, 24, 6, 2, 1].map((factorial) => 1 / factorial);

/** Coefficients of the logarithm's remainder, by Remez' algorithm as FreeBSD has them. */
const [L1, L2, L3, L4, L5, L6, L7] = [
  0.6666666666666735,
  0.3999999999940942,
  0.2857142874366239,
  0.22222198432149784,
  0.1818357216161805,
  0.15313837699209373,
  0.14798198605116586,
] as const;

/** @param x at most 700 in size */
export function goExp(x: number): number {
  const twos = roundHalfEven(x * Math.LOG2E);
  let rest = fused(-twos, LN2_LOW, fused(-twos, LN2_HIGH, x)) / 16;
  let sum = 0;
  for (const coefficient of INVERSE_FACTORIALS) sum = fused(sum, rest, coefficient);
  // From here on it is the result less one, squared four times.
  rest *= sum;
  for (let i = 0; i < 3; i++) rest *= rest + 2;
  return fused(rest, rest + 2, 1) * 2 ** twos;
}

/**
 * The logarithm of `fraction` times two to the power of `twos`.
 * @param fraction from one half up to one
 */
export function goLog(fraction: number, twos: number): number {
  const isLow = fraction < Math.SQRT1_2;
  const f = (isLow ? fraction * 2 : fraction) - 1;
  const k = isLow ? twos - 1 : twos;
  const s = f / (2 + f);
  const s2 = s * s;
  const s4 = s2 * s2;
  const odd = s2 * (L1 + s4 * (L3 + s4 * (L5 + s4 * L7)));
  const even = s4 * (L2 + s4 * (L4 + s4 * L6));
  const half = 0.5 * f * f;
  return k * LOG_LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LOG_LN2_LOW)) - f);
}

function roundHalfEven(x: number): number {
  const rounded = Math.round(x);
  return Math.abs(x % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** `a * b + c`, rounded once. */
function fused(a: number, b: number, c: number): number {
  const product = a * b;
  const [aHigh, aLow] = halves(a);
  const [bHigh, bLow] = halves(b);
  const productRest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
  const sum = product + c;
  const added = sum - product;
  const sumRest = (product - (sum - added)) + (c - added);
  return sum + (sumRest + productRest);
}

/** Two numbers of half the digits whose sum is the number. */
function halves(x: number): [high: number, low: number] {
  const shifted = (2 ** 27 + 1) * x;
  const high = shifted - (shifted - x);
  return [high, x - high];
}
