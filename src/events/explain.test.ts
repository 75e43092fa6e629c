import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../base/json.ts";
import type { ConditionPart } from "../expr/templates/explain.ts";
import { explainSelector } from "./explain.ts";
import { BoundEvent } from "./match.ts";

const bindingOf = (selector: string) => ({ metadata: {}, spec: { event: { selector } } });
const eventOf = (payload: Json) => ({
  namespace: "ns",
  discriminator: "d",
  headers: [["X-Event", "push"]] as [string, string][],
  payload,
});

function explain(selector: string, payload: Json = {}): ConditionPart | undefined {
  return explainSelector(eventOf(payload), bindingOf(selector));
}

/** What was decided, on one line: `and:false(a=true b=false c=skipped)`. */
function outline(part: ConditionPart | undefined): string {
  if (part === undefined) return "none";
  const { text, operator, verdict, parts } = part;
  return operator === undefined
    ? `${text}=${verdict}`
    : `${operator}:${verdict}[${parts?.map(outline).join(", ")}]`;
}

/** All parts and their parts. */
function allOf(part: ConditionPart): ConditionPart[] {
  return [part, ...(part.parts ?? []).flatMap(allOf)];
}

describe("explainSelector()", () => {
  it.each<[string, Json, string]>([
    ['payload.a == "x"', { a: "x" }, 'payload.a == "x"=true'],
    [
      'payload.a == "x" && payload.b > 3.0 && discriminator == "d"',
      { a: "x", b: 2 },
      'and:false[payload.a == "x"=true, payload.b > 3.0=false, discriminator == "d"=skipped]',
    ],
    [
      'discriminator == "e" or (payload.ok and not payload.draft)',
      { ok: true, draft: true },
      'or:false[discriminator == "e"=false, and:false[payload.ok=true, not:false[payload.draft=true]]]',
    ],
    ["true || payload.x.y", {}, "or:true[true=true, payload.x.y=skipped]"],
    [
      "let a = payload.a; a > 1.0 && a < 3.0",
      { a: 4 },
      "and:false[a > 1.0=true, a < 3.0=false]",
    ],
    ['payload.a in ["x", "y"]', { a: "z" }, 'payload.a in ["x", "y"]=false'],
    ["payload.", {}, "none"],
    ["nothing == 1", {}, "none"],
  ])("%s", (selector, payload, expected) => {
    expect(outline(explain(selector, payload))).toBe(expected);
  });

  it("tells what the operands were", () => {
    const { parts } = explain(
      'payload.tags[0] == "ci" && len(payload.tags) > 3 && metadata["x-event"] == ["push"]',
      { tags: ["ci", "x"] },
    ) ?? {};
    expect(parts?.map(({ values }) => values)).toEqual([
      [{ text: "payload.tags[0]", value: '"ci"' }],
      [{ text: "len(payload.tags)", value: "2" }],
      undefined,
    ]);
    expect(explain("payload.a == payload.b", { a: null, b: [1] })?.values).toEqual([
      { text: "payload.a", value: "nil" },
      { text: "payload.b", value: "[1]" },
    ]);
  });

  it("an error has its place, and what comes after it is skipped", () => {
    const explained = explain('discriminator == "d" && payload.job.state == "done" && true');
    expect(outline(explained)).toBe(
      'and:error[discriminator == "d"=true, payload.job.state == "done"=error, true=skipped]',
    );
    expect(explained?.parts?.[1]?.message).toBe(
      'cannot fetch state from <nil> (1:13)\n | payload.job.state == "done"\n | ............^',
    );
    expect(explain("payload.n", { n: 1 })?.message).toBe("it gives 1, not true or false");
  });

  it("does not show what secrets have a part in", () => {
    const event = (token: string) => ({
      ...eventOf({ n: 7, guess: "s3cret" }),
      headers: [["x-token", token], ["x-event", "push"]] as [string, string][],
    });
    const explained = explainSelector(
      event("s3cret"),
      bindingOf(
        `metadata["x-token"] == ["s3cret"] && metadata["x-token"][0] == payload.guess && ` +
          `len(metadata["x-token"][0]) + 1 == payload.n && metadata["x-event"] == ["push"] && metadata["x-token"][0]`,
      ),
      undefined,
      event("(hidden)"),
    );
    expect(explained?.parts).toEqual([
      {
        text: 'metadata["x-token"] == ["s3cret"]',
        verdict: "true",
        values: [{ text: 'metadata["x-token"]', value: "(hidden)" }],
      },
      {
        text: 'metadata["x-token"][0] == payload.guess',
        verdict: "true",
        values: [
          { text: 'metadata["x-token"][0]', value: "(hidden)" },
          { text: "payload.guess", value: '"s3cret"' },
        ],
      },
      {
        text: '(len(metadata["x-token"][0]) + 1) == payload.n',
        verdict: "true",
        values: [
          { text: 'len(metadata["x-token"][0]) + 1', value: "(hidden)" },
          { text: "payload.n", value: "7" },
        ],
      },
      {
        text: 'metadata["x-event"] == ["push"]',
        verdict: "true",
        values: [{ text: 'metadata["x-event"]', value: '["push"]' }],
      },
      {
        text: 'metadata["x-token"][0]',
        verdict: "error",
        message: "it gives (hidden), not true or false",
      },
    ]);
  });

  it("is bounded whatever the selector and the payload are", () => {
    const many = Array.from({ length: 400 }, (_, n) => `payload.v${n} == "${"x".repeat(20)}"`);
    for (
      const selector of [
        many.join(" || "),
        many.join(" && "),
        `${"!".repeat(300)}(payload.a == 1.0)`,
        `payload.a == "${"x".repeat(100_000)}"`,
        "len(repeat(payload.text, 100)) > 1 && len(map(payload.list, {repeat(payload.text, 9)})) > 1",
        'payload.text matches "(a|aa|aaa|b){500}$"',
      ]
    ) {
      const explained = explain(selector, {
        a: 1,
        text: "a".repeat(10_000),
        list: new Array(9_000).fill(1),
      });
      if (explained === undefined) continue;
      const all = allOf(explained);
      expect(all.length, selector.slice(0, 40)).toBeLessThanOrEqual(110);
      const length = JSON.stringify(explained).length;
      expect(length, selector.slice(0, 40)).toBeLessThan(100_000);
    }
  });

  it("says the same as the selector itself", () => {
    const leaf = fc.constantFrom(
      "payload.a",
      "payload.b == 1.0",
      "payload.missing.deep",
      'discriminator == "d"',
      "payload.list",
      "len(payload.list) > 2",
    );
    const { condition } = fc.letrec<{ condition: string }>((tie) => ({
      condition: fc.oneof(
        { depthSize: "small" },
        leaf,
        fc.tuple(tie("condition"), fc.constantFrom("&&", "||", "and", "or"), tie("condition"))
          .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
        tie("condition").map((one) => `!(${one})`),
      ),
    }));
    const payload = fc.record({
      a: fc.oneof(fc.boolean(), fc.constant("text")),
      b: fc.constantFrom(1, 2, null),
      list: fc.array(fc.constant(1), { maxLength: 4 }),
    });
    fc.assert(
      fc.property(condition, payload, (selector, given) => {
        const event = eventOf(given);
        let expected: string;
        try {
          expected = String(new BoundEvent(event, bindingOf(selector)).isSelected());
        } catch {
          expected = "error";
        }
        const explained = explainSelector(event, bindingOf(selector));
        expect(explained?.verdict ?? "error", outline(explained)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});
