/** Ways in which a stored text may be wrong. */
import fc from "fast-check";
import { isJsonObject, type Json } from "../../../src/base/json.ts";
import { jsonValue, shortText } from "./texts.ts";

export type Damage =
  | { type: "gone" }
  /** Something else is there. */
  | { type: "text"; text: string }
  /** The end is missing, from a share of its length on. */
  | { type: "cut"; at: number }
  /** Something in between. */
  | { type: "insert"; at: number; text: string }
  /** It is JSON; one member, by a path of numbers, holds something else, or nothing. */
  | { type: "member"; path: number[]; value: Json | "gone" };

const share = fc.double({ min: 0, max: 1, noNaN: true });

export const damage: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Damage>({ type: "gone" }) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      shortText,
      fc.constantFrom(
        "",
        "null",
        "[]",
        "{}",
        "7",
        '"x"',
        '{"schema":999}',
        "\u0000\u0001",
        "[[[[[[",
      ),
      jsonValue.map((value) => JSON.stringify(value)),
    ).map((text): Damage => ({ type: "text", text })),
  },
  { weight: 1, arbitrary: share.map((at): Damage => ({ type: "cut", at })) },
  {
    weight: 1,
    arbitrary: fc.tuple(share, shortText)
      .map(([at, text]): Damage => ({ type: "insert", at, text })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(
      fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }),
      fc.oneof(
        { weight: 3, arbitrary: jsonValue as fc.Arbitrary<Json> },
        { weight: 1, arbitrary: fc.constant<"gone">("gone") },
        {
          weight: 2,
          arbitrary: fc.constantFrom<Json>(
            ...[null, [], {}, "", -1, 1e308, 999, true, [null], { a: null }, "9".repeat(400)],
          ),
        },
      ),
    ).map(([path, value]): Damage => ({ type: "member", path, value })),
  },
);

/** The text with the damage done; undefined when it is gone. */
export function damaged(text: string, how: Damage): string | undefined {
  switch (how.type) {
    case "gone":
      return undefined;
    case "text":
      return how.text;
    case "cut":
      return text.slice(0, Math.floor(text.length * how.at));
    case "insert": {
      const at = Math.floor(text.length * how.at);
      return text.slice(0, at) + how.text + text.slice(at);
    }
    case "member": {
      let value: Json;
      try {
        value = JSON.parse(text) as Json;
      } catch {
        return `${text}x`;
      }
      return JSON.stringify(withMember(value, how.path, how.value));
    }
  }
}

function withMember(value: Json, path: readonly number[], member: Json | "gone"): Json {
  const [at, ...rest] = path;
  const keys = Array.isArray(value) || isJsonObject(value) ? Object.keys(value) : [];
  const key = keys[(at ?? 0) % Math.max(1, keys.length)];
  if (at === undefined || key === undefined) return member;
  const copy = structuredClone(value) as { [key: string]: Json };
  if (rest.length === 0 && member === "gone") delete copy[key];
  else copy[key] = withMember(copy[key] ?? null, rest, member);
  return copy;
}
