import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { globalFault, importFault, LAYERS, memberFault, ROOMS } from "./lint_layers.ts";

const ROOT = join(import.meta.dirname, "..");

describe("importFault()", () => {
  test.each([
    ["/r/src/engine/step.ts", "../actors/host.ts", "engine must not import actors"],
    [
      "/r/src/executors/data.ts",
      "../engine/view.ts",
      "executors may import only types from engine",
    ],
    ["/r/src/engine/step.ts", "redis", "engine is pure"],
    ["/r/src/engine/step.ts", "node:fs", "engine is pure"],
    ["/r/src/store/redis/store.ts", "../../service/workflows.ts", "store must not import service"],
    ["/r/src/base/json.ts", "../main.ts", "above every layer"],
    ["/r/src/service/deps.ts", "../wiring/system.ts", "service must not import wiring"],
    ["/r/src/base/json.ts", "../../test/support/x.ts", "src must not import from"],
    [
      "/r/src/store/redis/store.ts",
      "../sqlite/store.ts",
      "store/redis must not import store/sqlite",
    ],
    ["/r/src/http/app.ts", "./routes/all.ts", "http/. must not import http/routes"],
    ["/r/src/store/other/a.ts", "../port.ts", "not in the table of rooms"],
    ["/r/src/other/a.ts", "../base/json.ts", "not in the layer table"],
  ])("%s importing %s is refused", (file, source, reason) => {
    expect(importFault(file, source)).toContain(reason);
  });

  test.each([
    ["/r/src/engine/step.ts", "../spec/manifest.ts"],
    ["/r/src/engine/step.ts", "./state.ts"],
    ["/r/src/expr/values/regex.ts", "re2js"],
    ["/r/src/expr/functions/sprig_hash.ts", "@noble/hashes/sha2.js"],
    ["/r/src/store/redis/store.ts", "redis"],
    ["/r/src/engine/step.test.ts", "vitest"],
    ["/r/src/store/redis/store.ts", "../port.ts"],
    ["/r/src/store/redis/store.ts", "./keys.ts"],
    ["/r/src/store/open_store.ts", "./redis/store.ts"],
    ["/r/src/main.ts", "./wiring/system.ts"],
    ["/r/src/wiring/actors.ts", "../actors/host.ts"],
  ])("%s may import %s", (file, source) => {
    expect(importFault(file, source)).toBeUndefined();
  });
});

test("types may be imported where values may not", () => {
  expect(importFault("/r/src/executors/data.ts", "../engine/effect.ts", true)).toBeUndefined();
});

test("globals and clocks are refused in pure folders only", () => {
  expect(globalFault("/r/src/engine/a.ts", "fetch")).toContain("pure");
  expect(globalFault("/r/src/store/a.ts", "fetch")).toBeUndefined();
  expect(memberFault("/r/src/expr/a.ts", "Date", "now")).toContain("pure");
  expect(memberFault("/r/src/expr/a.ts", "Math", "max")).toBeUndefined();
});

describe("docs/architecture.md", () => {
  const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");

  /** First and last column of the table below a heading; the last is a list of names, or a dash. */
  function tableBelow(heading: string): Record<string, string[]> {
    const [, section = ""] = page.split(`\n### ${heading}\n`);
    const rows = (section.split(/\n#+ /)[0] ?? "").matchAll(/^\| `([^`]+)` \|.*\| ([^|]+) \|$/gm);
    return Object.fromEntries([...rows].map(([, name = "", allowed = ""]) => [
      name,
      allowed === "–" ? [] : allowed.split(", ").sort(),
    ]));
  }

  function sorted(table: Record<string, readonly string[]>): Record<string, string[]> {
    return Object.fromEntries(
      Object.entries(table).map(([name, allowed]) => [name, allowed.toSorted()]),
    );
  }

  const foldersIn = (path: string) =>
    readdirSync(join(ROOT, path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);

  test("shows the layers as the lint has them", () => {
    const layers = Object.entries(LAYERS)
      .map(([folder, allowed]) => [`src/${folder}`, allowed] as const);
    expect(tableBelow("Layers")).toEqual(sorted(Object.fromEntries(layers)));
  });

  test("shows the rooms as the lint has them", () => {
    const rooms = Object.entries(ROOMS).flatMap(([folder, table]) =>
      Object.entries(table).map(([room, allowed]) => [`${folder}/${room}`, allowed] as const)
    );
    expect(tableBelow("Rooms")).toEqual(sorted(Object.fromEntries(rooms)));
  });

  test("names every folder of src", () => {
    const folders = foldersIn("src");
    const rooms = folders.flatMap((folder) =>
      foldersIn(`src/${folder}`).map((room) => `${folder}/${room}`)
    );
    expect(Object.keys(tableBelow("Layers")).sort())
      .toEqual(folders.map((folder) => `src/${folder}`).sort());
    expect(Object.keys(tableBelow("Rooms")).filter((room) => !room.endsWith("/.")).sort())
      .toEqual(rooms.sort());
  });
});
