/** Scenarios that also measure time: nothing runs beside them. */
import { expect, test } from "vitest";
import { CATALOGUE } from "./catalogue.ts";
import { testShortForms } from "./short_form.ts";

testShortForms(true);

test("every scenario has a name of the catalogue and says what must hold", () => {
  const names = CATALOGUE.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const covered = new Set(names.map((name) => Number(/^F(\d+)-/.exec(name)?.[1])));
  const wanted = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    17,
    18,
    19,
    20,
    22,
    23,
    24,
    25,
    26,
  ];
  expect([...covered]).toEqual(wanted);
});
