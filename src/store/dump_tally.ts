/**
 * What a copy is checked by: for each kind of record how many there are, and a checksum that does not depend on their order.
 * The parts of an actor are counted one by one, since stores cut large actors up in different ways.
 */
import { hash } from "node:crypto";
import type { StoreRecord } from "./dump.ts";

/** Number and checksum of each section. A section is a kind of record, or those of one kind that expire in one hour. */
export type Sections = Record<string, { count: number; sum: string }>;

const HOUR_MS = 3_600_000;
const EXPIRES = " until ";
const MODULUS = 1n << 128n;

export class Tally {
  readonly #sections = new Map<string, { count: number; sum: bigint }>();

  add(records: readonly StoreRecord[]): void {
    for (const record of records) {
      for (const [section, unit] of unitsOf(record)) this.#count(section, unit);
    }
  }

  /** Number of records of a kind. */
  count(section: string): number {
    return this.#sections.get(section)?.count ?? 0;
  }

  sections(): Sections {
    const names = [...this.#sections.keys()].sort();
    return Object.fromEntries(names.map((name) => {
      const { count = 0, sum = 0n } = this.#sections.get(name) ?? {};
      return [name, { count, sum: sum.toString(16).padStart(32, "0") }];
    }));
  }

  #count(section: string, unit: string): void {
    const known = this.#sections.get(section) ?? { count: 0, sum: 0n };
    const digest = hash("sha256", unit, "hex").slice(0, 32);
    known.count++;
    known.sum = (known.sum + BigInt(`0x${digest}`)) % MODULUS;
    this.#sections.set(section, known);
  }
}

/**
 * Where two stores differ, for the reader of a message; [] when they don't.
 * @param now epoch ms: what expires in this hour or has expired may be missing in either
 */
export function differences(wanted: Sections, found: Sections, now: number): string[] {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])].sort();
  return names.flatMap((name) => {
    const [, from] = name.split(EXPIRES);
    if (from !== undefined && Date.parse(from) <= now) return [];
    const [one, other] = [wanted[name], found[name]];
    if (one?.count !== other?.count) {
      return [`${name}: ${other?.count ?? 0} in place of ${one?.count ?? 0}`];
    }
    return one?.sum === other?.sum ? [] : [`${name}: another checksum`];
  });
}

function sectionOf(record: StoreRecord): string {
  if (record.type !== "answer" && record.type !== "dedupe") return record.type;
  const hour = Math.floor(record.expiresAt / HOUR_MS) * HOUR_MS;
  return `${record.type}${EXPIRES}${new Date(hour).toISOString()}`;
}

/** The texts that stand for a record, each with its section. */
function* unitsOf(record: StoreRecord): Generator<[section: string, unit: string]> {
  if (record.type === "remains") return yield* partUnits("remains", record.name, record.parts);
  if (record.type === "parts") return yield* partUnits("part", record.actor, record.parts);
  if (record.type !== "actor") return yield [sectionOf(record), canonical(record)];
  const { parts, ...rest } = record;
  yield ["actor", canonical(rest)];
  yield* partUnits("part", record.actor, parts);
}

function* partUnits(
  section: string,
  owner: string,
  parts: Record<string, string>,
): Generator<[string, string]> {
  for (const key in parts) yield [section, `${owner}\0${key}\0${parts[key]}`];
}

/** JSON in which the order of members says nothing. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  members.sort(([a], [b]) => a < b ? -1 : 1);
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}
