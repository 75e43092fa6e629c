import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../base/json.ts";
import {
  finiteOnly,
  jsonText,
  locatedObjectsIn,
  objectsIn,
  readExactValues,
  readSource,
  readValues,
  withPlace,
} from "./manifests.ts";

test("a number that is too large is refused, and does not become null", () => {
  expect(() => JSON.parse('{"a": [{"n": 1e999}]}', finiteOnly)).toThrow("n is too large");
  expect(() => JSON.stringify({ a: NaN }, finiteOnly)).toThrow("a is too large, or no number");
  expect(JSON.parse('{"a": [1e300, null]}', finiteOnly)).toEqual({ a: [1e300, null] });
});

test("a refusal of a value's type comes with its place and what belongs there; another stays as it is", () => {
  const refusal = "json: cannot unmarshal object into Go struct field steps of type []map";
  const steps = (...steps: Json[]): JsonObject => ({
    spec: { templates: [{ name: "b" }, { name: "a", steps }] },
  });
  expect(withPlace(refusal, steps([], { name: "x" })))
    .toBe(`${refusal} (at spec.templates[1].steps[1]: write a list there)`);
  expect(withPlace(refusal, steps([]))).toBe(refusal);
  expect(withPlace("entrypoint is required", steps({}))).toBe("entrypoint is required");
  const told =
    "json: cannot unmarshal object into Go struct field value of type string; write it so";
  const parameters = { spec: { arguments: { parameters: [{ name: "p", value: {} }] } } };
  expect(withPlace(told, parameters)).toBe(`${told} (at spec.arguments.parameters[0].value)`);
});

test("the place of a value of the wrong type has its line, also in a list", () => {
  const refusal = "json: cannot unmarshal number into Go struct field args of type []string";
  const text =
    "# two\n---\na: 1\n---\n- b: 1\n- spec:\n    templates:\n    - container:\n        args: 5\n";
  const [, , third] = locatedObjectsIn(text, "f");
  if (third === undefined) throw new Error("there are three objects");
  expect(withPlace(refusal, third.object, third.lineOf))
    .toBe(`${refusal} (at spec.templates[0].container.args, line 9: write a list there)`);
});

describe("readSource()", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-manifests-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (bytes: Uint8Array) => {
    const path = join(folder, "x");
    writeFileSync(path, bytes);
    return path;
  };

  test("reads UTF-8 and marked UTF-16, without the mark", async () => {
    expect(await readSource(file(Buffer.from("\ufeffé: 名", "utf8")))).toBe("é: 名");
    const little = Buffer.from("\ufeffé: 名", "utf16le");
    expect(await readSource(file(little))).toBe("é: 名");
    expect(await readSource(file(Buffer.from(little).swap16()))).toBe("é: 名");
  });

  test("refuses another encoding, which would lose characters", async () => {
    const path = file(Buffer.from("name: José", "latin1"));
    await expect(readSource(path)).rejects.toThrow(`${path} is not a text in UTF-8`);
  });
});

test("readValues() tells on one line why a file can't be read, and does not quote all of it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-values-"));
  const path = join(folder, "v.yaml");
  writeFileSync(path, "who: [1\n");
  await expect(readValues(path)).rejects.toThrow(
    /^\S+v\.yaml: line 2, column 1: the \[ on line 1, column 6 is not closed: .*$/,
  );
  writeFileSync(path, `a: *${"x".repeat(5000)}`);
  await expect(readValues(path)).rejects.toThrow(/^.{100,500}…$/);
  rmSync(folder, { recursive: true });
});

test("names and values are read as the reference reads values, with all digits", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-values-"));
  const path = join(folder, "v.yaml");
  const read = async (text: string) => {
    writeFileSync(path, text);
    const values = await readExactValues(path);
    return Object.entries(values).map(([name, value]) => [name, jsonText(value)]);
  };
  const id = "12345678901234567890";
  expect(await read(`id: ${id}\nin: {id: [-${id}]}\nmode: 0755\nflag: yes\nf: 1.10\nn: 7\n`))
    .toEqual([
      ["id", id],
      ["in", `{"id":[-${id}]}`],
      ["mode", "493"],
      ["flag", "true"],
      ["f", "1.1"],
      ["n", "7"],
    ]);
  expect(await read("x: &x {a: 1}\ny: {<<: *x, b: 2}\n"))
    .toEqual([["x", '{"a":1}'], ["y", '{"a":1,"b":2}']]);
  expect(await read(`{"id": ${id}}`)).toEqual([["id", id]]);
  writeFileSync(path, "n: 7\nmany: [12345678901234567890, 1.5]\n");
  expect(await readValues(path)).toEqual({ n: 7, many: [Number(id), 1.5] });
  for (const text of ["- a", "", "a: 1\n---\nb: 2\n"]) {
    await expect(read(text)).rejects.toThrow("does not hold names and values");
  }
  rmSync(folder, { recursive: true });
});

test("objectsIn() finds the objects of a list", () => {
  expect(objectsIn('[{"a": 1}, {"b": 2}]', "f")).toEqual([{ a: 1 }, { b: 2 }]);
  expect(objectsIn("- a: 1\n---\nb: 2\n", "f")).toEqual([{ a: 1 }, { b: 2 }]);
  expect(() => objectsIn("- a: 1\n- 2\n", "f")).toThrow("f holds something that is not a manifest");
  expect(() => objectsIn("[]", "f")).toThrow("f holds no manifest");
});
