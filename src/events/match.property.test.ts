/**
 * Whatever is posted, an expression of a binding means what it says: guards are evaluated first, and an event meant for
 * others is not an error.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../base/json.ts";
import { ExpressionError } from "../expr/templates/contexts.ts";
import type { WorkflowEventBinding } from "../spec/manifest.ts";
import { validateEventBinding } from "../spec/validation/event_binding.ts";
import { BoundEvent } from "./match.ts";

const RUNS = { numRuns: 500 };

const payloads = fc.oneof(
  fc.constantFrom<Json>(null, [], [1], "s", "", 42, 0, true, {}, { message: "x" }, { x: 1 }),
  fc.constantFrom<Json>([[1]], [{ message: "x" }], { message: null }, { x: { y: 1 } }),
  fc.jsonValue() as fc.Arbitrary<Json>,
);

function bindingOf(selector: string): WorkflowEventBinding {
  return {
    metadata: { name: "b", namespace: "default" },
    spec: {
      event: { selector },
      submit: { workflowTemplateRef: { name: "t" } },
    },
  } as WorkflowEventBinding;
}

function selects(selector: string, payload: Json, discriminator = "d"): boolean {
  const headers: [string, string][] = [["x-kind", "push"]];
  const event = { namespace: "default", discriminator, headers, payload };
  return new BoundEvent(event, bindingOf(selector)).isSelected();
}

/** Guards that people write. Each gives a boolean for any JSON. */
const GUARDED = [
  'payload != nil && payload.message == "x"',
  'payload.message != nil && payload.message == "x"',
  'payload?.message == "x"',
  '"message" in payload && payload.message == "x"',
  'not ("message" in payload) || payload.message == "x"',
  'type(payload) == "map" && payload.message == "x"',
  'get(payload, "message") == "x"',
  'payload.message == "x"',
  'payload["message"] == "x"',
  '$env.payload.message == "x"',
  'let p = payload; p.message == "x"',
  'let p = payload; let q = p?.x; q != nil && type(q) == "map" && q.y == 1',
  '(payload.message ?? "d") == "d"',
  "payload.x == 1",
  "payload?.x == nil",
  "payload.x != nil && type(payload.x) == 'map' && payload.x.y == 1",
  'payload.message == "x" ? payload.x == nil : false',
  'metadata["x-kind"] == ["push"] && payload.x == 1',
  'discriminator == "d" && string(payload.message) matches "^x$"',
  "payload == 1 || payload == 's' || payload == nil || payload == [1]",
];

test.each(GUARDED)("%s gives a boolean for any JSON", (selector) => {
  expect(() => validateEventBinding(bindingOf(selector))).not.toThrow();
  fc.assert(
    fc.property(payloads, (payload) => typeof selects(selector, payload) === "boolean"),
    RUNS,
  );
});

test.each([
  ['payload != nil && payload.message == "x"', { message: "x" }, true],
  ['payload != nil && payload.message == "x"', { message: "y" }, false],
  ['"message" in payload', { message: null }, true],
  ['"message" in payload', "message", false],
  ['get(payload, "message") == nil', [1], true],
  ["payload[0] == 1", [1], true],
  ["payload?.x == nil", null, true],
  ["payload.x == 1", [1, 2], false],
])("%s of %j is %s", (selector, payload, want) => {
  expect(selects(selector, payload)).toBe(want);
});

/** Expressions that fail for much of what may be posted. */
const UNGUARDED = [
  "payload.x.y.z == 1",
  "payload[3] == 1",
  "payload > 3",
  'payload startsWith "a"',
  "len(payload) > 2",
  "all(payload, # > 1)",
  "payload.x",
  "payload.a + payload.b == 'c'",
  "int(payload) == 3",
  'payload matches "a"',
  "fromJSON(payload).x == 1",
];
const wrong = fc.constantFrom(...UNGUARDED);

test("an expression that fails is its binding's own error", () => {
  fc.assert(
    fc.property(wrong, payloads, (selector, payload) => {
      validateEventBinding(bindingOf(selector));
      try {
        selects(selector, payload);
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionError);
      }
    }),
    RUNS,
  );
});

test("what a discriminator or a guard excludes is no error, whatever stands behind it", () => {
  const guards = fc.constantFrom(
    (rest: string) => `discriminator == "other" && ${rest}`,
    (rest: string) => `false and (${rest})`,
    (rest: string) => `discriminator == "d" ? false : (${rest})`,
    (rest: string) => `not (discriminator != "other" || ${rest})`,
    (rest: string) => `"x-none" in metadata && ${rest}`,
  );
  fc.assert(
    fc.property(guards, wrong, payloads, (guard, rest, payload) => {
      expect(selects(guard(rest), payload)).toBe(false);
    }),
    RUNS,
  );
});

test("deeper access on nil fails, and only where it is reached", () => {
  const reached = "payload.x.y == 1";
  expect(() => selects(reached, [1])).toThrow("cannot fetch y from <nil>");
  expect(selects(`discriminator == "other" && ${reached}`, [1])).toBe(false);
  expect(selects("payload.x?.y == 1", "s")).toBe(false);
  expect(() => selects("payload.message.x == 1", { message: "a text" })).toThrow(
    "cannot fetch x from string",
  );
  expect(() => selects("payload.list.x == 1", { list: [1] })).toThrow("cannot fetch x from []");
});
