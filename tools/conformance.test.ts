import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("./conformance.ts", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "sluice-conformance-"));

afterAll(() => rmSync(dir, { recursive: true, force: true }));

function conformance(...args: string[]): { status: number | null; out: string; err: string } {
  const start = "deno" in process.versions ? ["run", "-A", SCRIPT] : [SCRIPT];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...start, ...args], {
    encoding: "utf8",
  });
  return { status, out: stdout, err: stderr };
}

function caseFolder(name: string, cases: readonly unknown[]): string {
  const folder = join(dir, name);
  mkdirSync(join(folder, "env"), { recursive: true });
  writeFileSync(join(folder, "env", "e.json"), JSON.stringify({ n: 2 }));
  writeFileSync(join(folder, "language.jsonl"), cases.map((c) => JSON.stringify(c)).join("\n"));
  return folder;
}

const GOOD = [
  { expr: "n + 1", env: "e", want: 3, type: "float" },
  { expr: "1 + 1", env: "e", want: 2, type: "int" },
  { expr: "1 + 'a'", env: "e", error: "compile", msg: "whatever" },
  { expr: "int('x')", env: "e", error: "runtime", msg: "whatever" },
  { expr: "9007199254740993", env: "e", want: { $int: "9007199254740993" }, type: "int" },
];

describe("deno task conformance", () => {
  test("ends with the count and status 0 when all cases pass", () => {
    const { status, out } = conformance("expr", caseFolder("good", GOOD));
    expect(out.trimEnd().split("\n").at(-1)).toMatch(/^expr: 5\/5/);
    expect(status).toBe(0);
  });

  test("prints each difference and has status 1", () => {
    const bad = [
      { expr: "1 + 1", env: "e", want: 2, type: "float" },
      { expr: "1 + 1", env: "e", want: 3, type: "int" },
      { expr: "1 + 1", env: "e", error: "runtime", msg: "x" },
      { expr: "1 +", env: "e", want: 1, type: "int" },
    ];
    const { status, out } = conformance("expr", caseFolder("bad", [...GOOD, ...bad]));
    expect(out).toContain("want float 2\n  got int 2");
    expect(out).toContain("want int 3\n  got int 2");
    expect(out).toContain("want runtime error: x\n  got int 2");
    expect(out).toContain("got compile error: unexpected token EOF (1:3)");
    expect(out.trimEnd().split("\n").at(-1)).toMatch(/^expr: 5\/9/);
    expect(status).toBe(1);
  });

  test("says what is wrong with its arguments and has status 2", () => {
    expect(conformance()).toMatchObject({ status: 2, err: expect.stringContaining("Usage:") });
    expect(conformance("nonsense", dir).status).toBe(2);
    const missing = conformance("expr", join(dir, "nowhere"));
    expect(missing.err).toContain("no such folder");
    expect(missing.status).toBe(2);
  });

  test("an empty folder is no success", () => {
    const empty = join(dir, "empty");
    mkdirSync(empty);
    expect(conformance("expr", empty).status).toBe(1);
  });
});
