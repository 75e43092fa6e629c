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
