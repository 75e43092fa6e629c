import fc from "fast-check";
import { expect, test } from "vitest";
import { Recent } from "./recent.ts";

test("holds the latest that fit, in order, whatever comes and goes", () => {
  const step = fc.record({ size: fc.nat(5), isRemoval: fc.boolean() });
  fc.assert(fc.property(fc.array(step), fc.integer({ min: 1, max: 6 }), (steps, maxCount) => {
    const maxSize = 12;
    const recent = new Recent<{ number: number; size: number }>(maxCount, maxSize);
    let model: { number: number; size: number }[] = [];
    for (const [number, { size, isRemoval }] of steps.entries()) {
      if (isRemoval) {
        recent.leaveWhile((item) => item.number < number - 2);
        model = model.filter((item) => item.number >= number - 2);
      }
      const left = recent.add({ number, size });
      model.push({ number, size });
      let expected;
      const sum = () => model.reduce((total, item) => total + item.size, 0);
      while (model.length > maxCount || sum() > maxSize) expected = model.shift();
      expect(left).toEqual(expected);
      expect(Array.from({ length: recent.length }, (_, at) => recent.at(at))).toEqual(model);
      for (const [at, item] of model.entries()) {
        expect(recent.firstWhere((other) => other.number >= item.number)).toBe(at);
      }
      expect(recent.firstWhere(() => false)).toBe(model.length);
    }
  }));
});

test("an item that is too large leaves at once, with all others", () => {
  const recent = new Recent<{ size: number }>(10, 10);
  recent.add({ size: 3 });
  expect(recent.add({ size: 11 })).toEqual({ size: 11 });
  expect(recent.length).toBe(0);
  recent.add({ size: 10 });
  expect(recent.length).toBe(1);
  recent.clear();
  expect([recent.length, recent.at(0)]).toEqual([0, undefined]);
});
