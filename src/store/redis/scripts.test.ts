import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as eventScripts from "./events/scripts.ts";
import * as listScripts from "./list_scripts.ts";
import type { RedisScript } from "./script.ts";
import * as scripts from "./scripts.ts";

/** Header of each script by its name. */
function headersOf(file: string): Map<string, string> {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  const found = text.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const (\w+) = defineScript/g);
  return new Map([...found].map(([, header = "", name = ""]) => [name, header]));
}

const headers = new Map([
  ...headersOf("./scripts.ts"),
  ...headersOf("./events/scripts.ts"),
  ...headersOf("./list_scripts.ts"),
]);
const all: [string, RedisScript][] = Object.entries({
  ...scripts,
  ...eventScripts,
  ...listScripts,
});

describe("headers of the Lua scripts", () => {
  test("there is one for each", () => {
    expect(all.length).toBeGreaterThan(15);
    expect([...headers.keys()].sort()).toEqual(all.map(([name]) => name).sort());
  });

  test.each(all)("%s: keys, arguments and every refusal are listed", (name, { source }) => {
    const header = headers.get(name) ?? "";
    expect(header).toMatch(/\* KEYS {2}1 /);
    expect(header).toMatch(/\* Returns {2}/);
    expect([...source.matchAll(/KEYS\[(\d+)\]/g)].every(([, index]) => index === "1")).toBe(true);
    for (const [, index] of source.matchAll(/ARGV\[(\d+)\]/g)) {
      expect(header).toMatch(new RegExp(`\\b${index} |for each event`));
    }
    for (const [, code] of source.matchAll(/(?:return \{|and |or )'(\w+)'[,} ]/g)) {
      if (code !== undefined && /^(ok|stale|session|exists|missing|changed|full)$/.test(code)) {
        expect(header).toContain(`'${code}'`);
      }
    }
  });
});
