import { expect, test } from "vitest";
import { cellText, tableLines, terminalText, yamlText } from "./output.ts";

test("yamlText() orders keys naturally: numbers by value, signs before letters", () => {
  const value = { "wf-2042": 1, "wf-563": 2, wf: 3, "wf[1]": 4, wfx: 5, a10: 6, a9: 7, a: 8 };
  expect(yamlText(value)).toBe(
    "a: 8\na9: 7\na10: 6\nwf: 3\nwf-563: 2\nwf-2042: 1\nwf[1]: 4\nwfx: 5\n",
  );
});

test("yamlText() uses double quotes only where YAML would read another type", () => {
  const value = {
    a: "true",
    b: "[0]",
    c: "2023-05-04T10:00:00Z",
    d: "12",
    e: "plain",
    f: "",
    g: "y",
  };
  expect(yamlText(value)).toBe(
    `a: "true"\nb: '[0]'\nc: "2023-05-04T10:00:00Z"\nd: "12"\ne: plain\nf: ""\ng: "y"\n`,
  );
});

test("yamlText() keeps the lines of a text and does not indent lists", () => {
  expect(yamlText({ list: [{ a: 1 }], text: "one\ntwo\n" })).toBe(
    "list:\n- a: 1\ntext: |\n  one\n  two\n",
  );
});

test("terminalText() shows what a terminal would obey, and leaves lines and tabs", () => {
  expect(terminalText("a\tb\nc\u001b[31md\r\u009b")).toBe("a\tb\nc\\u001b[31md\\u000d\\u009b");
  expect(cellText("a\tb\nc\u001b")).toBe("a\\u0009b\\u000ac\\u001b");
});

test("tableLines() aligns what has two places on a terminal, or none", () => {
  expect(tableLines(["A", "B"], [["語", "1"], ["한", "2"], ["🚀", "3"], ["e\u0301é", "4"]], 1))
    .toEqual(["A  B", "語 1", "한 2", "🚀 3", "e\u0301é 4"]);
});
