import { describe, expect, it } from "vitest";
import { decode, DecodeError, pathText, type UnknownField } from "./decode.ts";
import { fits } from "../fits.ts";
import { normalForm } from "../normal_form.ts";
import { decodeAny, decodeManifest } from "./decode_manifest.ts";
import { WORKFLOW_SCHEMA, WORKFLOW_SPEC } from "./kinds.ts";

function textOf(spec: unknown, under?: string[]): string {
  try {
    decodeManifest("Workflow", { spec }, under === undefined ? {} : { under });
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
  return "";
}

const inTemplate = (template: object) => ({ templates: [{ name: "t", ...template }] });
const inStep = (step: object) => inTemplate({ steps: [[{ name: "s", ...step }]] });

describe("decode() reports the first value of a wrong type as Go does", () => {
  const into = (place: string, type: string) => `into Go struct field ${place} of type ${type}`;
  const rows: [string, unknown, string][] = [
    [
      "a text for a number",
      { parallelism: "2" },
      `json: cannot unmarshal string ${into("WorkflowSpec.spec.parallelism", "int64")}`,
    ],
    [
      "a fraction for a whole number",
      { priority: 1.5 },
      `json: cannot unmarshal number 1.5 ${into("WorkflowSpec.spec.priority", "int32")}`,
    ],
    [
      "a number beyond 32 bits",
      { priority: 3e9 },
      `json: cannot unmarshal number 3000000000 ${into("WorkflowSpec.spec.priority", "int32")}`,
    ],
    [
      "a list for an object",
      inTemplate({ container: [] }),
      `json: cannot unmarshal array ${into("Template.spec.templates.container", "v1.Container")}`,
    ],
    [
      "a number in a list of texts",
      inTemplate({ container: { args: ["a", 1] } }),
      `json: cannot unmarshal number ${into("Container.spec.templates.container.args", "string")}`,
    ],
    [
      "a value of an embedded struct",
      inTemplate({ script: { image: 3 } }),
      `json: cannot unmarshal number ${
        into("ScriptTemplate.spec.templates.script.image", "string")
      }`,
    ],
    [
      "a number for a label",
      { podMetadata: { labels: { a: 1 } } },
      `json: cannot unmarshal number ${into("Metadata.spec.podMetadata.labels", "string")}`,
    ],
    [
      "a truth for a number or text",
      inTemplate({ retryStrategy: { limit: true } }),
      `json: cannot unmarshal bool ${
        into("RetryStrategy.spec.templates.retryStrategy.limit", "int32")
      }`,
    ],
    [
      "an object for a parameter's value",
      { arguments: { parameters: [{ name: "p", value: { a: [1] } }] } },
      `json: cannot unmarshal object ${
        into("Parameter.spec.arguments.parameters.value", "string")
      }; write it as a text, in quotes: '{"a":[1]}'`,
    ],
    [
      "a value inside a step, under the template's name",
      inStep({ arguments: { parameters: [{ name: 5 }] } }),
      `json: cannot unmarshal number ${
        into("Template.spec.templates.steps.arguments.parameters.name", "string")
      }`,
    ],
    [
      "a value of an inline template in a step",
      inStep({ inline: { suspend: { duration: 3 } } }),
      `json: cannot unmarshal number ${
        into("Template.spec.templates.steps.inline.suspend.duration", "string")
      }`,
    ],
    [
      "a value of a task",
      inTemplate({ dag: { tasks: [{ name: "a", when: 1 }] } }),
      `json: cannot unmarshal number ${into("DAGTask.spec.templates.dag.tasks.when", "string")}`,
    ],
    [
      "a text among the steps",
      inTemplate({ steps: [["a"]] }),
      `json: cannot unmarshal string ${
        into("Template.spec.templates.steps", "map[string]interface {}")
      }`,
    ],
    ["an unknown member of a step", inStep({ nope: 1 }), 'json: unknown field "nope"'],
    [
      "a plugin with two names",
      inTemplate({ plugin: { a: {}, b: {} } }),
      "expected exactly one key, got 2",
    ],
  ];
  it.each(rows)("%s", (_name, spec, text) => expect(textOf(spec)).toBe(text));

  it("names the members around a value that sits in a request", () => {
    expect(textOf({ entrypoint: 1 }, ["workflow"])).toBe(
      "json: cannot unmarshal number into Go struct field WorkflowSpec.workflow.spec.entrypoint of type string",
    );
  });

  it("has no field for the value as a whole", () => {
    expect(() => decodeManifest("Workflow", [])).toThrow(
      "json: cannot unmarshal array into Go value of type v1alpha1.Workflow",
    );
  });

  it("keeps the path of the document", () => {
    const path = () => {
      try {
        decodeManifest("Workflow", { Spec: inStep({ withParam: 5 }) });
      } catch (error) {
        return error instanceof DecodeError ? pathText(error.path) : undefined;
      }
      return undefined;
    };
    expect(path()).toBe("Spec.templates[0].steps[0][0].withParam");
  });
});

describe("decode()", () => {
  it("keeps scalars as text where any is allowed", () => {
    const values = [1, 1.5, 1e21, 1e-7, true, "x"];
    const { spec } = decodeManifest("Workflow", {
      spec: { arguments: { parameters: values.map((value) => ({ name: "p", value })) } },
    });
    expect(spec.arguments?.parameters?.map(({ value }) => value)).toEqual(
      ["1", "1.5", "1000000000000000000000", "0.0000001", "true", "x"],
    );
  });

  it("finds members in any case, drops unknown ones and null", () => {
    const decoded = decodeManifest("Workflow", {
      METADATA: { Name: "x", more: 1 },
      spec: { EntryPoint: "a", onExit: null, extra: { deep: 1 } },
    });
    expect(decoded).toEqual({
      metadata: { name: "x" },
      spec: { entrypoint: "a", arguments: {} },
    });
  });

  it("null in a map is the value that says nothing, also of a quantity", () => {
    const container = { image: "i", resources: { limits: { cpu: null, memory: "1Gi" } } };
    const { spec } = decodeManifest("Workflow", { spec: inTemplate({ container }) });
    expect(spec.templates?.[0]?.container?.resources?.limits).toEqual({ cpu: "0", memory: "1Gi" });
  });

  it("takes no quantity whose digits would cost more than any quantity is worth", () => {
    for (const cpu of ["1".repeat(1_000_000), "0.".padEnd(300, "3"), "1".repeat(257)]) {
      const container = { image: "i", resources: { limits: { cpu } } };
      expect(() => decodeManifest("Workflow", { spec: inTemplate({ container }) })).toThrow(
        /at most 256 characters/,
      );
    }
  });

  it("refuses what is no quantity in the words of Kubernetes, and takes blanks around one", () => {
    const limitsOf = (cpu: unknown) => {
      const container = { image: "i", resources: { limits: { cpu } } };
      const { spec } = decodeManifest("Workflow", { spec: inTemplate({ container }) });
      return spec.templates?.[0]?.container?.resources?.limits;
    };
    for (const wrong of ["lots", "", true, [1]]) {
      expect(() => limitsOf(wrong)).toThrow(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      );
    }
    expect(() => limitsOf("1kk")).toThrow("unable to parse quantity's suffix");
    expect(limitsOf(" 1.5 ")).toEqual({ cpu: "1500m" });
    expect(limitsOf(0.5)).toEqual({ cpu: "500m" });
  });

  it.each([
    ["yesterday", 'as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'],
    ["", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
    ["2020-13-01T00:00:00Z", ": month out of range"],
    ["2020-02-30T00:00:00Z", ": day out of range"],
  ])("refuses the time %j", (creationTimestamp, problem) => {
    expect(() => decodeManifest("Workflow", { metadata: { creationTimestamp } })).toThrow(problem);
  });

  it("keeps a time as it is, but not a form that only Go reads", () => {
    const timeOf = (creationTimestamp: string) =>
      decodeManifest("Workflow", { metadata: { creationTimestamp } }).metadata.creationTimestamp;
    expect(timeOf("2020-02-29T01:02:03.5+02:00")).toBe("2020-02-29T01:02:03.5+02:00");
    expect(timeOf("2020-02-29T1:02:03,5Z")).toBe("2020-02-29T01:02:03Z");
  });

  it("refuses a value that is no finite number", () => {
    for (const value of [JSON.parse("1e400"), -Infinity, NaN]) {
      expect(() =>
        decodeManifest("Workflow", { spec: { arguments: { parameters: [{ name: "p", value }] } } })
      ).toThrow("json: cannot unmarshal number into Go struct field Parameter.");
    }
  });

  it("reads bytes over line breaks, and says where other text goes wrong", () => {
    const bytesOf = (bytes: string) =>
      decodeManifest("Workflow", { spec: inTemplate({ http: { url: "u", bodyFrom: { bytes } } }) })
        .spec.templates?.[0]?.http?.bodyFrom?.bytes;
    expect(bytesOf("aGVs\nbG8=\r\n")).toBe("aGVsbG8=");
    expect(() => bytesOf("aGVsbG8")).toThrow("illegal base64 data at input byte 4");
    expect(() => bytesOf("!!!!")).toThrow("illegal base64 data at input byte 0");
  });

  it("puts members in the schema's order, the last of two for one place", () => {
    const given = { spec: { templates: [], Entrypoint: "a", entrypoint: "b", ENTRYPOINT: "c" } };
    const { spec } = decodeManifest("Workflow", given);
    expect(Object.entries(spec)).toEqual([["templates", []], ["entrypoint", "c"], [
      "arguments",
      {},
    ]]);
  });

  it("shows what Go always writes, and leaves out what says nothing", () => {
    const { spec } = normalForm(
      decodeManifest("Workflow", {
        spec: {
          volumeClaimTemplates: [{ metadata: { name: "work" }, spec: {} }],
          templates: [{
            name: "a",
            container: {
              image: "i",
              tty: false,
              stdin: true,
              ports: [{ hostPort: 0 }],
              volumeMounts: [{ name: "work", mountPath: "/work", readOnly: false }],
              readinessProbe: { initialDelaySeconds: 0, periodSeconds: 5, tcpSocket: {} },
              env: [{ name: "E", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } }],
            },
            inputs: { artifacts: [{ name: "f", path: "/f", azure: { blob: "b" } }] },
            metrics: { prometheus: [{ name: "m", help: "h", gauge: { value: "1" } }] },
          }, { name: "b", resource: { action: "get", setOwnerReference: false } }],
        },
      }),
      WORKFLOW_SCHEMA,
    );
    const [a, b] = spec.templates ?? [];
    expect(spec.volumeClaimTemplates).toEqual([
      { metadata: { name: "work" }, spec: { resources: {} }, status: {} },
    ]);
    expect(a?.container).toEqual({
      name: "",
      image: "i",
      ports: [{ containerPort: 0 }],
      env: [
        { name: "E", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "0" } } },
      ],
      resources: {},
      volumeMounts: [{ name: "work", mountPath: "/work" }],
      readinessProbe: { tcpSocket: { port: 0 }, periodSeconds: 5 },
      stdin: true,
    });
    expect(a?.inputs?.artifacts?.[0]?.azure).toEqual({ endpoint: "", container: "", blob: "b" });
    expect(a?.metrics?.prometheus?.[0]?.gauge).toEqual({ value: "1", realtime: null });
    expect(b?.resource).toEqual({ action: "get" });
    expect(fits(spec, WORKFLOW_SPEC)).toBe(true);
  });

  it("shows what normal form always has", () => {
    const { spec } = decodeManifest("Workflow", {
      spec: inTemplate({ container: { image: "i" }, steps: [[{ template: "x" }]] }),
    });
    expect(spec).toEqual({
      arguments: {},
      templates: [{
        name: "t",
        inputs: {},
        outputs: {},
        metadata: {},
        container: { name: "", image: "i", resources: {} },
        steps: [[{ template: "x", arguments: {} }]],
      }],
    });
  });

  it("drops arguments of a template, which only steps have", () => {
    for (const value of [{}, "x", { parameters: [{ name: "p", value: "{{item.none}}" }] }]) {
      const unknown: unknown[] = [];
      const { spec } = decodeManifest("Workflow", {
        spec: inTemplate({ suspend: {}, arguments: value }),
      }, { onUnknown: (field) => unknown.push(field) });
      expect(unknown).toEqual([]);
      expect(spec.templates?.[0]).toEqual({
        name: "t",
        inputs: {},
        outputs: {},
        metadata: {},
        suspend: {},
      });
    }
  });

  it("treats names of object prototypes as unknown, and keeps them as keys of maps", () => {
    const value = JSON.parse(
      '{"constructor":1,"__proto__":{"spec":1},"metadata":{"labels":{"__proto__":"a","toString":"b"}}}',
    );
    const decoded = decodeManifest("Workflow", value);
    expect(Object.entries(decoded.metadata.labels ?? {})).toEqual([
      ["__proto__", "a"],
      ["toString", "b"],
    ]);
    expect(Object.getPrototypeOf(decoded.metadata.labels)).toBe(Object.prototype);
    expect(decoded).not.toHaveProperty("constructor", 1);
  });

  it("reports unknown members with their path, those in steps apart", () => {
    const unknown: UnknownField[] = [];
    decodeManifest("Workflow", {
      Metadata: {},
      spec: {
        templates: [{
          contaner: {},
          steps: [[{ name: "a", arguments: { parameter: [] } }]],
          container: { resources: { limit: {} } },
        }],
        hooks: { exit: { tmpl: "x" } },
      },
    }, { onUnknown: (field) => unknown.push(field) });
    expect(unknown.map(({ path, insideStep, meant }) => [path, insideStep, meant()])).toEqual([
      ["Metadata", false, "metadata"],
      ["spec.templates[0].contaner", false, "container"],
      ["spec.templates[0].steps[0][0].arguments.parameter", true, "parameters"],
      ["spec.templates[0].container.resources.limit", false, "limits"],
      ["spec.hooks.exit.tmpl", false, undefined],
    ]);
  });

  it("shares nothing with what it was given", () => {
    const given = { kind: "object", goType: "x" } as const;
    const value = { a: { b: [1] } };
    const decoded = decode(value, given);
    value.a.b.push(2);
    expect(decoded).toEqual({ a: { b: [1] } });
  });
});

describe("decode() of what a cluster places pods by, and of volumes", () => {
  const list = "requiredDuringSchedulingIgnoredDuringExecution";
  const node = (requirement: object) => ({
    affinity: {
      nodeAffinity: { [list]: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } },
    },
  });
  const volume = (source: object) => ({ volumes: [{ name: "v", ...source }] });

  it.each<[string, object]>([
    ["of type string", node({ key: "gpu", operator: "In", values: [true] })],
    ["of type string", node({ key: "gpu", operator: "Gt", values: [1] })],
    ["of type []v1.PodAffinityTerm", { affinity: { podAntiAffinity: { [list]: {} } } }],
    ["of type int32", {
      affinity: {
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: "1" }] },
      },
    }],
    ["of type []v1.VolumeProjection", volume({ projected: { sources: {} } })],
    [
      "of type int64",
      volume({
        projected: { sources: [{ serviceAccountToken: { expirationSeconds: "60" } }] },
      }),
    ],
    ["of type int32", volume({ downwardAPI: { items: [{ path: "p", mode: "0644" }] } })],
    ["of type string", volume({ csi: { driver: "d", volumeAttributes: { share: true } } })],
    [
      "of type v1.PersistentVolumeClaimTemplate",
      volume({
        ephemeral: { volumeClaimTemplate: [] },
      }),
    ],
  ])("refuses what is not %s: %o", (type, spec) => expect(textOf(spec)).toContain(type));

  it("keeps what is right", () => {
    const spec = {
      ...node({ key: "gpu", operator: "In", values: ["true"] }),
      ...volume({
        projected: { sources: [{ secret: { name: "s", items: [{ key: "k", path: "p" }] } }] },
      }),
    };
    expect(decodeManifest("Workflow", { spec }).spec).toMatchObject(spec);
  });
});

describe("the status of a cron workflow", () => {
  const withStatus = (status: unknown) =>
    decodeManifest("CronWorkflow", { metadata: { name: "c" }, spec: { schedules: [] }, status });

  // One that is not what lists and schedules read would break both, also for its neighbours.
  it.each([
    [{ conditions: "x" }, "status.conditions of type v1alpha1.Conditions"],
    [{ conditions: [{ type: 5 }] }, "status.conditions.type of type string"],
    [{ active: {} }, "status.active of type []v1.ObjectReference"],
    [{ succeeded: "many" }, "status.succeeded of type int64"],
    [{ phase: 7 }, "status.phase of type string"],
    [{ lastScheduledTime: "yesterday" }, 'parsing time "yesterday"'],
    ["x", "CronWorkflow.status of type v1alpha1.CronWorkflowStatus"],
  ])("refuses %j", (status, text) => expect(() => withStatus(status)).toThrow(text));

  it("keeps what is right", () => {
    const status = {
      active: [{ kind: "Workflow", name: "c-1", uid: "u" }],
      lastScheduledTime: "2026-11-30T01:00:00Z",
      conditions: [{ type: "SpecError", status: "True", message: "m" }],
      succeeded: 3,
      failed: 0,
      phase: "Stopped",
    };
    expect(withStatus(status).status).toEqual(status);
    expect(withStatus({ ...status, active: null, conditions: null }).status).toMatchObject({
      lastScheduledTime: "2026-11-30T01:00:00Z",
      failed: 0,
    });
  });
});

describe("decodeAny()", () => {
  it("refuses a value without a known kind", () => {
    expect(() => decodeAny({})).toThrow("must state its kind");
    expect(() => decodeAny({ kind: "Pod" })).toThrow('Unknown kind "Pod"');
    expect(() => decodeAny("x")).toThrow("must be an object");
  });
});
