import { expect, test } from "vitest";
import { headerMistakes } from "./header_mistakes.ts";

const NEVER =
  "is never there: names of headers are in lower case and begin with x-, those of a CloudEvent with ce-";

test.each([
  ['metadata["x-kind"] == ["push"] && payload.a != nil'],
  ['"push" in metadata["x-kind"] || metadata["ce-type"][0] == "a"'],
  ['metadata["x-kind"][0] == "push" and payload.metadata.Name == "a"'],
  ['metadata["x-kind" + payload.a] == "b"'],
  ['metadata["x-kind'],
])("headerMistakes() finds nothing in %s", (source) => expect(headerMistakes(source)).toEqual([]));

test.each([
  ['metadata["X-Kind"] == ["push"]', [`metadata["X-Kind"] ${NEVER}`]],
  ["any(metadata?.authorization ?? [], # != nil)", [`metadata["authorization"] ${NEVER}`]],
  [
    'payload.a == 1 && "push" == metadata["x-kind"]',
    ['metadata["x-kind"] is a list and never equals a text: compare it with ["push"]'],
  ],
  [
    'metadata.kind != "a"',
    [
      'metadata["kind"] is a list and never equals a text: compare it with ["a"]',
      `metadata["kind"] ${NEVER}`,
    ],
  ],
])("headerMistakes() of %s", (source, found) => expect(headerMistakes(source)).toEqual(found));
