import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../base/json.ts";
import { freezeAll } from "../../base/shared_json.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { scopeOf } from "../language/scope.ts";
import type { MissingRule } from "./missing_rule.ts";
import {
  PLACEHOLDER,
  substitute,
  substituteText,
  TemplateError,
  type TemplateErrorKind,
} from "./template.ts";
import { tagsOf } from "./tags.ts";

const VARIABLES: Record<string, Json> = {
  "workflow.name": "wf",
  "inputs.parameters.msg": "hello",
  "inputs.parameters.num": "5",
  "inputs.parameters.my-param": "dashed",
  "inputs.parameters.key": "msg",
  "inputs.parameters.quoted": 'say "hi" \\ there\n',
  "inputs.parameters.ph": `${PLACEHOLDER}0`,
  "tasks.A.outputs.parameters.out": "a-out",
  "tasks.S.outputs.result": null,
  "item": { "k": "from item", "n": 2 },
  "item.k": "from item.k",
  "list": ["a", { "b": "<1>" }],
};

function run(text: string, missing: MissingRule = "error"): string {
  return substituteText(text, scopeOf(VARIABLES), { missing, functions: ARGO_FUNCTIONS });
}

function failure(
  text: string,
  missing: MissingRule = "error",
): { kind: TemplateErrorKind; message: string } {
  try {
    run(text, missing);
  } catch (error) {
    if (error instanceof TemplateError) return { kind: error.kind, message: error.message };
    throw error;
  }
  throw new Error("no error");
}

describe("substituteText()", () => {
  test.each([
    ["no tags", "no tags"],
    ["{{workflow.name}}-{{ workflow.name }}", "wf-wf"],
    ["{{inputs.parameters.quoted}}", 'say "hi" \\ there\n'],
    ["{{list}}", '["a",{"b":"\\u003c1\\u003e"}]'],
    ["{{=list}}", '["a",{"b":"\\u003c1\\u003e"}]'],
    ["{{inputs.parameters.{{inputs.parameters.key}}}}", "{{inputs.parameters.msg}}"],
    ["{{=inputs.parameters['my-param']}}", "dashed"],
    ["{{=asInt(inputs.parameters.num) + 1}}", "6"],
    ["{{=item.k}}", "from item.k"],
    ["{{=[1, 2.5, 'x']}}", '[1,2.5,"x"]'],
    ["{{={a: 1} }}", '{"a":1}'],
    ["{{=date('2024-01-02')}}", "2024-01-02T00:00:00Z"],
    ["{{=inputs.parameters.nope ?? 'd'}}", "d"],
    ["{{=tasks.B?.outputs?.result ?? 'none'}}", "none"],
    ["{{=tasks.S.outputs.result ?? 'none'}}", "none"],
    ["{{=asInt(inputs.parameters.ph)}}", "{{=asInt(inputs.parameters.ph)}}"],
    ["open {{ is text", "open {{ is text"],
  ])("%s becomes %s", (text, want) => {
    expect(run(text)).toBe(want);
  });

  test.each<[string, TemplateErrorKind, string]>([
    ["{{nope}}", "unresolved", "failed to resolve {{nope}}"],
    ["{{ =workflow.name}}", "unresolved", "failed to resolve {{ =workflow.name}}"],
    ["{{a.{{ workflow.name }}}}", "unresolved", "failed to resolve {{a.{{ workflow.name }}"],
    ["{{=nope.x}}", "unresolved", "failed to evaluate expression: nope is missing"],
    [
      "{{=inputs.parameters.my-param}}",
      "unresolved",
      "failed to evaluate expression: inputs.parameters.my is missing",
    ],
    [
      "{{=inputs.parameters.msg.x}}",
      "unresolved",
      "failed to evaluate expression: inputs.parameters.msg.x is missing",
    ],
    ["{{=sprig.nope('x')}}", "unresolved", "failed to evaluate expression: sprig.nope is missing"],
    ["{{=let x = 1; x}}", "unresolved", "failed to evaluate expression: x is missing"],
    [
      "{{tasks.S.outputs.result}}",
      "absent",
      "unable to substitute {{tasks.S.outputs.result}}: output is an absent optional (skipped/omitted node with no default)",
    ],
    [
      "{{=tasks.S.outputs.result}}",
      "absent",
      'failed to evaluate expression "tasks.S.outputs.result"',
    ],
    [
      '{{=tasks["S"].outputs.result}}',
      "absent",
      String.raw`failed to evaluate expression "tasks[\\\"S\\\"].outputs.result"`,
    ],
    [
      "{{inputs.parameters.{{tasks.S.outputs.result}}}}",
      "absent",
      'unable to substitute nested tag {{inputs.parameters.{{tasks.S.outputs.result}}: "tasks.S.outputs.result" is an absent optional',
    ],
    [
      "{{=1 +}}",
      "expression",
      "failed to evaluate expression: unexpected token EOF (1:3)\n | 1 +\n | ..^",
    ],
    [
      "{{=asInt('x')}}",
      "expression",
      "failed to evaluate expression: invalid operation: int(x) (1:1)\n | asInt('x')\n | ^",
    ],
    [
      "{{=1/0}}",
      "expression",
      "failed to marshal evaluated expression: json: unsupported value: +Inf",
    ],
  ])("%s fails: %s", (text, kind, message) => {
    expect(failure(text)).toEqual({ kind, message });
  });

  test.each([
    ["{{=inputs.parameters.env == 'prod' ? 'a' : 'b'}}", "b"],
    ["{{=sprig.default('d', inputs.parameters.nope)}}", "d"],
    ["{{=inputs.parameters.nope in ['x']}}", "false"],
    ["{{=toJson([item.z])}}", "[null]"],
  ])("a member that is missing is nil when no more names follow: %s is %s", (text, want) => {
    expect(run(text, { errorUnder: [] })).toBe(want);
    expect(run(text, { errorUnder: ["tasks"] })).toBe(want);
    expect(run(text, "keep")).toBe(text);
    expect(failure(text).message).toMatch(/ is missing$/);
  });

  test.each([
    "{{=workflow.status == 'x'}}",
    "{{=workflow.status ?? 'x'}}",
    "{{=sprig.int(retries)}}",
    "{{=sprig.int(lastRetry.exitCode)}}",
    "{{=nope == 'x'}}",
    "{{=workflow.nope + 'x'}}",
  ])("%s waits: a late variable, a name that nothing begins with, or what fails", (text) => {
    expect(run(text, { errorUnder: [] })).toBe(text);
  });

  test("the error about a tag shows it as it stands in JSON text", () => {
    expect(failure('{{"a"}}').message).toBe('failed to resolve {{\\"a\\"}}');
  });

  test("keep leaves what is unknown or fails, but not a syntax error", () => {
    for (
      const text of [
        "{{nope}}",
        "{{=nope}}",
        "{{=asInt('x')}}",
        "{{=1/0}}",
        "{{=nil}}",
        "{{=lastRetry.exitCode}}",
      ]
    ) {
      expect(run(text, "keep")).toBe(text);
    }
    expect(failure("{{=1 +}}", "keep").kind).toBe("expression");
    expect(failure("{{tasks.S.outputs.result}}", "keep").kind).toBe("absent");
  });

  test("a name of the expression itself is missing only where nothing may be", () => {
    expect(run("{{=let x = 'a'; x + workflow.name}}", "keep")).toBe("awf");
    expect(run("{{=let x = 1; x}}", { errorUnder: ["tasks"] })).toBe("1");
    const failing = "{{=let x = asInt('x'); x}}";
    expect(run(failing, { errorUnder: ["tasks"] })).toBe(failing);
  });

  test("errorUnder is an error for names under its parts only", () => {
    const rule = { errorUnder: ["tasks", "steps"] };
    expect(failure("{{tasks.B.outputs.result}}", rule).kind).toBe("unresolved");
    expect(failure("{{=tasks.B.outputs.result == 'x'}}", rule).kind).toBe("unresolved");
    expect(run("{{tasks.B.outputs.artifacts.a}}", rule)).toBe("{{tasks.B.outputs.artifacts.a}}");
    expect(run("{{inputs.parameters.nope}} {{=inputs.parameters.nope}}", rule)).toBe(
      "{{inputs.parameters.nope}} {{=inputs.parameters.nope}}",
    );
    expect(failure("{{=asInt(workflow.name)}}", rule).kind).toBe("expression");
  });
});

describe("substitute()", () => {
  test("finds the tags of a shared value in texts and in keys, whatever the keys hold", () => {
    const value = freezeAll({
      list: ["x", { "{{workflow.name}}": { a: 1 } }, "{{workflow.name}}"],
      plain: { b: [2] },
      deep: { "{{inputs.parameters.msg}}": true },
    });
    for (let round = 0; round < 2; round++) {
      const filled = substitute(value, scopeOf(VARIABLES), { missing: "error" });
      expect(filled).toEqual({
        list: ["x", { wf: { a: 1 } }, "wf"],
        plain: { b: [2] },
        deep: { hello: true },
      });
      expect(filled.plain).toBe(value.plain);
    }
  });

  const options = { missing: "error", functions: ARGO_FUNCTIONS } as const;

  test("replaces in strings and keys anywhere, and copies only what changes", () => {
    const value = {
      a: ["{{workflow.name}}", 1, null],
      "{{workflow.name}}-k": true,
      same: { deep: ["x"] },
    };
    const result = substitute(value, scopeOf(VARIABLES), options);
    expect(result).toEqual({ a: ["wf", 1, null], "wf-k": true, same: { deep: ["x"] } });
    expect(result.same).toBe(value.same);
    const untouched = { a: ["x", { b: "{ {" }] };
    expect(substitute(untouched, scopeOf(VARIABLES), options)).toBe(untouched);
  });

  test("a value is never read again as a tag", () => {
    const scope = scopeOf({ a: "{{b}}", b: "no" });
    expect(substituteText("{{a}} {{=a}}", scope, options)).toBe("{{b}} {{b}}");
  });

  test("an expression can't change the scope's values", () => {
    const data = { list: { x: "1" } };
    substituteText("{{=sprig.set(list, 'x', '2')}}", scopeOf(data), options);
    expect(data).toEqual({ list: { x: "1" } });
    expect(() => substituteText("{{=sprig.set(sprig, 'upper', 1)}}", scopeOf(data), options))
      .toThrow("cannot be changed");
  });

  test("tags cannot multiply a value beyond all bounds", () => {
    const scope = scopeOf({ big: "x".repeat(100_000) });
    const value = Array.from({ length: 1_000 }, () => "{{big}}{{=big}}");
    expect(() => substitute(value, scope, options)).toThrow(
      "grows by more than 16000000 characters at {{big}}",
    );
  });

  test("a key called __proto__ stays a key", () => {
    const value: unknown = JSON.parse('{"__proto__": "{{workflow.name}}"}');
    expect(JSON.stringify(substitute(value, scopeOf(VARIABLES), options))).toBe(
      '{"__proto__":"wf"}',
    );
  });
});

test("tagsOf() of simple, expression and nested tags", () => {
  expect(tagsOf("a {{ x.y }} {{=1 + 2}} {{p.{{q}}}}")).toEqual([
    { type: "name", name: "x.y", start: 2, end: 11 },
    { type: "expression", source: "1 + 2", start: 12, end: 22 },
    { type: "name", name: "q", start: 27, end: 32, outerStart: 23 },
  ]);
});

test("any text is replaced or refused with a TemplateError, in time linear to its length", () => {
  const pieces = fc.constantFrom(
    "{{",
    "}}",
    "=",
    " ",
    "workflow.name",
    "list",
    "item.k",
    "+",
    "'x'",
    "(",
    "?.",
    "nope",
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
  );
  const rules = fc.constantFrom<MissingRule>("error", "keep", { errorUnder: ["item"] });
  fc.assert(
    fc.property(texts, rules, (text, rule) => {
      try {
        run(text, rule);
      } catch (error) {
        expect(error).toBeInstanceOf(TemplateError);
      }
    }),
    { numRuns: 3000 },
  );
  const started = performance.now();
  expect(run("{{".repeat(200_000), "keep")).toHaveLength(400_000);
  expect(run("{{x}}".repeat(20_000), "keep")).toHaveLength(100_000);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("many small expressions in one template are bounded together", () => {
  const expressions = (count: number) => Array.from({ length: count }, (_, n) => `{{=1+${n}}}`);
  const options = { missing: "error", functions: ARGO_FUNCTIONS } as const;
  expect(substitute(expressions(10_000), scopeOf({}), options)[9_999]).toBe("10000");
  expect(() => substitute(expressions(100_000), scopeOf({}), options)).toThrow(
    "step budget exceeded",
  );
});
