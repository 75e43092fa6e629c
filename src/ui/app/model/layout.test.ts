import { expect, test } from "vitest";
import { firstView, fitScale, READABLE, shownLargest, viewAt, wholeView } from "./layout.ts";

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

test("a graph that can be read as a whole is shown as a whole, in the middle", () => {
  const small = { width: 200, height: 100 };
  expect(firstView(small, PHONE, { x: 0, y: 0 })).toEqual({ scale: 1, x: 85, y: 220 });
  expect(wholeView({ width: 740, height: 540 }, PHONE)).toEqual({ scale: 0.5, x: 0, y: 135 });
});

test("of a larger one the part around a point is shown so that it can be read, and no side is empty", () => {
  const large = { width: 5_000, height: 9_000 };
  for (const [x, y] of [[0, 0], [2_500, 4_000], [5_000, 9_000], [100, 8_990]] as const) {
    const view = firstView(large, PHONE, { x, y });
    expect(view.scale).toBeGreaterThanOrEqual(READABLE);
    const [left, top] = [view.x + x * view.scale, view.y + y * view.scale];
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left).toBeLessThanOrEqual(PHONE.width);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThanOrEqual(PHONE.height);
    expect(view.x).toBeLessThanOrEqual(0);
    expect(view.x + large.width * view.scale).toBeGreaterThanOrEqual(PHONE.width);
    expect(view.y + large.height * view.scale).toBeGreaterThanOrEqual(PHONE.height);
  }
  // What is only long lies in the middle of the other side.
  expect(viewAt({ x: 0, y: 0 }, { width: 9_000, height: 140 }, PHONE, 1)).toEqual({
    scale: 1,
    x: 0,
    y: 200,
  });
});
