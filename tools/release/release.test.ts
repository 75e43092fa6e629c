/** What a release refuses, and what it reads from the changelog. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VERSION } from "../../src/base/version.ts";
import { notesOf, withRelease } from "./changelog.ts";
import { prepare } from "./prepare.ts";
import { publicationFaults, readiness } from "./readiness.ts";
import { run } from "./run.ts";
import { isVersion, namedVersions, versionFaults, writeVersions } from "./versions.ts";

const ROOT = join(import.meta.dirname, "../..");
const FILES = [
  "package.json",
  "deno.json",
  "helm/sluice/Chart.yaml",
  "src/base/version.ts",
  "CHANGELOG.md",
];
const CHANGELOG = `# Changelog

## Unreleased

Not yet.

## 1.10.0 (2026-02-01)

Ten.

## 1.1.0 (2026-01-01)

One.
`;

test("everything that names the version names the same", () => {
  const versions = namedVersions(ROOT);
  expect(versionFaults(versions)).toEqual([]);
  expect(versions.map(({ version }) => version)).toEqual(Array(5).fill(VERSION));
});

test.each([
  ["1.2.3", true],
  ["1.2.3-rc.1", true],
  ["1.2", false],
  ["v1.2.3", false],
  ["01.2.3", false],
  ["1.2.3-", false],
  ["1.2.3; rm", false],
])("%s is a version: %s", (text, is) => expect(isVersion(text)).toBe(is));

describe("the changelog", () => {
  test("has the notes of a version, and of no other", () => {
    expect(notesOf(CHANGELOG, "1.1.0")).toBe("One.");
    expect(notesOf(CHANGELOG, "1.10.0")).toBe("Ten.");
    expect(notesOf(CHANGELOG, "1.1")).toBeUndefined();
    expect(notesOf("# Changelog\n\n## 1.0.0\n\n## 0.9.0\n\nOld.\n", "1.0.0")).toBeUndefined();
  });

  test("turns what is unreleased into a section", () => {
    const text = withRelease(CHANGELOG, "2.0.0", "2026-03-01");
    expect(notesOf(text, "2.0.0")).toBe("Not yet.");
    expect(notesOf(text, "Unreleased")).toBeUndefined();
    expect(() => withRelease(text, "2.0.1", "2026-03-02")).toThrow("nothing under");
    expect(() => withRelease(CHANGELOG, "1.1.0", "2026-03-01")).toThrow("already has a section");
  });
});

describe("a checkout", () => {
  let root: string;
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: root });
  const write = (file: string, change: (text: string) => string) =>
    writeFileSync(join(root, file), change(readFileSync(join(root, file), "utf8")));
  const commit = () => void git("commit", "--quiet", "--all", "--message", "changed");
  const faults = () => {
    const found = readiness(root);
    return "faults" in found ? found.faults : [];
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "sluice-checkout-"));
    for (const file of FILES) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      cpSync(join(ROOT, file), join(root, file));
    }
    write("CHANGELOG.md", () => CHANGELOG);
    writeVersions(root, "1.10.0");
    git("init", "--quiet");
    git("add", ".");
    commit();
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test("is ready when it is clean, and all places and the changelog have the version", () => {
    expect(readiness(root)).toEqual({ version: "1.10.0", notes: "Ten." });
  });

  test("that is not clean is refused", () => {
    writeFileSync(join(root, "new.txt"), "");
    expect(faults()).toEqual([
      "the working tree is not clean (new.txt): commit or remove what changed",
    ]);
  });

  test.each([
    ["deno.json", "deno.json (version)"],
    ["src/base/version.ts", "src/base/version.ts (VERSION)"],
  ])("whose %s has another version is refused", (file, place) => {
    write(file, (text) => text.replace("1.10.0", "1.9.0"));
    commit();
    expect(faults()).toEqual([
      `${place} is 1.9.0, but package.json (version) is 1.10.0: ` +
      "write 1.10.0, or run deno task release --prepare VERSION",
    ]);
  });

  test("whose chart installs another version is refused", () => {
    write(
      "helm/sluice/Chart.yaml",
      (text) => text.replace(/^appVersion: .*$/m, "appVersion: 1.9.0"),
    );
    commit();
    expect(faults()).toEqual([
      expect.stringMatching(/^helm\/sluice\/Chart.yaml \(appVersion\) is/),
    ]);
  });

  test("whose version the changelog doesn't have is refused", () => {
    writeVersions(root, "1.11.0");
    commit();
    expect(faults()).toEqual([
      'CHANGELOG.md has no section "## 1.11.0": run deno task release --prepare 1.11.0, and commit',
    ]);
  });

  test("is published only from the tag, with the address that npm's provenance names", () => {
    const without = publicationFaults(root, "1.10.0");
    expect(without).toEqual([
      expect.stringContaining("does not have the tag v1.10.0"),
      expect.stringContaining("package.json has no repository"),
    ]);
    write("package.json", (text) => text.replace("{", '{\n  "repository": "github:a/b",'));
    commit();
    git("tag", "v1.10.0");
    expect(publicationFaults(root, "1.10.0")).toEqual([]);
  });

  test("stays as it is when a version cannot be prepared", async () => {
    await expect(prepare(root, "2", new Date())).rejects.toThrow('"2" is no version');
    await expect(prepare(root, "1.1.0", new Date())).rejects.toThrow("already has a section");
    expect(git("status", "--porcelain")).toBe("");
  });
});
