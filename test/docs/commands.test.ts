/** Every command of `sluice` that the documentation names exists, with the options that it has there. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = [".", "docs", "docs/reference", "docs/tutorials"].flatMap((folder) =>
  readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md")).map((name) =>
    join(folder, name)
  )
);
/** The rest of a line, or of inline code, after the program's name; a backslash at its end continues it. */
const COMMAND = /(?:^|[`$(] ?|&& |\| )sluice ((?:\\\n|[^\n`|&;)])*)/gm;
/** Text in quotes is no option. */
const WORD = /'[^']*'|"[^"]*"|[^\s'"]+/g;

let program: Command;
beforeAll(async () => {
  program = await buildProgram(() => {});
});

function faultsOf(line: string): string[] {
  const words = line.replaceAll("\\\n", " ").match(WORD) ?? [];
  const options = [...program.options];
  let command = program;
  for (const word of words) {
    if (command === program && word === "server") return [];
    const found = command.commands.find((one) => [one.name(), ...one.aliases()].includes(word));
    if (found !== undefined) {
      command = found;
      options.push(...found.options);
    } else if (command.commands.length > 0 && /^[a-z]/.test(word)) {
      return [`no command ${word}: ${line}`];
    }
  }
  return words.flatMap((word) => {
    const name = /^--[a-z][a-z0-9-]*/.exec(word)?.[0];
    return name === undefined || options.some(({ long }) => long === name)
      ? []
      : [`no option ${name}: ${line}`];
  });
}

test.each(PAGES)("%s names commands that exist", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const faults = [...text.matchAll(COMMAND)].flatMap(([, line = ""]) => faultsOf(line));
  expect(faults).toEqual([]);
});

test("what does not exist is found", () => {
  const lines = [..."`sluice frob x` or $ sluice get --frob\n".matchAll(COMMAND)];
  expect(lines.flatMap(([, line = ""]) => faultsOf(line))).toEqual([
    "no command frob: frob x",
    "no option --frob: get --frob",
  ]);
});
