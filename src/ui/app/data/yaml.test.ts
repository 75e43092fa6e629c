import { expect, test } from "vitest";
import { stringify } from "yaml";
import { parseDocuments } from "../../../spec/parse.ts";
import { YAML_FORM } from "./yaml.ts";

test("texts that manifests would read as something else come back as they are", () => {
  const texts = ["yes", "on", "n", "0755", "1_000", "0b1", "12:30", "2001-01-01", "~", ".5", "e2"];
  const [document] = parseDocuments(stringify({ texts }, YAML_FORM));
  expect(document?.value).toEqual({ texts });
});
