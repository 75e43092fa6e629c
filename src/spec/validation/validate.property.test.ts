import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type Json } from "../../base/json.ts";
import { Problem } from "../../base/problem.ts";
import { decodeAny } from "../schema/decode_manifest.ts";
import { lintManifests } from "../lint.ts";
import { parseDocuments } from "../parse.ts";
import { validateAny } from "./any.ts";

const GOOD = parseDocuments(`
kind: Workflow
metadata: {name: w, labels: {a: b}}
spec:
  entrypoint: main
  onExit: take
  arguments: {parameters: [{name: p, value: x, enum: [x]}]}
  podGC: {strategy: OnPodSuccess, labelSelector: {matchLabels: {a: b}}}
  templates:
  - name: main
    steps:
    - - {name: a, template: dag, withItems: [1, {k: v}]}
      - {name: b, template: take, arguments: {parameters: [{name: p, value: "{{item}}"}]}, withParam: "[1]"}
    outputs: {parameters: [{name: o, valueFrom: {parameter: "{{steps.b.outputs.result}}"}}]}
  - name: dag
    dag:
      tasks:
      - {name: t1, inline: {script: {image: i, source: s}}}
      - {name: t2, template: take, depends: t1.Succeeded, arguments: {parameters: [{name: p, value: "{{tasks.t1.outputs.result}}"}]}}
  - name: take
    inputs: {parameters: [{name: p, default: d}], artifacts: [{name: f, path: /f, optional: true}]}
    retryStrategy: {limit: 2, backoff: {duration: 1s}}
    metrics: {prometheus: [{name: m, help: h, counter: {value: "1"}}]}
    container: {image: i, args: ["{{inputs.parameters.p}}"], resources: {limits: {cpu: 1}}}
---
kind: CronWorkflow
metadata: {name: c}
spec:
  schedules: ["0 * * * *"]
  workflowSpec: {entrypoint: a, templates: [{name: a, suspend: {duration: 1h}}]}
---
kind: WorkflowEventBinding
metadata: {name: b}
spec:
  event: {selector: payload.x == 1}
  submit:
    workflowTemplateRef: {name: t}
    arguments: {parameters: [{name: p, valueFrom: {event: payload}}]}
`).map(({ value }) => value as Json);

/** Values that are probably wrong where they are put. */
const oddValue: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    "{{",
    "}}",
    "{{inputs.parameters.",
    "{{steps.a.outputs.result}}",
    "{{= 1 +",
    "a b",
    "__proto__",
    null,
    [[]],
    [null],
    { "": "" },
  ),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);

function* pathsOf(value: Json, path: string[] = []): Iterable<string[]> {
  if (path.length > 0) yield path;
  if (Array.isArray(value) || isJsonObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* pathsOf(member, [...path, key]);
  }
}

/** A copy with another value at a path, or without that member. */
function changed(value: Json, path: readonly string[], other: Json | undefined): Json {
  const [key, ...rest] = path;
  if (key === undefined) return other ?? null;
  const change = (name: string, member: Json): [string, Json][] =>
    name !== key
      ? [[name, member]]
      : rest.length === 0 && other === undefined
      ? []
      : [[name, changed(member, rest, other)]];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => change(String(index), item).map(([, kept]) => kept));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => change(name, member)),
  );
}

/** A manifest with one to three places changed. */
const manifest: fc.Arbitrary<Json> = fc.tuple(
  fc.constantFrom(...GOOD),
  fc.array(fc.tuple(fc.nat(), fc.option(oddValue, { nil: undefined })), {
    minLength: 1,
    maxLength: 3,
  }),
).map(([good, changes]) =>
  changes.reduce((value, [at, other]) => {
    const paths = [...pathsOf(value)].filter(([first]) => first !== "kind");
    const path = paths[at % paths.length];
    return path === undefined ? value : changed(value, path, other);
  }, good)
);

const NOTHING = { findTemplate: () => undefined };

function refusal(value: unknown): Problem | undefined {
  try {
    validateAny(decodeAny(value), NOTHING);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

describe("whatever a manifest holds,", () => {
  it("the good ones are accepted", () => {
    expect(GOOD.map((value) => refusal(value)?.message)).toEqual([undefined, undefined, undefined]);
  });

  it("it is accepted or refused with a text, by creation and by lint alike", () => {
    fc.assert(
      fc.property(manifest, (value) => {
        const problem = refusal(value);
        const [result] = lintManifests([value], NOTHING);
        if (problem !== undefined) {
          expect(problem.message).not.toBe("");
          expect(problem.status).toBeLessThan(500);
        } else {
          // Lint is stricter only about the names of members.
          const others = result?.errors.filter((text) => !text.startsWith("strict decoding error"));
          expect(others).toEqual([]);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("decoding what was decoded changes nothing", () => {
    fc.assert(
      fc.property(manifest, (value) => {
        let once: ReturnType<typeof decodeAny>;
        try {
          once = decodeAny(value);
        } catch {
          return;
        }
        expect(decodeAny(structuredClone(once.manifest)).manifest).toEqual(once.manifest);
      }),
      { numRuns: 1000 },
    );
  });
});
