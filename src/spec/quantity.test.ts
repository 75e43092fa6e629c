import { expect, test } from "vitest";
import { canonicalQuantity, quantityProblem } from "./quantity.ts";

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
  ["1.1Gi", "1181116006400m"],
  ["-1.1Gi", "-1181116006400m"],
  ["1.125", "1.125"],
  ["2.500k", "2.500k"],
  ["1.000", "1"],
  ["0.125", "125m"],
  ["1.5", "1500m"],
  ["12e2", "1200"],
  ["k", "0"],
])("canonicalQuantity(%j) is %j", (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical);
});

const FORM =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX = "unable to parse quantity's suffix";

test.each([
  ["1", undefined],
  ["+1.5Gi", undefined],
  ["1E", undefined],
  ["1e-3", undefined],
  ["", FORM],
  ["lots", FORM],
  ["1.2.3", FORM],
  ["1GB", FORM],
  [" 1", FORM],
  ["1kk", SUFFIX],
  ["1i", SUFFIX],
  ["1e", SUFFIX],
  ["1k3", SUFFIX],
  ["1-5", SUFFIX],
])("what is wrong with the quantity %j", (text, problem) => {
  expect(quantityProblem(text)).toBe(problem);
});
