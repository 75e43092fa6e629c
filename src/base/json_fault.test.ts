import { expect, test } from "vitest";
import { jsonFault } from "./json_fault.ts";

test.each([
  ["{bad", 'line 1, column 2: expected a name in double quotes, found "b"'],
  ["metadata:\n  name: y", 'line 1, column 1: expected a value, found "m"'],
  ['{"a":1,\n"b":2,\n"c":}', 'line 3, column 5: expected a value, found "}"'],
  ['{"a":{"b":[{},]}}', 'line 1, column 15: expected a value, found "]"'],
  ['{"a":1,}', 'line 1, column 8: expected a name in double quotes, found "}"'],
  ['{"a" 1}', 'line 1, column 6: expected ":", found "1"'],
  ['{"a":1 "b":2}', 'line 1, column 8: expected "," or "}", found "\\""'],
  ["[1,\r\n 2", 'line 2, column 3: expected "," or "]", found the end'],
  ['{"a":"x\ny"}', "line 1, column 8: expected the rest of a text"],
  ['"abc', "line 1, column 5: expected the rest of a text"],
  ['["\\q"]', "line 1, column 3: expected an escape of JSON"],
  ['["\\u12"]', "line 1, column 3: expected an escape of JSON"],
  ["[nul]", 'line 1, column 2: expected a value, found "n"'],
  ["[01]", 'line 1, column 2: expected a value, found "0"'],
  ["[😀]", 'line 1, column 2: expected a value, found "😀"'],
])("jsonFault(%j)", (text, fault) => {
  expect(jsonFault(text)).toContain(fault);
});

// What it takes for JSON, it takes as JSON.parse does.
test.each(["{bad", '{"a":[1,2.5e+3,-0,true,null,"\\u00e9\\/"],"b":{}}', "[ ]", '["\\"",{"":[]}]'])(
  "jsonFault() finds a mistake only where there is one: %j",
  (text) => {
    for (let end = 1; end <= text.length; end++) {
      const part = text.slice(0, end);
      let isJson = true;
      try {
        JSON.parse(part);
      } catch {
        isJson = false;
      }
      expect([part, jsonFault(part).includes("expected nothing more")]).toEqual([part, isJson]);
    }
  },
);
