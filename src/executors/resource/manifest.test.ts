import { expect, test } from "vitest";
import { readManifest } from "./manifest.ts";

test("a manifest is read as YAML 1.1, as a cluster's tools read it", () => {
  const manifest = `
kind: Secret
base: &base {mode: 0644}
items: {<<: *base, other: 0o755}
on: yes
commit: 1234e567
day: 2024-01-02
`;
  expect(readManifest(manifest, false, false)).toEqual({
    kind: "Secret",
    base: { mode: 420 },
    items: { mode: 420, other: 493 },
    true: true,
    commit: "1234e567",
    day: "2024-01-02",
  });
});

test("a manifest with a mistake is refused, not taken as far as it was read", () => {
  expect(() => readManifest("kind: X\nmetadata: {name: a\n", false, false)).toThrow(
    /^resource\.manifest is not YAML: Flow map .* at line 3, column 1$/,
  );
  // As a parameter with line breaks leaves it.
  expect(() => readManifest("kind: ConfigMap\ndata:\n  text: a\nb: c: d\n", false, false)).toThrow(
    "resource.manifest is not YAML: Nested mappings",
  );
  expect(() => readManifest("- op: add\n  - path\n", true, true)).toThrow("is not YAML");
});

test("of two members with one name, the last counts", () => {
  expect(readManifest("a: 1\na: 2\n", false, false)).toEqual({ a: 2 });
});

test("lines between quotes may be indented as one likes", () => {
  expect(readManifest('kind: X\ndata:\n  text: "a\n  b"\n', false, false))
    .toEqual({ kind: "X", data: { text: "a b" } });
});
