/** Manifests: workflows that run, most of them; then with members that do not fit, and as text that is damaged. */
import fc from "fast-check";
import { stringify } from "yaml";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { type Piece, times } from "../pieces.ts";
import { expressionText } from "./expressions.ts";
import { jsonValue, OBJECT_NAMES, shortText } from "./texts.ts";

/** Templates of a workflow; steps and tasks call them by number, themselves included. */
const TEMPLATES = 4;
const template = fc.nat(TEMPLATES - 1).map((at) => `t${at}`);
const counts = fc.constantFrom<Json>(
  ...[0, 1, 2, 3, 10, 1_000, 100_000, 1_000_000_000, -1, "3", "{{item}}", "1e9", "x"],
);
const whole = fc.constantFrom<Json>(0, 1, 2, 10, 1_000_000);
const formats = fc.constantFrom(
  ...["%d", "a-%03d", "%x", "%s", "%", "%999999999d", "%[5]d", "%*d", "%v%v", "%0999d", "%q"],
);
/** An expression that knows what generated expressions read. */
const expression = fc.tuple(expressionText, fc.boolean()).map(([one, isText]) => {
  const known =
    'let payload = {n: 42, text: "x", tags: ["a", "b"], users: [{name: "z", age: 3}]}; ' +
    'let metadata = {}; let namespace = "a"; ';
  return `${known}${isText ? `string(${one})` : one}`;
});
const knownTag = fc.constantFrom(
  ...["{{workflow.name}}", "{{inputs.parameters.p}}", "{{workflow.parameters.w}}", "a", "[1,2]"],
  ...["{{workflow.uid}}{{workflow.uid}}", "{{inputs.parameters.p}}{{inputs.parameters.p}}"],
  ...["{{=workflow.parameters.w + inputs.parameters.p}}", "5", "{{=repeat(workflow.name, 100)}}"],
);
const tag = fc.oneof(
  { weight: 12, arbitrary: knownTag },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...["{{steps.s0.outputs.result}}", "{{item}}", "{{tasks.s0.outputs.parameters.o}}"],
      ...["{{item.a}}", "{{x}}", "{{retries}}", "{{inputs.parameters.__proto__}}"],
      ...OBJECT_NAMES.map((name) => `{{workflow.parameters.${name}}}`),
    ),
  },
  { weight: 2, arbitrary: expression.map((one) => `{{=${one}}}`) },
  { weight: 2, arbitrary: shortText },
);

const items = fc.oneof(
  fc.array(fc.oneof(jsonValue as fc.Arbitrary<Json>, tag), { maxLength: 4 }),
  times.map((count) => Array.from({ length: Math.min(count, 2_000) }, (_, at): Json => at)),
);
const loop: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: items.map((withItems): JsonObject => ({ withItems })) },
  {
    weight: 1,
    arbitrary: fc.oneof(items.map((all) => JSON.stringify(all)), tag)
      .map((withParam): JsonObject => ({ withParam })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom("count", "end"),
      counts,
      fc.record({ start: counts, format: formats }, { requiredKeys: [] }),
    ).map(([bound, count, rest]): JsonObject => ({
      withSequence: { [bound]: count, ...rest } as JsonObject,
    })),
  },
);

/** Leaves out members that are undefined. */
function object(members: Record<string, Json | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}

const sometimes = <T>(one: fc.Arbitrary<T>, weight = 1): fc.Arbitrary<T | undefined> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    { weight, arbitrary: one },
  );

const argument = tag.map((value): JsonObject => ({ parameters: [{ name: "p", value }] }));
const when = fc.oneof(
  fc.constantFrom("true", "false", "{{item}} > 1", '"{{inputs.parameters.p}}" =~ "(a|aa){50}$"'),
  tag,
);
const hooks = fc.oneof(
  template.map((one): JsonObject => ({ exit: { template: one } })),
  fc.tuple(template, fc.oneof(fc.constant('workflow.status == "Running"'), expression))
    .map(([one, expression]): JsonObject => ({ h: { template: one, expression } })),
);

function call(at: number): fc.Arbitrary<JsonObject> {
  return fc.record({
    template,
    loop,
    arguments: sometimes(argument, 4),
    when: sometimes(when, 2),
    continueOn: sometimes(fc.constant<Json>({ failed: true, error: true })),
    hooks: sometimes(hooks),
  }).map(({ template, loop, ...rest }) => ({ name: `s${at}`, template, ...object(rest), ...loop }));
}

const steps = fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 3 }).chain(
  (widths) => {
    let at = 0;
    return fc.tuple(
      ...widths.map((width) => fc.tuple(...Array.from({ length: width }, () => call(at++)))),
    );
  },
).map((groups): JsonObject => ({ steps: groups }));

const dag = fc.array(
  fc.tuple(call(0), fc.array(fc.nat(3), { maxLength: 2 }), sometimes(tag)),
  { minLength: 1, maxLength: 4 },
).map((all): JsonObject => ({
  dag: {
    tasks: all.map(([{ continueOn: _only, ...task }, needs, odd], at) => ({
      ...task,
      name: `s${at}`,
      ...(needs.length === 0 || at === 0
        ? {}
        : { depends: odd ?? needs.map((need) => `s${need % at}`).join(" && ") }),
    })),
  },
}));

const output = fc.oneof(
  fc.constant<JsonObject>({ parameters: [{ name: "o", valueFrom: { path: "/tmp/o" } }] }),
  expression.map((expression): JsonObject => ({
    parameters: [{ name: "o", valueFrom: { expression } }],
  })),
  tag.map((parameter): JsonObject => ({ parameters: [{ name: "o", valueFrom: { parameter } }] })),
);
const leaf = fc.oneof(
  tag.map((text): JsonObject => ({ container: { image: "i", args: [text] } })),
  tag.map((source): JsonObject => ({ script: { image: "i", source, command: ["sh"] } })),
  sometimes(fc.constantFrom<Json>("0", "1", "x", "{{item}}"), 6)
    .map((duration): JsonObject => ({ suspend: object({ duration }) })),
  fc.constant<JsonObject>({
    containerSet: { containers: [{ name: "main", image: "i" }, { name: "b", image: "i" }] },
  }),
);
const retry = fc.record({
  limit: sometimes(counts, 6),
  retryPolicy: sometimes(fc.constantFrom<Json>("Always", "OnError", "x")),
  expression: sometimes(expression as fc.Arbitrary<Json>),
  backoff: sometimes(fc.constantFrom<Json>({ duration: "0" }, { duration: "1", factor: 1e9 })),
}).map(object);
const synchronization = fc.constantFrom<Json>(
  { mutexes: [{ name: "m" }] },
  { mutexes: [{ name: "{{inputs.parameters.p}}" }] },
  { semaphores: [{ configMapKeyRef: { name: "limits", key: "k" } }] },
);

const several: fc.Arbitrary<JsonObject> = fc.tuple(
  fc.oneof(steps, dag),
  fc.record({
    parallelism: sometimes(whole),
    failFast: sometimes(fc.constant<Json>(false)),
    outputs: sometimes(fc.constant<Json>("s0.outputs.result")),
  }).map(object),
).map(([body, { outputs, ...rest }]) => ({
  ...body,
  ...rest,
  ...(outputs === undefined ? {} : {
    outputs: {
      parameters: [{
        name: "o",
        valueFrom: { parameter: `{{${"dag" in body ? "tasks" : "steps"}.${outputs}}}` },
      }],
    },
  }),
}));
const single: fc.Arbitrary<JsonObject> = fc.tuple(
  leaf,
  fc.record({
    outputs: sometimes(output as fc.Arbitrary<Json>, 3),
    timeout: sometimes(fc.constantFrom<Json>("1s", "0", "x")),
  }).map(object),
).map(([body, rest]) => ({ ...body, ...rest }));

const shape: fc.Arbitrary<JsonObject> = fc.tuple(
  fc.oneof({ weight: 3, arbitrary: single }, { weight: 7, arbitrary: several }),
  fc.record({
    inputs: sometimes(
      fc.constant<Json>({ parameters: [{ name: "p", value: "1" }] }),
      30,
    ),
    retryStrategy: sometimes(retry as fc.Arbitrary<Json>),
    synchronization: sometimes(synchronization),
    memoize: sometimes(fc.constant<Json>({
      key: "{{inputs.parameters.p}}",
      maxAge: "1h",
      cache: { configMap: { name: "c" } },
    })),
  }).map(object),
).map(([body, rest]) => ({ ...body, ...rest }));

const workflow: fc.Arbitrary<JsonObject> = fc.record({
  templates: fc.array(shape, { minLength: TEMPLATES, maxLength: TEMPLATES }),
  onExit: sometimes(template as fc.Arbitrary<Json>),
  hooks: sometimes(hooks as fc.Arbitrary<Json>),
  parallelism: sometimes(whole),
  activeDeadlineSeconds: sometimes(whole),
  workflowMetadata: sometimes(expression.map((expression): Json => ({
    labelsFrom: { l: { expression } },
  }))),
  synchronization: sometimes(synchronization),
  podGC: sometimes(fc.constantFrom<Json>({ strategy: "OnPodCompletion" })),
  suspend: sometimes(fc.constant<Json>(true)),
  priority: sometimes(whole),
}).map(({ templates, ...rest }) => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w" },
  spec: {
    entrypoint: "t0",
    arguments: { parameters: [{ name: "w", value: "5" }] },
    // Intentionally not by chance: recursion without an end is another case than a tree.
    templates: templates.map((one, at) => ({ name: `t${at}`, ...one })),
    ...object(rest),
  },
}));

/** Only steps and tasks that call later templates: what comes to an end. */
const ending = workflow.map((manifest) => {
  const copy = structuredClone(manifest) as {
    spec: { templates: { steps?: JsonObject[][]; dag?: { tasks: JsonObject[] } }[] };
  };
  for (const [at, one] of copy.spec.templates.entries()) {
    for (const call of [...(one.steps ?? []).flat(), ...(one.dag?.tasks ?? [])]) {
      call.template = `t${Math.min(TEMPLATES, at + 1)}`;
    }
  }
  (copy.spec.templates as Json[]).push({
    name: `t${TEMPLATES}`,
    inputs: { parameters: [{ name: "p", value: "1" }] },
    container: { image: "i" },
  });
  return copy as unknown as JsonObject;
});

/** One place of a manifest, chosen by a path of numbers, holds something else. */
function damage(value: Json, path: readonly number[], odd: Json): Json {
  const [at, ...rest] = path;
  if (at === undefined || typeof value !== "object" || value === null) return odd;
  const keys = Object.keys(value);
  const key = keys[at % Math.max(1, keys.length)];
  if (key === undefined) return odd;
  const member = (value as JsonObject)[key] ?? null;
  const changed = damage(member, rest, odd);
  return Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
}

const odd: fc.Arbitrary<Json> = fc.oneof(
  jsonValue as fc.Arbitrary<Json>,
  tag,
  counts,
  fc.constantFrom<Json>(null, [], {}, [[]], [null], { name: "t0" }, "t0"),
);
const manifest: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 6, arbitrary: ending },
  { weight: 2, arbitrary: workflow },
  {
    weight: 3,
    // The last member is the spec, where most is to be damaged.
    arbitrary: fc.tuple(ending, fc.array(fc.nat(9), { minLength: 1, maxLength: 7 }), odd)
      .map(([one, path, value]) => damage(one, [3, ...path], value) as JsonObject),
  },
);

const BOMBS: readonly Piece[][] = [
  [
    "a: &a [x, x, x, x, x, x, x, x, x]\n",
    ..."bcdefghij".split("").map((letter, at) =>
      `${letter}: &${letter} [${`*${"abcdefghij"[at]}, `.repeat(9)}]\n`
    ),
  ],
  ["a: &a\n  <<: *a\n  b: 1\n"],
  [{ text: "[", times: 10_000 }],
  [{ text: "{a: ", times: 10_000 }],
  [{ text: "- ", times: 10_000 }],
  [{ text: "---\n", times: 10_000 }],
  ["kind: Workflow\nmetadata: {name: ", { text: "n", times: 100_000 }, "}\n"],
  ['{"kind":"Workflow","spec":{"templates":[', { text: "{},", times: 1_000_000 }, "{}]}}"],
  ['{"kind":"Workflow","spec":{"entrypoint":', { text: "[", times: 100_000 }],
  ["kind: List\nitems: [", { text: "{kind: Workflow},", times: 3_000 }, "]\n"],
  ["? [a, b]\n: 1\n? {c: d}\n: 2\n"],
  ["a: !!binary aGk=\nb: !!js/function x\nc: !<tag:x> 1\n"],
  ["\ufeffkind: Workflow\n"],
  ["kind: Workflow\nkind: Workflow\n__proto__: {polluted: 1}\n"],
];

/** The text of a manifest, as JSON or YAML; cut short, with something in between, or made to blow up. */
export const manifestText: fc.Arbitrary<Piece[]> = fc.oneof(
  { weight: 20, arbitrary: manifest.map((one): Piece[] => [JSON.stringify(one)]) },
  { weight: 4, arbitrary: manifest.map((one): Piece[] => [stringify(one)]) },
  {
    weight: 2,
    arbitrary: fc.tuple(manifest, shortText, fc.nat(2_000)).map(([one, text, at]): Piece[] => {
      const yaml = stringify(one);
      return [yaml.slice(0, at), text, yaml.slice(at + 1)];
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom(...BOMBS) },
);
