/** The result of a conformance runner. */
export interface ConformanceResult {
  readonly passed: number;
  readonly total: number;
  /** One readable difference each. */
  readonly lines?: readonly string[];
  /** Cases whose golden is probably a defect of the reference: how many we share, how many we improve on. */
  readonly quirks?: { readonly like: number; readonly better: number };
}

/** Adds up the results of several parts. */
export function addResults(results: readonly ConformanceResult[]): ConformanceResult {
  const sum = (of: (result: ConformanceResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  const hasQuirks = results.some((result) => result.quirks !== undefined);
  return {
    passed: sum((result) => result.passed),
    total: sum((result) => result.total),
    lines: results.flatMap((result) => result.lines ?? []),
    ...(hasQuirks && {
      quirks: {
        like: sum((result) => result.quirks?.like ?? 0),
        better: sum((result) => result.quirks?.better ?? 0),
      },
    }),
  };
}
