import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Problem } from "../../base/problem.ts";
import { matchesFields, parseFieldSelector } from "./field_selector.ts";
import { parseWorkflowFieldSelector } from "./workflow_field_selector.ts";
import { matchesLabels, operatorName, parseLabelSelector } from "./label_selector.ts";
import { matchesNode, parseNodeFieldSelector } from "./node_field_selector.ts";

function failure(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return "no error";
}

test.each([
  ["a", "exists"],
  ["!a", "!"],
  ["a=b", "="],
  ["a in (b)", "in"],
  ["a>1", "gt"],
  ["a<1", "lt"],
])("the operator of %j has the name %j in Kubernetes", (selector, name) => {
  expect(parseLabelSelector(selector).map(operatorName)).toEqual([name]);
});

describe("label selectors", () => {
  const labels = { colour: "red", size: "9", wild: "", "example.com/team": "a" };
  test.each([
    ["", true],
    ["  ", true],
    ["colour=red", true],
    ["colour==red", true],
    ["colour = red", true],
    ["colour!=red", false],
    ["shape!=round", true],
    ["colour in (red,black)", true],
    ["colour in (red, black),size=9", true],
    ["colour in (black)", false],
    ["colour notin (black)", true],
    ["colour notin (red)", false],
    ["shape notin (red)", true],
    ["wild", true],
    ["!wild", false],
    ["!shape", true],
    ["shape", false],
    ["size>5", true],
    ["size>10", false],
    ["size<10", true],
    ["colour>1", false],
    ["shape>1", false],
    ["wild=", true],
    ["wild in (,yes)", true],
    ["wild in ()", true],
    ["colour in ()", false],
    ["colour=red,colour=black", false],
    ["example.com/team=a", true],
    ["in=x", false],
    ["constructor", false],
    ["!constructor", true],
  ])("%s selects: %s", (text, want) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(want);
  });

  test.each([
    ["a,,b", "found ',', expected: identifier after ','"],
    ["a,", "found '', expected: identifier after ','"],
    ["=x", "found '=', expected: !, identifier, or 'end of string'"],
    ["a in", "unable to parse requirement: found '' expected: '('"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    [
      "a like b",
      "unable to parse requirement: found 'like', expected: in, notin, =, ==, !=, gt, lt",
    ],
    ["a=(", "unable to parse requirement: found '(', expected: identifier"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    [
      "a>x",
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    [
      `a=${"v".repeat(70)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${
        "v".repeat(70)
      }": must be no more than 63 bytes`,
    ],
    [
      "k@=1",
      "unable to parse requirement: <nil>: Invalid value: \"k@\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ])("%s is refused", (text, want) => {
    expect(failure(() => parseLabelSelector(text))).toBe(want);
  });

  test("terms are typed", () => {
    expect(parseLabelSelector("b notin (y, x, y), !c, d==e")).toEqual([
      { key: "b", operator: "notin", values: ["x", "y"] },
      { key: "c", operator: "!exists", values: [] },
      { key: "d", operator: "=", values: ["e"], written: "==" },
    ]);
  });
});

describe("field selectors", () => {
  const fields: Record<string, string> = {
    a: "1",
    b: "x=y,z",
    c: "\\",
    id: "YWJj==",
    path: "C:\\jobs\\7",
  };
  test.each([
    ["", true],
    ["a=1", true],
    ["a==1", true],
    ["a!=1", false],
    ["a!=2,,zz!=x", true],
    ["zz=", true],
    ["a= 1", false],
    ["b=x\\=y\\,z", true],
    ["c=\\\\", true],
    ["c=\\", true],
    ["b=x=y\\,z", true],
    ["b==x=y\\,z", true],
    ["b!=x=y\\,z", false],
    ["b=x=y,z=", false],
    ["id=YWJj==", true],
    ["id==YWJj==", true],
    ["id=YWJj\\=\\=", true],
    ["id=YWJj=", false],
    ["path=C:\\jobs\\7", true],
    ["path=C:\\\\jobs\\\\7", true],
  ])("%s selects: %s", (text, want) => {
    expect(matchesFields(parseFieldSelector(text), (field) => fields[field])).toBe(want);
  });

  test.each([
    [
      "bad selector",
      "invalid selector: 'bad selector'; can't understand 'bad selector'; write FIELD=VALUE or FIELD!=VALUE, and \\, for a comma in a value",
    ],
    [
      "a=1,rubbish",
      "invalid selector: 'a=1,rubbish'; can't understand 'rubbish'; write FIELD=VALUE or FIELD!=VALUE, and \\, for a comma in a value",
    ],
  ])("%s is refused", (text, want) => {
    expect(failure(() => parseFieldSelector(text))).toBe(want);
  });

  test("a workflow list takes names, namespaces and start times", () => {
    expect(parseWorkflowFieldSelector(
      "metadata.name==n,metadata.namespace!=x,spec.startedAt>2023-05-04T10:00:30Z,ext.showRemainingItemCount=true,",
    )).toEqual({ name: "n", notNamespace: "x", startedAfter: 1683194430000, showRemaining: true });
    expect(parseWorkflowFieldSelector("metadata.name=,metadata.namespace=y")).toEqual({
      namespace: "y",
    });
  });

  test.each([
    ["foo=bar", "unsupported requirement foo=bar"],
    ["metadata.name", "unsupported requirement metadata.name"],
    [
      "spec.startedAt>yesterday",
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
    [
      "spec.startedAt<2023-02-30T00:00:00Z",
      'parsing time "2023-02-30T00:00:00Z": day out of range',
    ],
    ["ext.showRemainingItemCount=yes", 'strconv.ParseBool: parsing "yes": invalid syntax'],
    ["ext.showRemainingItemCount=\x01", 'strconv.ParseBool: parsing "\\x01": invalid syntax'],
  ])("%s is refused for a workflow list", (text, want) => {
    expect(failure(() => parseWorkflowFieldSelector(text))).toBe(want);
  });
});

describe("node field selectors", () => {
  const node = {
    id: "wf-1",
    name: "wf.a",
    displayName: "a",
    phase: "Running",
    templateName: "local",
    templateRef: { name: "lib", template: "gate" },
    inputs: {
      parameters: [{ name: "uuid", value: "x=y,z" }, { name: "a.b", value: "2" }, { name: "none" }],
    },
  };
  test.each([
    ["displayName=a,phase=Running", true],
    ["id=wf-1", true],
    ["name=wf.a", true],
    ["templateName=gate", true],
    ["templateName=local", false],
    ["templateRef.name=lib,templateRef.template=gate", true],
    ["inputs.parameters.uuid.value=x\\=y\\,z", true],
    ["inputs.parameters.a.b.value=2", true],
    ["inputs.parameters.zz.value=1", false],
    ["inputs.parameters.zz.value!=1", true],
    ["type=Suspend", false],
    ["type!=Suspend", true],
    ["id in (wf-1)", true],
    ["id in (wf-2, wf-1,wf-3)", true],
    ["id in (wf-2,wf-3)", false],
    ["id in ()", false],
    ["type in ()", false],
    // An id that is empty, or a field that is misspelt, must not select what has no such parameter.
    ["inputs.parameters.zz.value=", false],
    ["inputs.parameters.zz.value in ()", false],
    ["inputs.parameters.none.value=", true],
    ["uuid=", false],
    ["=", false],
    ["templateRef.name!=", true],
    ["phase=Running,id in (wf-1,wf-2)", true],
    ["id in (wf-1,wf-2),phase=Failed", false],
    ["id in (wf-1,wf-2),displayName in (a)", true],
    ["id in (wf-1,wf-2),displayName in (b)", false],
    ["inputs.parameters.uuid.value in (1,x=y\\,z)", true],
    ["inputs.parameters.uuid.value in (1,x=y,z)", false],
    // What looks like a set in a value is one value.
    ["displayName=id in (a)", false],
    ["displayName!=id in (a", true],
  ])("%s selects: %s", (text, want) => {
    expect(matchesNode(parseNodeFieldSelector(text), node)).toBe(want);
  });

  test("values of a set may hold every character", () => {
    const [term] = parseNodeFieldSelector("displayName in (a(0:x\\,y\\),\\\\,b\\c)");
    expect(term).toEqual({
      field: "displayName",
      operator: "in",
      values: new Set(["a(0:x,y)", "\\", "b\\c"]),
    });
  });

  test.each([
    ["id in (a", "invalid selector: 'id in (a'; write FIELD in (VALUE,VALUE)"],
    ["id in (a)b", "invalid selector: 'id in (a)b'; write FIELD in (VALUE,VALUE)"],
    ["id in a", "can't understand 'id in a'; write FIELD=VALUE"],
    [",", "has only empty terms"],
    [`id in (${"a,".repeat(5_000)})`, "longer than 8192 characters"],
    ["id in (a),".repeat(65), "more than 64 terms"],
  ])("%s is refused", (text, want) => {
    expect(failure(() => parseNodeFieldSelector(text))).toContain(want);
  });
});

test("any text gives terms or a Problem", () => {
  const pieces = fc.constantFrom(
    "a",
    "in",
    "a in (",
    "notin",
    "(",
    ")",
    ",",
    "=",
    "!",
    ">",
    "<",
    " ",
    "\\",
    "1",
    "é",
    "/",
    "\u2028",
  );
  const texts = fc.oneof(fc.string(), fc.array(pieces).map((parts) => parts.join("")));
  fc.assert(
    fc.property(texts, (text) => {
      for (
        const parse of [
          parseLabelSelector,
          parseFieldSelector,
          parseWorkflowFieldSelector,
          parseNodeFieldSelector,
        ]
      ) {
        try {
          parse(text);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
