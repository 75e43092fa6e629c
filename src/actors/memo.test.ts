import { expect, test } from "vitest";
import type { Effect } from "../engine/effect.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { saveMemo } from "./memo.ts";

type SaveMemo = Extract<Effect, { type: "save-memo" }>;

const NAME = "cache";
const LABELS = { "workflows.argoproj.io/configmap-type": "Cache" };
const timeOf = (at: number) => new Date(Date.UTC(2030, 0, 1) + at * 1_000).toISOString();

function memoOf(at: number, size: number): SaveMemo {
  const entry = JSON.stringify({
    nodeID: `n-${at}`,
    outputs: { result: "é".repeat(size / 2) },
    creationTimestamp: timeOf(at),
    lastHitTimestamp: timeOf(at),
  });
  // Members of an object that are numbers have an order of their own.
  return {
    type: "save-memo",
    id: `m-${at}`,
    namespace: "ns",
    configMap: NAME,
    key: `${9_999 - at}`,
    entry,
  } as SaveMemo;
}

test("a cache keeps the newest entries, as many as a ConfigMap holds", async () => {
  const { manifests } = openMemoryStore({ now: () => 0 });
  const data = { own: "x", other: "{" };
  const text = JSON.stringify({ metadata: { name: NAME }, data });
  await manifests.put(
    { kind: "ConfigMap", namespace: "ns", name: NAME, labels: LABELS, text },
    undefined,
  );
  for (let at = 0; at < 130; at++) {
    await saveMemo(manifests, memoOf(at, 10_000), "workflows.argoproj.io/");
  }
  const stored = await manifests.get("ConfigMap", "ns", NAME);
  expect(Buffer.byteLength(stored?.text ?? "")).toBeLessThan(1_200_000);
  const kept = JSON.parse(stored?.text ?? "{}").data as Record<string, string>;
  expect(kept).toMatchObject(data);
  const newest = Array.from({ length: 60 }, (_, back) => `${9_999 - 129 + back}`);
  expect(Object.keys(kept)).toEqual(expect.arrayContaining(newest));
  expect(kept).not.toHaveProperty("9999");
});

test("an entry that fills a cache alone is kept", async () => {
  const { manifests } = openMemoryStore({ now: () => 0 });
  for (const at of [0, 1]) {
    await saveMemo(manifests, memoOf(at, 2_000_000), "workflows.argoproj.io/");
  }
  const stored = await manifests.get("ConfigMap", "ns", NAME);
  expect(Object.keys(JSON.parse(stored?.text ?? "{}").data)).toEqual(["9998"]);
});
