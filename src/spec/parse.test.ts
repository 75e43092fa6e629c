import { describe, expect, it } from "vitest";
import { parseDocuments, ParseError, parseManifests } from "./parse.ts";

const values = (text: string) => parseDocuments(text).map(({ value }) => value);

describe("parseDocuments()", () => {
  it("reads YAML 1.1 as the reference does", () => {
    expect(values(`
a: y
b: 0755
c: 2001-01-01
d: 12:30
e: 1_000
f: ~
g: "yes"
on: 5
1: 2
base: &base {x: 1}
merged: {<<: *base, z: 2}
`)).toEqual([{
      a: true,
      b: 493,
      c: "2001-01-01",
      d: "12:30",
      e: 1000,
      f: null,
      g: "yes",
      true: 5,
      1: 2,
      base: { x: 1 },
      merged: { x: 1, z: 2 },
    }]);
  });

  it("reads several documents and lists, and leaves empty ones out", () => {
    expect(values("a: 1\n---\n---\nb: 2\n---\nkind: List\nitems:\n- c: 3\n- d: 4\n")).toEqual([
      { a: 1 },
      { b: 2 },
      { c: 3 },
      { d: 4 },
    ]);
    expect(values("")).toEqual([]);
    expect(values('{"a": "y"}')).toEqual([{ a: "y" }]);
  });

  it("leaves byte order marks before documents out, and only those", () => {
    expect(values("\ufeffa: 1\n---\n\ufeffb: 2\n\ufeff--- # c\r\n\ufeffd: '\ufeff'\n"))
      .toEqual([{ a: 1 }, { b: 2 }, { d: "\ufeff" }]);
    expect(values('\ufeff{"a": 1}')).toEqual([{ a: 1 }]);
    expect(() => values("a: 1\n---\n\ufeffb: [\n")).toThrow("the [ on line 3, column 4 is");
  });

  it.each([
    ['a:\n  b: ["\n    x &&\n    y\n  "]\n  c: 1\n', { a: { b: [" x && y "], c: 1 } }],
    ['a:\n  b: "x\n  y"\n', { a: { b: "x y" } }],
    ["a:\n- b: 'x\n\ny'\n  c: |\n   'z\n", { a: [{ b: "x\ny", c: "'z\n" }] }],
    ["a:\n  b: [x,\n  w, {z:\n1}]\n  c: {d: [\n]}\n", {
      a: { b: ["x", "w", { z: 1 }], c: { d: [] } },
    }],
    ["a:\n  b: 'x ''\nc: ''y'''\n", { a: { b: "x ' c: 'y'" } }],
    ["a: [apply, -f, -]\nb: [-, [-]]\n", { a: ["apply", "-f", "-"], b: ["-", ["-"]] }],
  ])(
    "takes %j as the reference does, however lines between quotes and brackets are indented",
    (text, value) => {
      expect(values(text)).toEqual([value]);
    },
  );

  it("keeps the lines of what stands after texts that are indented too little", () => {
    const text = 'kind: Workflow\nspec:\n  entrypoint: "a\n  b"\n  suspend: maybe\n';
    expect(() => parseManifests(text)).toThrow("line 5: json: cannot unmarshal string");
  });

  it.each([
    'a:\n  b: "x\n---\n  y"\n',
    "a:\n  b: [x,\n--- \n  y]\n",
    "a: [- ]",
    'a:\n  b: "x\n  y" z\n',
    `a: "x\ny: "${"[".repeat(300)}`,
  ])("refuses %j all the same", (text) => {
    expect(() => parseDocuments(text)).toThrow(ParseError);
  });

  it("reads whole numbers to other bases, as the reference does", () => {
    expect(values("[0o755, 0O7, -0o1_0, 0X1F, 0B11, 0x1f, 0b11, 010]")).toEqual([
      [493, 7, -8, 31, 3, 31, 3, 8],
    ]);
    expect(values("[0o8, 0o, 0XG, '0o755', a0o7]")).toEqual([[
      "0o8",
      "0o",
      "0XG",
      "0o755",
      "a0o7",
    ]]);
  });

  it("takes for numbers what the reference does: other texts with an exponent or a point are text", () => {
    expect(values("[e2, E5, 1234e567, .e3, ., -., ._1, 1e1_0, .5, 1.e3, -1.5e+0_1, 1_000.5]"))
      .toEqual([[
        "e2",
        "E5",
        "1234e567",
        ".e3",
        ".",
        "-.",
        "._1",
        1e10,
        0.5,
        1000,
        -15,
        1000.5,
      ]]);
  });

  it("reads a number that a tag calls one", () => {
    expect(
      values("a: !!float 1\nb: !!float '1e3'\nc: !!int '7'\nd: !!bool yes\ne: !!str\nf: !foo 1"),
    )
      .toEqual([{ a: 1, b: 1000, c: 7, d: true, e: "", f: "1" }]);
  });

  it.each([
    ["a:\n  b: {{inputs.parameters.x}}", "line 2: A key must be a text. Write a template tag"],
    ["a:\n  ? [b]\n  : 1", "line 2: A key must be a text"],
    ["a:\n  null: 1", "line 2: A key must not be null"],
    ["a:\n  ~: 1", "line 2: A key must not be null"],
    ["a: 1\n: 2", "A key must not be null"],
    ["a:\n  b: .inf", "line 2: A number must be finite. Write a text in quotes: '.inf'"],
    ["a: [.nan]", "line 1: A number must be finite"],
    ["a: !!int", "line 1: What stands after !!int has another type"],
    ["a: !!int 1.0", "line 1: What stands after !!int has another type"],
    ["a: !!bool 1", "line 1: What stands after !!bool has another type"],
    ["a: !!null x", "line 1: What stands after !!null has another type"],
    ["a: !!float", "line 1, column 4: What stands after !!float is no number"],
    ["a: !!float x", "line 1, column 4: What stands after !!float is no number"],
  ])("refuses %j, which would become something else", (text, message) => {
    expect(() => parseDocuments(text)).toThrow(message);
  });

  it("refuses a merge of what is no mapping", () => {
    expect(() => values("<<: 1\n")).toThrow(ParseError);
    expect(() => values("a: &x [1]\nb: {<<: *x}\n")).toThrow(ParseError);
  });

  it("lets no key reach a prototype", () => {
    const [value] = values("__proto__: {polluted: 1}\n") as object[];
    expect(Object.keys(value ?? {})).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each([
    ["a mistake", "a: 1\nb: c: d\n", "line 2, column 4: "],
    ["a key given twice", "a: 1\na: 2\n", "(Map keys must be unique)"],
    ["an alias to nothing", "a: *b\n", "Unresolved alias"],
    ["a list that never ends", "[".repeat(50_000), "nested deeper than 200 levels"],
    ["deep JSON", `${'{"a":'.repeat(300)}1${"}".repeat(300)}`, "nested deeper than 200 levels"],
  ])("refuses %s", (_name, text, message) => {
    expect(() => parseDocuments(text)).toThrow(ParseError);
    expect(() => parseDocuments(text)).toThrow(message);
  });

  it.each([
    ["a:\n\tb: 1", "line 2, column 1: a tab stands where spaces must"],
    ["a:\n  - b: 1\n   c: 2", "line 3, column 1: this is neither a new item of the list above"],
    ["a:\n- b\nc:\n  - d\n  e: 2", "line 5, column 1: this is indented otherwise"],
    ["a:\n  b: 1\n   c: 2", "line 2, column 6: a second colon on this line, or a line below"],
    ["kind:Workflow\na: 1", "line 1, column 1: expected a name, a colon and a space"],
    ["a: 1\nb\nc: 2", "line 2, column 1: expected a name, a colon and a space"],
    ['a: ["x" "y"]', "line 1, column 9: look for a missing comma"],
    ['{"a": 1}{"b": 2}', "line 1, column 9: something stands after the end of a value"],
    ["a: @b", "line 1, column 4: a text that begins with this character must be in quotes"],
    ["a: {{b}} c", "line 1, column 10: something stands after the end of a value"],
    ["a: [b]]", "line 1, column 7: there is a closing bracket more"],
    ["a: 1\na: 2", "line 2, column 1: this name stands twice in one object"],
    ['a: "\\d"', "line 1, column 5: between double quotes a backslash begins an escape"],
    ["a: &x 1\nb: *x\nc: *y", "line 3, column 4: nothing before this has the anchor"],
    ["a: 1\n---\nb:\n- *z", "line 4, column 3: nothing before this has the anchor"],
  ])("says of %j where to look, and what for", (text, message) => {
    expect(() => parseDocuments(text)).toThrow(message);
  });

  it.each([
    ["b: 1\na: [x\nc: 2", "the [ on line 2, column 4 is not closed: look for a missing ]"],
    ["a: [1, {b: 2\r\nc: [3]]", "the { on line 1, column 8 is not closed"],
    ["a: it's [\nb: '[ {'\nc: |\n  [ \"\nd: [1\n", "the [ on line 5, column 4 is not closed"],
    ['a: "b"\nc: "d\ne: 1\n', 'the " on line 2, column 4 is not closed: look for a missing "'],
    ["a: 'b\nc: 1\n", "the ' on line 1, column 4 is not closed"],
    ['{"a": 1,\n"b": [2\n', "the [ on line 2, column 6 is not closed"],
  ])("names the bracket or the quote of %j that is not closed", (text, message) => {
    expect(() => parseDocuments(text)).toThrow(message);
  });

  it("keeps the words of the parser", () => {
    expect(() => parseDocuments("a: [x\nb: 1")).toThrow(
      "look for a missing ] (Flow sequence in block collection must be sufficiently indented and end with a ])",
    );
  });

  it("refuses aliases that multiply without bound", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 10; level++) {
      lines.push(`a${level}: &a${level} [${Array(9).fill(`*a${level - 1}`).join(", ")}]`);
    }
    expect(() => parseDocuments(lines.join("\n"))).toThrow("alias");
  });

  it.each([
    [
      "one long list a hundred times",
      `a: &a [${Array(20_000).fill("x")}]\nb: [${Array(99).fill("*a")}]`,
    ],
    [
      "lists of lists",
      `a: &a [${Array(3_000).fill("x")}]\nb: &b [${Array(9).fill("*a")}]\n` +
      `c: &c [${Array(9).fill("*b")}]\nd: [${Array(9).fill("*c")}]`,
    ],
    ["a list without aliases", `{"a": [${Array(1_000_001).fill(1)}]}`],
  ])("refuses %s: too many members", (_, text) => {
    expect(() => parseDocuments(text)).toThrow(/more than 1000000 members/);
  });

  it("refuses a text that is too long", () => {
    expect(() => parseDocuments("a: 1", { maxLength: 3 })).toThrow("longer than 3 characters");
  });
});

it("what is said about a text does not quote all of it", () => {
  const long = `a: *${"x".repeat(10_000)}\n`;
  let message = "";
  try {
    parseDocuments(long);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toMatch(/alias.* xxx.*…$/s);
  expect(message.length).toBeLessThan(400);
});

describe("parseManifests()", () => {
  it("tells the line of a value that does not fit", () => {
    const text =
      "kind: Workflow\nmetadata:\n  name: ok\n---\nkind: Workflow\nspec:\n  suspend: maybe\n";
    expect(() => parseManifests(text)).toThrow(
      "line 7: json: cannot unmarshal string into Go struct field WorkflowSpec.spec.suspend of type bool",
    );
  });

  it("tells the line of an unknown member of a step", () => {
    const text = [
      "kind: Workflow",
      "spec:",
      "  templates:",
      "  - name: a",
      "    steps:",
      "    - - name: b",
      "        tmpl: c",
    ].join("\n");
    expect(() => parseManifests(text)).toThrow('line 7: json: unknown field "tmpl"');
  });

  it("takes an unquoted n for a truth, as YAML 1.1 does", () => {
    expect(() => parseManifests("kind: Workflow\nmetadata: {name: n}\n")).toThrow(
      "line 2: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string",
    );
  });
});

it("brackets that are opened without end are refused before they are parsed", () => {
  for (const open of ["[", "{", "[{", '{"a": [']) {
    expect(() => parseDocuments(`kind: Workflow\nspec: ${open.repeat(100_000)}`)).toThrow(
      /nested deeper than 200/,
    );
  }
  const text = "[".repeat(300);
  expect(parseDocuments(`a: "${text}"\nb: |\n  ${text}\n`)[0]?.value)
    .toEqual({ a: text, b: `${text}\n` });
});
