import { describe, expect, it } from "vitest";
import {
  bytesText,
  decidingParts,
  type Delivery,
  deliveryFilters,
  headerLines,
  headersOf,
  type Outcome,
  shortReason,
  storiesOf,
  wordOfDelivery,
} from "./deliveries.ts";

const delivery = (more: Partial<Delivery>): Delivery => ({
  id: "i",
  namespace: "n",
  discriminator: "",
  receivedAt: "",
  size: 0,
  state: "done",
  attempts: 1,
  bindings: [],
  ...more,
});
const did = (binding: string, outcome: Outcome["outcome"], message?: string): Outcome => ({
  binding,
  outcome,
  ...(message !== undefined && { message }),
});

describe("wordOfDelivery()", () => {
  it.each<[Partial<Delivery>, string]>([
    [{ state: "queued", attempts: 0 }, "queued"],
    [{ state: "queued", attempts: 2 }, "retried"],
    [{ state: "dead" }, "dead"],
    [{ state: "dead", unreadable: { bytes: 3 } }, "unreadable"],
    [{ bindings: [did("a", "not-matched"), did("b", "submitted")] }, "matched"],
    [{ bindings: [did("a", "not-matched")] }, "unmatched"],
    [{}, "unmatched"],
  ])("%j is %s", (more, word) => {
    expect(wordOfDelivery(delivery(more))).toBe(word);
  });
});

describe("storiesOf()", () => {
  it("joins the record with what the selectors say now", () => {
    const stories = storiesOf([
      did("none", "not-matched"),
      did("same", "submitted"),
      did("changed", "not-matched"),
      did("broken", "error", "why"),
      did("idle", "not-matched", "the binding submits nothing"),
    ], [
      { binding: "new", verdict: "not-selected" },
      { binding: "changed", verdict: "selected" },
      { binding: "same", verdict: "selected" },
      { binding: "broken", verdict: "selected" },
      { binding: "idle", verdict: "selected" },
    ]);
    expect(stories.map(({ binding, hasChanged }) => `${binding} ${hasChanged}`)).toEqual([
      "broken false",
      "same false",
      "none false",
      "changed true",
      "idle false",
      "new false",
    ]);
    expect(stories.at(-1)?.outcome).toBeUndefined();
  });
});

it.each([
  [
    "failed to evaluate workflow template expression: unable to evaluate expression 'a.b': " +
    "cannot fetch b from <nil> (1:2)\n | a.b\n | .^",
    "cannot fetch b from <nil> (1:2)",
  ],
  ["failed to get workflow template: not found", "failed to get workflow template: not found"],
])("shortReason(%j)", (message, expected) => {
  expect(shortReason(message)).toBe(expected);
});

it("decidingParts() are the leaves that made the whole what it is", () => {
  const leaf = (text: string, verdict: "true" | "false" | "skipped") => ({ text, verdict });
  const or = {
    verdict: "false" as const,
    operator: "or" as const,
    parts: [leaf("b", "false"), {
      verdict: "false" as const,
      operator: "not" as const,
      parts: [leaf("c", "true")],
    }],
  };
  const and = {
    verdict: "false" as const,
    operator: "and" as const,
    parts: [leaf("a", "true"), or, leaf("d", "skipped")],
  };
  expect(decidingParts(and).map(({ text }) => text)).toEqual(["b", "c"]);
});

it("deliveryFilters() takes only states that there are", () => {
  expect(deliveryFilters(new URLSearchParams("state=dead&binding=b"))).toMatchObject({
    state: "dead",
    binding: "b",
  });
  expect(deliveryFilters(new URLSearchParams("state=odd")).state).toBe("");
});

it("headersOf() reads what headerLines() writes", () => {
  const headers = { "x-kind": ["push", "a: b"], "x-empty": [""] };
  expect(headersOf(headerLines(headers))).toEqual(headers);
  expect(headersOf("X-Kind : a \n\n x-b:c")).toEqual({ "x-kind": ["a"], "x-b": ["c"] });
  expect(headersOf("nothing")).toBeUndefined();
});

it.each([[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [20_480, "20 KiB"], [
  5 * 2 ** 20,
  "5.0 MiB",
]])("bytesText(%i)", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
