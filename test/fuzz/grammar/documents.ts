/** Objects that filters and paths are tried on. */
import fc from "fast-check";
import type { Json } from "../../../src/base/json.ts";
import { jsonValue } from "./texts.ts";

/** An object as a cluster might give it. */
const OBJECT = {
  metadata: { name: "job", labels: { app: "a", "a.b/c": "d" } },
  status: {
    n: 3,
    text: "aab".repeat(20),
    conditions: [{ type: "Ready", status: "True", age: 1 }, { type: "Done", status: "False" }],
    counts: [5, 3, 1.5, -2, null, "7"],
    json: '{"a":[1,2]}',
  },
};

/** A document: an object of the usual sort, a large one, or anything. Large ones are named, so that inputs stay small. */
export type DocumentInput = "object" | "list" | "deep" | "text" | { value: Json };

export const documentInput: fc.Arbitrary<DocumentInput> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<DocumentInput>("object") },
  { weight: 2, arbitrary: fc.constantFrom<DocumentInput>("list", "deep", "text") },
  { weight: 2, arbitrary: jsonValue.map((value): DocumentInput => ({ value: value as Json })) },
);

/** The document itself. */
export function documentOf(input: DocumentInput): Json {
  if (typeof input === "object") return input.value;
  switch (input) {
    case "object":
      return OBJECT;
    case "list":
      return Array.from({ length: 2_000 }, (_, at) => ({ a: at, b: `b${at}`, ...OBJECT.metadata }));
    case "deep": {
      let value: Json = { a: 1 };
      for (let depth = 0; depth < 1_000; depth++) value = depth % 2 === 0 ? [value] : { a: value };
      return value;
    }
    case "text":
      return { text: "a".repeat(100_000), status: OBJECT.status };
  }
}
