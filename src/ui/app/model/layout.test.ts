import { expect, test } from "vitest";
import { fitScale, shownLargest } from "./layout.ts";

const PHONE = { width: 370, height: 540 };

test("a graph is shown as large as it fits, but not larger than it is", () => {
  expect(fitScale({ width: 740, height: 540 }, PHONE)).toBe(0.5);
  expect(fitScale({ width: 370, height: 5400 }, PHONE)).toBe(0.1);
  expect(fitScale({ width: 20, height: 20 }, PHONE)).toBe(1);
  expect(fitScale({ width: 0, height: 0 }, PHONE)).toBe(1);
});

test("of two layouts the one that is shown larger is taken", () => {
  const chain = [{ width: 200, height: 900 }, { width: 2000, height: 70 }];
  expect(shownLargest(chain, PHONE)).toBe(chain[0]);
  const wide = [{ width: 9000, height: 400 }, { width: 1900, height: 2600 }];
  expect(shownLargest(wide, PHONE)).toBe(wide[1]);
  const small = [{ width: 200, height: 60 }, { width: 210, height: 50 }];
  expect(shownLargest(small, PHONE)).toBe(small[0]);
});
