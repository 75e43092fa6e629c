import { expect, test } from "vitest";
import { Seldom } from "./seldom.ts";

test("Seldom.ask() passes over what was just said, and reminds of it more and more seldom", () => {
  let now = 0;
  const seldom = new Seldom({ monotonic: () => now });
  const said: [second: number, passedOver: number][] = [];
  for (now = 0; now < 500_000; now += 1_000) {
    const passedOver = seldom.ask("gone");
    if (passedOver !== undefined) said.push([now / 1_000, passedOver]);
  }
  expect(said).toEqual([[0, 0], [60, 59], [180, 119], [420, 239]]);
  expect(seldom.ask("other")).toBe(0);
  now += 60_001;
  expect(seldom.ask("gone")).toBe(0);
});

test("Seldom.ask() remembers so much and no more", () => {
  const seldom = new Seldom({ monotonic: () => 0 });
  for (let n = 0; n < 1_001; n++) expect(seldom.ask(`${n}`)).toBe(0);
  expect(seldom.ask("1")).toBe(undefined);
  expect(seldom.ask("0")).toBe(0);
});
