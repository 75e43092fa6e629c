import { expect, test } from "vitest";
import { canonicalQuantity } from "./quantity.ts";

test.each([
  ["0.5", "500m"],
  ["500m", "500m"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["64Mi", "64Mi"],
  ["1024Mi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["1Ki", "1Ki"],
  ["0.5Ki", "512"],
  ["1000", "1k"],
  ["123", "123"],
  ["1e3", "1e3"],
  ["-0.25", "-250m"],
  ["0", "0"],
  ["0.0000000001", "1n"],
  [".5", "500m"],
  ["words", "words"],
])("canonicalQuantity(%j) is %j", (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical);
});
