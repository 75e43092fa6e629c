import { readdirSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.ts";
import { anyManifestSchema } from "../../src/spec/schema/json_schema.ts";
import { lintLines, lintManifests } from "../../src/spec/lint.ts";
import { parseDocuments } from "../../src/spec/parse.ts";
import { schemaProblems } from "../support/json_schema.ts";

const FOLDER = join(import.meta.dirname, "../../examples");
const files = (await readdir(FOLDER)).filter((name) =>
  name.endsWith(".yaml") && !name.endsWith(".test.yaml")
);

describe("every example manifest", () => {
  it("is found", () => expect(files.length).toBeGreaterThan(0));

  it.each(files)("%s passes lint without a warning and fits the JSON Schema", async (name) => {
    const documents = parseDocuments(await readFile(join(FOLDER, name), "utf8"));
    const values = documents.map(({ value }) => value);
    const results = lintManifests(values);
    expect(results.flatMap(lintLines)).toEqual([]);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
    const schema = anyManifestSchema();
    for (const value of values) expect(schemaProblems(schema, value as Json)).toEqual([]);
  });
});

describe("every manifest of the catalogue", () => {
  const CATALOGUE = join(import.meta.dirname, "../fixtures/manifests");
  const catalogue = readdirSync(CATALOGUE).filter((name) => name.endsWith(".test.yaml"));

  it("is found", () => expect(catalogue.length).toBeGreaterThan(30));

  it.each(catalogue)("%s fits the JSON Schema", async (name) => {
    const schema = anyManifestSchema();
    for (const { value } of parseDocuments(await readFile(join(CATALOGUE, name), "utf8"))) {
      const { workflow, manifests = [] } = value as { workflow?: Json; manifests?: Json[] };
      for (const manifest of [...workflow === undefined ? [] : [workflow], ...manifests]) {
        const inFile = typeof manifest === "string" ? undefined : manifest;
        if (inFile !== undefined) expect(schemaProblems(schema, inFile)).toEqual([]);
      }
    }
  });
});
