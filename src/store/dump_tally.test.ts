import { describe, expect, test } from "vitest";
import type { StoreRecord } from "./dump.ts";
import { differences, Tally } from "./dump_tally.ts";

const HOUR_MS = 3_600_000;
const NOW = 1_700_000_000_000;

function sectionsOf(...records: StoreRecord[]) {
  const tally = new Tally();
  tally.add(records);
  return tally.sections();
}

const parts = (actor: string, some: Record<string, string>): StoreRecord => ({
  type: "parts",
  actor,
  parts: some,
});
const actor = (id: string, some: Record<string, string>): StoreRecord => ({
  type: "actor",
  actor: id,
  version: "1",
  parts: some,
});
const answer = (key: string, expiresAt: number): StoreRecord => ({
  type: "answer",
  key,
  fingerprint: "f",
  answer: null,
  expiresAt,
});

describe("the checksums", () => {
  test("depend neither on the order nor on how parts are cut up", () => {
    const one = sectionsOf(parts("a", { x: "1" }), actor("a", { y: "2" }), actor("b", {}));
    const other = sectionsOf(actor("b", {}), parts("a", {}), actor("a", { y: "2", x: "1" }));
    expect(differences(one, other, NOW)).toEqual([]);
    expect(one["part"]?.count).toBe(2);
  });

  test("tell a changed, a missing, a doubled and a misplaced part", () => {
    const wanted = sectionsOf(actor("a", { x: "1" }), actor("b", { x: "2" }));
    const cases: StoreRecord[][] = [
      [actor("a", { x: "1" }), actor("b", { x: "3" })],
      [actor("a", { x: "1" }), actor("b", {})],
      [actor("a", { x: "1" }), parts("a", { x: "1" }), actor("b", { x: "2" })],
      [actor("a", { x: "2" }), actor("b", { x: "1" })],
    ];
    for (const records of cases) {
      expect(differences(wanted, sectionsOf(...records), NOW)).toHaveLength(1);
    }
  });

  test("say which kinds differ", () => {
    const found = differences(sectionsOf(actor("a", {})), sectionsOf(), NOW);
    expect(found).toEqual(["actor: 0 in place of 1"]);
  });
});

test("what expires meanwhile is no difference; what lasts is", () => {
  const soon = answer("soon", NOW + 1);
  const later = answer("later", NOW + 2 * HOUR_MS);
  expect(differences(sectionsOf(soon, later), sectionsOf(later), NOW)).toEqual([]);
  expect(differences(sectionsOf(soon, later), sectionsOf(soon), NOW)).toHaveLength(1);
});
