/**
 * The value below which the given share of the numbers lies, in between two of them if need be: 0.5 is the median. NaN when
 * there are none.
 */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at % 1);
}
