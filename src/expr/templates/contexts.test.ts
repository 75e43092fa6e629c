import { describe, expect, test } from "vitest";
import {
  evaluateCondition,
  evaluateEventParameter,
  evaluateEventText,
  evaluateHttpCondition,
  evaluateInScope,
  evaluateLabelFrom,
  evaluateSelector,
  evaluateTransformation,
  eventEnvironment,
  ExpressionError,
  parameterText,
} from "./contexts.ts";
import { ExprCompileError } from "../values/error.ts";
import { evaluateForUser } from "./evaluate_for_user.ts";
import { RunContext } from "../values/run_context.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { scopeOf } from "../language/scope.ts";
import { substituteText } from "./template.ts";

const EVENT = {
  namespace: "argo",
  discriminator: "d",
  headers: [["X-Kind", "push"], ["authorization", "secret"], ["x-kind", "two"], [
    "X-Empty",
    "",
  ]] as [string, string][],
  payload: { message: 'say "hi"\n', n: 42, list: ["a", 1], html: "<b>&</b>", nil: null },
};

function failure(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ExpressionError) return error.message.split("\n")[0] as string;
    throw error;
  }
  throw new Error("no error");
}

describe("events", () => {
  test("metadata holds only x- headers, in lower case, as lists", () => {
    expect(eventEnvironment(EVENT)["metadata"]).toEqual({
      "x-kind": ["push", "two"],
      "x-empty": [""],
    });
  });

  test.each([
    ['payload.n == 42 && metadata["x-empty"] == [""]', true],
    ['metadata["x-kind"] == "push"', false],
    ["metadata.authorization == nil", true],
    ['discriminator + namespace == "dargo"', true],
  ])("selector %s is %s", (selector, want) => {
    expect(evaluateSelector(selector, eventEnvironment(EVENT))).toBe(want);
  });

  const PREFIX = "failed to evaluate workflow template expression: ";
  test.each([
    ["", `${PREFIX}unexpected token EOF`],
    ["payload.n", `${PREFIX}the expression must give true or false, not 42`],
    ["payload.list", `${PREFIX}the expression must give true or false, not ["a",1]`],
    [
      "{a: 1, b: nil}",
      `${PREFIX}the expression must give true or false, not {"a":1,"b":null}`,
    ],
    ["sprig.empty(payload)", `${PREFIX}unknown name sprig (1:1)`],
    [
      'metadata == "push" || payload.n == 42',
      `${PREFIX}invalid operation: == (mismatched types map[string]interface {} and string) (1:10)`,
    ],
    [
      "payload.x.y == 1",
      `${PREFIX}unable to evaluate expression 'payload.x.y == 1': cannot fetch y from <nil> (1:11)`,
    ],
  ])("selector %s fails", (selector, want) => {
    expect(failure(() => evaluateSelector(selector, eventEnvironment(EVENT)))).toBe(want);
  });

  test.each([
    ["payload.message", 'say "hi"\n'],
    ["payload.n", "42"],
    ["payload.list", '["a",1]'],
    ["{h: payload.html}", '{"h":"<b>&</b>"}'],
    ["payload.nil", "null"],
    ["payload.missing", "null"],
    ['date("2024-01-02")', "2024-01-02T00:00:00Z"],
    ['b"abc"', "YWJj"],
  ])("parameter %s is %s", (source, want) => {
    expect(evaluateEventParameter("p", source, eventEnvironment(EVENT))).toBe(want);
  });

  test("what is left of a character that was cut is U+FFFD, byte by byte", () => {
    const env = eventEnvironment(EVENT);
    expect(evaluateEventParameter("p", "'é€x'[:4]", env)).toBe("é\ufffd\ufffd");
    expect(evaluateEventText("name", "'é'[1:]", env)).toBe("\ufffd");
    expect(parameterText(evaluateInScope("'é€x'[:3]", scopeOf({})))).toBe("é\ufffd");
    const options = { missing: "error", functions: ARGO_FUNCTIONS } as const;
    expect(substituteText("a{{=sprig.trunc(3, 'é€x')}}b", scopeOf({}), options)).toBe("aé\ufffdb");
  });

  test("parameters and texts fail in the reference's words", () => {
    const env = eventEnvironment(EVENT);
    expect(failure(() => evaluateEventParameter("p", "1/0", env))).toBe(
      'failed to convert result to JSON "p" expression: json: unsupported value: +Inf',
    );
    expect(failure(() => evaluateEventParameter("p", "x", env))).toBe(
      "failed to compile workflow template parameter p expression: unknown name x (1:1)",
    );
    expect(failure(() => evaluateEventParameter("p", "payload.a.b", env))).toBe(
      'failed to evaluate workflow template parameter "p" expression: cannot fetch b from <nil> (1:11)',
    );
    expect(evaluateEventText("name", '"wf-" + sprig.toString(payload.n)', env)).toBe("wf-42");
    expect(failure(() => evaluateEventText('label "k"', "payload.n", env))).toBe(
      'workflow label "k" expression must evaluate to a string, not a float64',
    );
  });

  test("what a function changes is seen later in the same dispatch, and nowhere else", () => {
    const env = eventEnvironment(EVENT);
    evaluateEventText("name", 'sprig.toString(sprig.set(payload, "n", "changed"))', env);
    expect(evaluateEventParameter("p", "payload.n", env)).toBe("changed");
    expect(EVENT.payload.n).toBe(42);
  });
});

describe("conditions", () => {
  const retry = scopeOf({ retries: "1", "lastRetry.exitCode": "137", "lastRetry.message": "OOM" });
  test("retry expressions have all functions and text variables", () => {
    expect(
      evaluateCondition("asInt(lastRetry.exitCode) > 128 and lastRetry.message == 'OOM'", retry),
    ).toBe(true);
    expect(failure(() => evaluateCondition("retries < 3", retry))).toContain(
      "mismatched types string and int",
    );
    expect(failure(() => evaluateCondition("1", retry))).toBe(
      "the expression must give true or false, not 1",
    );
    expect(failure(() => evaluateCondition("workflow.name == 'x'", retry))).toBe(
      "unknown name workflow (1:1)",
    );
    expect(failure(() => evaluateCondition("1 +", retry))).toBe("unexpected token EOF (1:3)");
  });

  test("a value that holds itself is an error, not an endless text", () => {
    const sources = [
      "let m = {}; let a = sprig.set(m, 'a', m); sprig.set(m, 'b', m)",
      "let m = {}; let a = sprig.set(m, 'a', m); a == sprig.set({}, 'a', a)",
      "let m = {}; let a = sprig.set(m, 'a', m); toJson(a) == ''",
      "let m = {}; let a = sprig.set(m, 'a', m); sprig.deepEqual(a, sprig.deepCopy(a))",
      "let m = {}; let a = sprig.set(m, 'a', m); let n = sprig.set({}, 'a', {}); sprig.deepEqual(sprig.merge(n, a), 1)",
      "let m = {}; let a = sprig.set(m, 'a', m); uniq([a, sprig.set({}, 'a', a)]) == []",
      "let m = {}; let a = sprig.set(m, 'a', m); string(a) == ''",
    ];
    for (const source of sources) {
      const started = performance.now();
      try {
        evaluateCondition(source, retry);
      } catch (error) {
        expect(error, source).toBeInstanceOf(ExpressionError);
      }
      expect(performance.now() - started, source).toBeLessThan(3_000);
    }
  });

  test("http conditions see the status code as an integer", () => {
    const request = { method: "GET", url: "http://x", body: "", headers: {} };
    const response = { statusCode: 200, body: '{"ok": true}', headers: { "X-A": ["1"] } };
    expect(
      evaluateHttpCondition(
        "response.statusCode % 100 == 0 && fromJSON(response.body).ok && now().Unix() == 2",
        request,
        response,
        { now: () => 2_000 },
      ),
    )
      .toBe(true);
    expect(evaluateHttpCondition('response.headers["X-A"][0] == "2"', request, response, {})).toBe(
      false,
    );
  });
});

test("values: outputs, data, labels", () => {
  const scope = scopeOf({ "steps.a.outputs.result": "5", "workflow.name": "wf" });
  expect(parameterText(evaluateInScope("asInt(steps.a.outputs.result) + 1", scope))).toBe("6");
  expect(parameterText(evaluateInScope("[1, 'x', nil]", scope))).toBe("[1 x <nil>]");
  expect(evaluateTransformation("filter(data, # > now().Unix())", [1, 2, 3], { now: () => 1_000 }))
    .toEqual([2, 3]);
  expect(failure(() => evaluateTransformation("1/0", [], {})))
    .toBe("json: unsupported value: +Inf");
  expect(evaluateLabelFrom("l", "workflow.name + '-x'", scope)).toBe("wf-x");
  expect(failure(() => evaluateLabelFrom("l", "1", scope))).toBe(
    'failed to evaluate label "l" expression "1" evaluted to int but must be a string',
  );
  expect(failure(() => evaluateLabelFrom("l", '{"a": 1}', scope))).toBe(
    'failed to evaluate label "l" expression "{\\"a\\": 1}" evaluted to map[string]interface {} but must be a string',
  );
  expect(failure(() => evaluateLabelFrom("l", "1 +", scope))).toMatch(
    /^failed to compile function for expression "1 \+": unexpected token EOF/,
  );
});

test("results that are too long for a text are errors", () => {
  const scope = scopeOf({ x: "1" });
  expect(failure(() => parameterText(evaluateInScope("1..900000", scope)))).toContain(
    "step budget exceeded",
  );
  expect(evaluateForUser("1..900000", {}).text).toBe("(too long to show)");
});

test("the text of a result is paid for by its evaluation", () => {
  const context = new RunContext();
  const document = "[".repeat(1_000) + "]".repeat(1_000);
  const { text } = evaluateForUser("jsonpath(document, '$..')", { document }, context);
  expect(text).toBe("(too long to show)");
  expect(() => context.step()).toThrow("step budget exceeded");
});

test("evaluateForUser() shows type and text", () => {
  expect(evaluateForUser("a.b + 'x'", { a: { b: "y" } })).toEqual({ type: "string", text: "yx" });
  expect(evaluateForUser("[a, 1]", { a: "<" })).toEqual({ type: "array", text: '["<",1]' });
  expect(evaluateForUser("1/0", {})).toEqual({ type: "float", text: "+Inf" });
  expect(evaluateForUser("sprig.add(1, 2)", {})).toEqual({ type: "int", text: "3" });
  expect(() => evaluateForUser("b", {})).toThrow(ExprCompileError);
});
