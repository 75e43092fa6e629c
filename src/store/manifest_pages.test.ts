import { expect, test } from "vitest";
import { ManifestKind } from "../spec/manifest.ts";
import { manifestPages } from "./manifest_pages.ts";
import { openMemoryStore } from "./memory/store.ts";

test("a long list comes in pages, and others have their turn between them", async () => {
  const { manifests } = openMemoryStore();
  const kind = ManifestKind.WorkflowEventBinding;
  for (let at = 0; at < 1_200; at++) {
    const name = `b${String(at).padStart(4, "0")}`;
    await manifests.put({ kind, namespace: "n", name, text: "{}", labels: {} }, undefined);
  }
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  const sizes: number[] = [];
  const names: string[] = [];
  const seen: number[] = [];
  for await (const { items } of manifestPages(manifests, kind, { namespace: "n" })) {
    sizes.push(items.length);
    names.push(...items.map(({ name }) => name));
    seen.push(turns);
  }
  clearInterval(ticking);
  expect(sizes).toEqual([500, 500, 200]);
  expect(new Set(names).size).toBe(1_200);
  expect(seen[2]).toBeGreaterThan(seen[0] ?? 0);
  expect((await Array.fromAsync(manifestPages(manifests, kind, { namespace: "none" }))).length)
    .toBe(1);
});
