/** Powers of floats in the steps in which Go computes them, because expressions show them as text. */
import { goExp, goLog } from "./go_exp.ts";

/** Unlike in JavaScript, one to any power is one, and so is minus one to an infinite power. */
export function goPower(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
  const isUsual = Math.abs(exponent) < 2 ** 63 && Number.isFinite(base) && base !== 0 &&
    exponent !== 1 && (base > 0 || Number.isInteger(exponent));
  return isUsual ? usualPower(base, exponent) : base ** exponent;
}

/**
 * The whole part of the exponent squares again and again; the exponents of two are kept apart, so that nothing overflows
 * on the way. JavaScript rounds only once, and so has other last digits.
 */
function usualPower(base: number, exponent: number): number {
  const size = Math.abs(exponent);
  if (size === 0.5) return exponent > 0 ? Math.sqrt(base) : 1 / Math.sqrt(base);
  // From minus one half to one half; the whole part is what remains.
  const fraction = size % 1 > 0.5 ? size % 1 - 1 : size % 1;
  let count = Math.round(size - fraction);
  const parts = split(base);
  let product = fraction === 0 ? 1 : goExp(fraction * goLog(parts.fraction, parts.twos));
  let twos = 0;
  for (let square = parts; count > 0; count = Math.floor(count / 2)) {
    if (Math.abs(square.twos) > 4096) {
      // Too large or too small, whatever follows.
      twos += square.twos;
      break;
    }
    if (count % 2 === 1) {
      product *= square.fraction;
      twos += square.twos;
    }
    const fraction = square.fraction * square.fraction;
    square = fraction < 0.5
      ? { fraction: fraction * 2, twos: square.twos * 2 - 1 }
      : { fraction, twos: square.twos * 2 };
  }
  return exponent < 0 ? join(1 / product, -twos) : join(product, twos);
}

/** `fraction` times two to the power of `twos`; the size of the fraction is from one half up to one. */
interface Parts {
  readonly fraction: number;
  readonly twos: number;
}

function split(value: number): Parts {
  // The logarithm of the largest floats is rounded up to 1024, and two to that power would be infinite.
  let twos = Math.min(1023, Math.max(-1022, Math.floor(Math.log2(Math.abs(value)))));
  let fraction = value / 2 ** twos;
  while (Math.abs(fraction) >= 1) {
    fraction /= 2;
    twos++;
  }
  while (Math.abs(fraction) < 0.5) {
    fraction *= 2;
    twos--;
  }
  return { fraction, twos };
}

/** The float of a value, which is not zero, times a power of two; it is rounded once. */
function join(value: number, power: number): number {
  const { fraction, twos } = split(value);
  const size = twos + power;
  if (size > 1024) return fraction * Infinity;
  if (size < -1080) return fraction * 0;
  return size > -1000 ? fraction * 2 * 2 ** (size - 1) : fraction * 2 ** (size + 100) * 2 ** -100;
}
