import fc from "fast-check";
import { expect, test } from "vitest";

import { goPower } from "./go_power.ts";

test.each([
  [1.1, 3, 1.3310000000000004],
  [1.3, 3, 2.1970000000000005],
  [0.1, 7, 1.0000000000000007e-7],
  [7.1, 8, 6457535.312457609],
  [-2.6, 5, -118.81376000000003],
  [95929.98, 4, 84687130114570030000],
  [4, 1.5, 8],
  [9, 1.5, 27.000000000000004],
  [25, 1.5, 125],
  [0.7, 0.1, 0.9649610951198176],
  [311, 0.75, 74.05771222187836],
  [399, -0.25, 0.22374677077485586],
  [2, 0.5, Math.SQRT2],
  [7, -0.5, 1 / Math.sqrt(7)],
  [10, 2.3, 199.5262314968879],
  [1e21, 0.1, 125.89254117941677],
  [64, 2.5, 32767.999999999993],
  [2, 10, 1024],
  [2, -3, 0.125],
  [2, 1023, 2 ** 1023],
  [2, 1024, Infinity],
  [-2, 1025, -Infinity],
  [2, -1074, 5e-324],
  [2, -1076, 0],
  [Number.MAX_VALUE, 2, Infinity],
  [-Number.MAX_VALUE, 3, -Infinity],
  [Number.MAX_VALUE, -1, 5.562684646268003e-309],
  [5e-324, 1, 5e-324],
  [5e-324, -1, Infinity],
  [1e-320, 2, 0],
  [1e300, 1e300, Infinity],
  [0.5, 1e300, 0],
  [-0.5, -1e18, Infinity],
  [1, NaN, 1],
  [NaN, 0, 1],
  [NaN, 1, NaN],
  [-1, Infinity, 1],
  [-1, -Infinity, 1],
  [-1, NaN, NaN],
  [-8, 1 / 3, NaN],
  [0, -1, Infinity],
  [-0, -1, -Infinity],
  [-0, 0.5, 0],
  [-0, 3, -0],
  [-Infinity, 3, -Infinity],
  [0.5, Infinity, 0],
])("%d to the power of %d is %d", (base, exponent, want) => {
  expect(goPower(base, exponent)).toBe(want);
});

test("any power ends, and has the size that JavaScript computes", () => {
  fc.assert(fc.property(fc.double(), fc.double({ min: -400, max: 400 }), (base, exponent) => {
    const [got, want] = [goPower(base, exponent), base ** exponent];
    if (Number.isNaN(want)) {
      expect(Number.isNaN(got) || got === 1).toBe(true);
      return;
    }
    if (Math.abs(want) > 1e-300 && Math.abs(want) < 1e300) {
      expect(Math.abs(got / want - 1)).toBeLessThan(1e-12);
    }
  }));
  fc.assert(fc.property(fc.double(), fc.double(), (base, exponent) => {
    expect(typeof goPower(base, exponent)).toBe("number");
  }));
});
