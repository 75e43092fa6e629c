import fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../values/error.ts";
import { toJsonText } from "../values/go_text.ts";
import { queryJson } from "./jsonpath.ts";
import { RunContext } from "../values/run_context.ts";
import { fromJson } from "../values/values.ts";

const STORE = fromJson({
  store: {
    book: [
      { title: "Sayings", author: "Rees", price: 8.95, category: "reference" },
      { title: "Sword", author: "Waugh", price: 12.99, category: "fiction" },
      { title: "Moby", author: "Melville", price: 8.99, category: "fiction", isbn: "0-553" },
      { title: "Lord", author: "Tolkien", price: 22.99, category: "fiction", isbn: "0-395" },
    ],
    bicycle: { color: "red", price: 19.95 },
  },
  "a-b": { "c d": null, "e.f": "x[0]" },
  counts: [0, 1, "", "0", [], [0], {}, null, false],
  expensive: 10,
});

function query(path: string): string {
  return toJsonText(queryJson(STORE, path, new RunContext()));
}

test.each([
  ["$.expensive", "10"],
  ["$.store.book[0].title", '"Sayings"'],
  ["$['store']['book'][-1]['title']", '"Lord"'],
  ["$.store.book[*].author", '["Rees","Waugh","Melville","Tolkien"]'],
  ["$..author", '["Rees","Waugh","Melville","Tolkien"]'],
  ["$.store..price", "[19.95,8.95,12.99,8.99,22.99]"],
  ["$.store.book[0,2].title", '["Sayings","Moby"]'],
  ["$.store.book[1:3].title", '["Sword","Moby"]'],
  ["$.store.book[-2:].title", '["Moby","Lord"]'],
  ["$.store.book[::2].title", '["Sayings","Moby"]'],
  ["$.store.book[0:3:-1].title", '["Moby","Sword","Sayings"]'],
  ["$.store.bicycle['color','zz']", '["red"]'],
  ["$.store.book[(@.length-1)].title", '"Lord"'],
  ["$.store.book.length", "4"],
  ["$.store.book[?(@.isbn)].title", '["Moby","Lord"]'],
  ["$.store.book[?(@.price < 10)].title", '["Sayings","Moby"]'],
  ["$.store.book[?(@.price > $.expensive)].title", '["Sword","Lord"]'],
  ["$.store.book[?(@.category == 'fiction' && @.price < 10)].title", '["Moby"]'],
  ["$.store.book[?(@.author =~ '^[MR]')].title", '["Sayings","Moby"]'],
  ["$.store.book[?(@.title in ['Moby', 'x'])].price", "[8.99]"],
  ["$.store.book[?(@.title not in ['Moby', 'x'] && @.price < 9)].price", "[8.95]"],
  ["$.store.book[?(@.isbn not in ['x'])].price", "[8.95,12.99,8.99,22.99]"],
  ["$.store.book[?(@.isbn == null)]", "[]"],
  ["$.store.book[?(@.isbn != '0-395')].title", '["Moby"]'],
  ["$.store.book[?(@.isbn == null || @.price > .5e1)][0].price", "8.95"],
  ["$.store.book[?(@.price =~ '^8')].title", '["Sayings","Moby"]'],
  ["$.store.book[?(@.price > '9')]", "[]"],
  ["$.store.book[0,9].title", '["Sayings"]'],
  ["$.store.book[-1,-9].title", '["Lord"]'],
  ["$.counts[?(@)]", '[1,"0",[0]]'],
  ["$.counts[?(!@)]", '[0,"",[],{},null,false]'],
  ["$.store.bicycle['color','price']", '["red",19.95]'],
  ["$.store.book[?(@.isbn)][0].title", '"Moby"'],
  ["$.a-b['c d']", "null"],
  ["$['a-b']['e.f']", '"x[0]"'],
  ["$", toJsonText(STORE)],
])("%s selects %s", (path, want) => {
  expect(query(path)).toBe(want);
});

test.each([
  ["", "invalid JSONPath selector '' unexpected token '' at index 0"],
  ["a[", "invalid JSONPath selector 'a[' unexpected token 'a' at index 0"],
  ["$x", "invalid JSONPath selector '$x' unexpected token 'x' at index 1"],
  ["$.zz", "key: invalid token key 'zz' not found"],
  ["$.store.book[9]", "index: invalid token out of range"],
  ["$.expensive.x", "key: invalid token target. expected [map] got [float64]"],
  [
    "$.store.book[",
    "invalid JSONPath selector '$.store.book[' invalid token. '[' does not match any token format",
  ],
  ["$.store.__proto__", "key: invalid token key '__proto__' not found"],
  ["$.store.constructor", "key: invalid token key 'constructor' not found"],
])("%s fails: %s", (path, want) => {
  expect(() => query(path)).toThrow(new Fault(want));
});

test("any path gives a value or a Fault, within the budget", () => {
  const pieces = fc.constantFrom(
    ..."$|@|.|..|[|]|*|'a'|a|0|-1|:|,|?(|)|(|==|<|&&|!| |store|book|length|price".split("|"),
  );
  const paths = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 15 }).map((parts) => `$${parts.join("")}`),
  );
  fc.assert(
    fc.property(paths, (path) => {
      try {
        queryJson(STORE, path, new RunContext());
      } catch (error) {
        expect(error).toBeInstanceOf(Fault);
      }
    }),
    { numRuns: 5000 },
  );
  const deep = fromJson(JSON.parse("[".repeat(2000) + "]".repeat(2000)));
  expect(() => queryJson(deep, `$${"..*".repeat(20)}`, new RunContext())).toThrow(
    "budget exceeded",
  );
});

test("a filter that compares with a word without quotes is refused", () => {
  for (const filter of ["@.title == Moby", "@.title =~ Mo", "Moby"]) {
    expect(() => query(`$.store.book[?(${filter})]`)).toThrow(`invalid format '${filter}'`);
  }
});
