/** What a conformance runner gives back. */
export interface ConformanceResult {
  readonly passed: number;
  readonly total: number;
  /** One readable difference each. */
  readonly lines?: readonly string[];
  /** Cases whose golden is probably a defect of the reference: how many we share, how many we do better. */
  readonly quirks?: { readonly like: number; readonly better: number };
}

/** Adds up the results of several parts. */
export function addResults(results: readonly ConformanceResult[]): ConformanceResult {
  return {
    passed: results.reduce((sum, result) => sum + result.passed, 0),
    total: results.reduce((sum, result) => sum + result.total, 0),
    lines: results.flatMap((result) => result.lines ?? []),
  };
}
