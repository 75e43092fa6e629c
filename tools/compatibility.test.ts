import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { Json, JsonObject } from "../src/base/json.ts";
import { podFor } from "../src/executors/kubernetes/pod.ts";
import { shortName } from "../src/spec/members.ts";
import type { Schema } from "../src/spec/schema/schema.ts";
import type { Template, WorkflowSpec } from "../src/spec/manifest.ts";
import { startApiServer } from "../test/support/api_server.ts";
import { taskSpec } from "../test/support/task_spec.ts";
import { COMPATIBILITY_PAGE, compatibilityPage, type Row, rows, structs } from "./compatibility.ts";
import { API_DECISIONS, QUIRK_DECISIONS } from "./decisions.ts";
import { CLAIMS } from "../src/spec/support.ts";

const SRC = join(import.meta.dirname, "../src");
const all = rows();
const nameOf = ({ struct, member }: Row) => `${shortName(struct)}.${member}`;
const claimOf = ({ claims: [claim] }: Row) => claim?.is ?? "none";

test("docs/compatibility.md is what the claims and tests give", () => {
  expect(readFileSync(COMPATIBILITY_PAGE, "utf8")).toBe(compatibilityPage());
});

describe("the claims", () => {
  it("say one thing about every member of the schema", () => {
    expect(all.length).toBeGreaterThan(700);
    expect(all.filter(({ claims }) => claims.length !== 1).map(nameOf)).toEqual([]);
  });

  it("name only what exists", () => {
    const known = structs();
    const wrong = CLAIMS.flatMap(({ of, members }) =>
      of.split(" ").flatMap((name) => {
        const found = known.filter((one) => one.name === name || shortName(one) === name);
        if (found.length === 0) return [name];
        return members === "*"
          ? []
          : members.split(" ").filter((member) => !found.some((one) => one.fields().has(member)));
      })
    );
    expect(wrong).toEqual([]);
  });
});

describe("tests that claims name", () => {
  const named = CLAIMS.filter(({ shown }) => shown !== undefined);
  it.each(named.map(({ members, shown = "" }) => [members, shown]))("%s", (members, shown) => {
    const text = readFileSync(join(SRC, "..", shown), "utf8");
    for (const member of members.split(" ")) expect(text).toMatch(new RegExp(`\\b${member}\\b`));
  });
});

/**
 * Text of the sources that could give a member an effect: without its declarations, and without code that only passes
 * objects on.
 */
const SOURCES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .filter((name) => !/^(spec|client|cli|ui|http|simulation)\//.test(name))
  .map((name): [string, string] => [name, readFileSync(join(SRC, name), "utf8")]);

function readers(member: string, files: RegExp): string[] {
  const word = new RegExp(`\\b${member}\\b`);
  return SOURCES.filter(([name, text]) => files.test(name) && word.test(text)).map(([name]) =>
    name
  );
}

/**
 * Members without effect whose names mean something else elsewhere, or are read in order to refuse them: finding the
 * word proves nothing.
 */
const OTHER_MEANINGS = new Set([
  ...["name", "key", "value", "type", "path", "action", "flags", "resource", "plugin", "force"],
  ...["labels", "help", "when", "counter", "gauge", "histogram", "metrics", "operation", "buckets"],
  ...[
    "executor",
    "arguments",
    "description",
    "artifact",
    "manifest",
    "selector",
    "strategy",
    "env",
  ],
  ...["volumes", "volumeMounts", "podMetadata", "serviceAccountName", "podSpecPatch", "container"],
  ...[
    "bucket",
    "endpoint",
    "secrets",
    "immutable",
    "configuration",
    "successCondition",
    "manifestFrom",
  ],
  ...[
    "gcs",
    "oss",
    "azure",
    "hdfs",
    "addresses",
    "imagePullSecrets",
    "automountServiceAccountToken",
  ],
  ...["accessKeySecret", "secretKeySecret", "createBucketIfNotPresent", "encryptionOptions"],
  ...["serverSideCustomerKeySecret", "jqFilter", "setOwnerReference"],
]);

describe("members without effect", () => {
  const silent = all.filter((row) => claimOf(row) === "none")
    .filter(({ member }) => !OTHER_MEANINGS.has(member));

  it("are many enough for this to mean something", () => {
    expect(silent.length).toBeGreaterThan(30);
  });

  it.each(silent.map((row): [string, string] => [nameOf(row), row.member]))(
    "%s is read nowhere",
    (_name, member) => expect(readers(member, /./)).toEqual([]),
  );
});

describe("members that the server sees to", () => {
  const seen = all.filter((row) => claimOf(row) === "server")
    .filter(({ struct }) => !/^core\./.test(shortName(struct)));
  it.each(seen.map((row): [string, string] => [nameOf(row), row.member]))(
    "%s is read",
    (_name, member) => expect(readers(member, /./)).not.toEqual([]),
  );
});

const LOCAL = /^executors\/(local\/|capture|resources_duration|container_plan)|^artifacts\//;
const CONTAINER_STRUCTS = ["core.Container", "ScriptTemplate", "ContainerNode", "UserContainer"];

describe("members of containers on one machine", () => {
  const container = all.filter(({ struct }) => CONTAINER_STRUCTS.includes(shortName(struct)));

  it.each(container.map((row): [string, Row] => [nameOf(row), row]))("%s", (_name, row) => {
    const found = readers(row.member, LOCAL);
    if (claimOf(row)[1] === "y") expect(found).not.toEqual([]);
    else expect(found).toEqual([]);
  });
});

/** A value of the right shape, different from any default. */
function sample(schema: Schema): Json {
  switch (schema.kind) {
    case "struct": {
      const [first] = schema.fields();
      return first === undefined ? {} : { [first[0]]: sample(first[1].schema) };
    }
    case "list":
      return [sample(schema.items)];
    case "map":
      return { sample: sample(schema.values) };
    case "stepGroup":
      return [];
    case "boolean":
      return true;
    case "int32":
    case "int64":
    case "uint64":
      return 7;
    case "object":
    case "plugin":
      return { sample: "7" };
    default:
      return "7";
  }
}

function podOf(template: Template, podSpec: WorkflowSpec): string {
  const pod = podFor(taskSpec("a", template, { podSpec }), {
    instance: "i",
    labelPrefix: "workflows.argoproj.io/",
    helperImage: "busybox",
    callbackUrl: "http://sluice:2746",
    secret: "s",
    now: 0,
  });
  // Passing the template to containers as text is no effect.
  return JSON.stringify(pod).replaceAll(
    /\{"name":"ARGO_TEMPLATE","value":"(?:[^"\\]|\\.)*"\}/g,
    "",
  );
}

describe("pods", () => {
  const containers = all.filter(({ struct }) => shortName(struct) === "core.Container");
  it.each(containers.map((row): [string, Row] => [nameOf(row), row]))("%s", (_name, row) => {
    if (row.member === "name") return;
    const schema = row.struct.fields().get(row.member)?.schema;
    if (schema === undefined) throw new Error("no schema");
    const base = { image: "i", command: ["c"] };
    const withMember = { container: { ...base, [row.member]: sample(schema) } };
    const differs = podOf({ container: base }, {}) !== podOf(withMember, {});
    expect(differs).toBe(claimOf(row)[2] === "y");
  });

  const ofPod = all.filter((row) => ["Template", "WorkflowSpec"].includes(shortName(row.struct)))
    .filter((row) => row.struct.fields().get(row.member)?.schema.kind !== "stepGroup")
    .filter((row) => /^n/.test(claimOf(row)) && claimOf(row) !== "none")
    // A resource is not a pod.
    .filter(({ member }) => member !== "resource");
  it("have many members of their own", () => expect(ofPod.length).toBeGreaterThan(20));
  it.each(ofPod.map((row): [string, Row] => [nameOf(row), row]))("%s", (_name, row) => {
    const schema = row.struct.fields().get(row.member)?.schema;
    if (schema === undefined) throw new Error("no schema");
    const value: Json = row.member === "podSpecPatch"
      ? '{"hostPID": true}'
      : ["metadata", "podMetadata"].includes(row.member)
      ? { labels: { sample: "7" } }
      : sample(schema);
    const template: JsonObject = { container: { image: "i", command: ["c"] } };
    const inTemplate = shortName(row.struct) === "Template";
    const made = podOf(
      { ...template, ...(inTemplate ? { [row.member]: value } : {}) } as Template,
      (inTemplate ? {} : { [row.member]: value }) as WorkflowSpec,
    );
    expect(made !== podOf(template as Template, {})).toBe(claimOf(row)[2] === "y");
  });
});

describe("decisions", () => {
  const root = join(import.meta.dirname, "..");
  const manifests = readFileSync(join(root, "test/fixtures/manifests/decisions.test.yaml"), "utf8");

  it.each(QUIRK_DECISIONS.map(({ subject, shown }) => [subject, shown]))(
    "%s",
    (_subject, shown) => {
      const [, file, text = ""] = /^(\S+\.test\.ts): (.*)$/.exec(shown) ?? [];
      if (file !== undefined) expect(readFileSync(join(root, file), "utf8")).toContain(text);
      else expect(manifests).toContain(`- name: ${shown}\n`);
    },
  );

  let running: Awaited<ReturnType<typeof startApiServer>>;
  beforeAll(async () => {
    running = await startApiServer({ gatekeeper: { server: true, authenticators: [] } });
  });
  afterAll(() => running.stop());

  it.each(API_DECISIONS.map((one): [string, typeof one] => [one.place, one]))(
    "%s",
    async (_place, { check, shown = "" }) => {
      if (check === undefined) {
        const [file = "", name = ""] = shown.split(": ");
        expect(name).not.toBe("");
        expect(readFileSync(join(root, file), "utf8")).toContain(name);
        return;
      }
      const { method, path, body, status } = check;
      const answer = await fetch(`http://127.0.0.1:${running.server.port}${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect(answer.status, await answer.text()).toBe(status);
    },
  );
});
