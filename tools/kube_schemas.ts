// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno run -A tools/kube_schemas.ts`: makes `test/fixtures/kube_schemas/*.json`, against which the chart is checked:
 * the API definitions of three Kubernetes versions, and those of the custom resources that the chart can make, each
 * reduced to what the chart's kinds need. It takes them from Go modules, so it needs Go.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";

const VERSIONS = ["v1.30.14", "v1.33.13", "v1.34.2"];
const KINDS = [
  "ClusterRole ClusterRoleBinding ConfigMap CustomResourceDefinition Deployment HorizontalPodAutoscaler Ingress Job",
  "NetworkPolicy PersistentVolumeClaim Pod PodDisruptionBudget Role RoleBinding Secret Service ServiceAccount",
  "StatefulSet",
].join(" ").split(" ");
/** Module, version and file of custom resource definitions. */
const CUSTOM: [string, string][] = [
  [
    "sigs.k8s.io/gateway-api@v1.3.0",
    "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
  ],
  [
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
  ],
  [
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
  ],
];
const FOLDER = "test/fixtures/kube_schemas";

type Schema = { [member: string]: unknown };

interface Bundle {
  /** `apps/v1 Deployment` → name in `definitions`. */
  kinds: Record<string, string>;
  definitions: Record<string, Schema>;
}

function moduleFolder(module: string): string {
  const told = execFileSync("go", ["mod", "download", "-json", module], {
    encoding: "utf8",
    cwd: tmpdir(),
  });
  return (JSON.parse(told) as { Dir: string }).Dir;
}

/** JSON Schema that refuses unknown members, as the API server's strict validation does. */
function strict(schema: Schema): Schema {
  const made: Schema = {};
  if (schema["format"] === "int-or-string" || schema["x-kubernetes-int-or-string"] === true) {
    return { type: ["integer", "string"] };
  }
  for (const [name, value] of Object.entries(schema)) {
    if (name === "properties") {
      const entries = Object.entries(value as Record<string, Schema>);
      made["properties"] = Object.fromEntries(entries.map(([key, one]) => [key, strict(one)]));
    } else if (name === "items" || (name === "additionalProperties" && typeof value === "object")) {
      made[name] = strict(value as Schema);
    } else if (
      ["type", "required", "$ref", "enum", "pattern", "additionalProperties"].includes(name)
    ) {
      made[name] = value;
    }
  }
  const isOpen = schema["additionalProperties"] !== undefined ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (made["properties"] !== undefined && !isOpen) made["additionalProperties"] = false;
  return made;
}

/** The definitions of one Kubernetes version. */
function kubernetes(version: string): Bundle {
  const file = join(moduleFolder(`k8s.io/kubernetes@${version}`), "api/openapi-spec/swagger.json");
  const all = (JSON.parse(readFileSync(file, "utf8")) as Bundle).definitions;
  const bundle: Bundle = { kinds: {}, definitions: {} };
  const wanted: string[] = [];
  for (const [name, schema] of Object.entries(all)) {
    const gvk = schema["x-kubernetes-group-version-kind"] as
      | { group: string; version: string; kind: string }[]
      | undefined;
    const [only] = gvk ?? [];
    if (gvk?.length !== 1 || only === undefined || !KINDS.includes(only.kind)) continue;
    bundle.kinds[`${only.group === "" ? "" : `${only.group}/`}${only.version} ${only.kind}`] = name;
    wanted.push(name);
  }
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (name in bundle.definitions) continue;
    const schema = strict(all[name] ?? {});
    // A quantity may also be a number.
    bundle.definitions[name] = name.endsWith(".Quantity") ? { type: ["string", "number"] } : schema;
    for (const [, ref = ""] of JSON.stringify(schema).matchAll(/#\/definitions\/([^"]+)"/g)) {
      wanted.push(ref);
    }
  }
  return bundle;
}

/** The definitions of custom resources. */
function custom(): Bundle {
  const bundle: Bundle = { kinds: {}, definitions: {} };
  for (const [module, file] of CUSTOM) {
    const { spec } = parse(readFileSync(join(moduleFolder(module), file), "utf8"));
    for (const { name, schema } of spec.versions) {
      const made = strict(schema.openAPIV3Schema);
      (made["properties"] as Schema)["metadata"] = { type: "object" };
      bundle.kinds[`${spec.group}/${name} ${spec.names.kind}`] = spec.names.kind + name;
      bundle.definitions[spec.names.kind + name] = made;
    }
  }
  return bundle;
}

function write(name: string, { kinds, definitions }: Bundle): void {
  const sorted = <Value>(map: Record<string, Value>) =>
    Object.fromEntries(Object.entries(map).sort(([a], [b]) => a < b ? -1 : 1));
  // One definition per line, so that diffs are readable.
  const lines = Object.entries(sorted(definitions)).map(([key, schema]) =>
    `${JSON.stringify(key)}: ${JSON.stringify(schema)}`
  );
  const text = `{"kinds": ${JSON.stringify(sorted(kinds), null, 1)},\n"definitions": {\n${
    lines.join(",\n")
  }\n}}\n`;
  writeFileSync(join(FOLDER, `${name}.json`), text);
  console.log(`${name}: ${lines.length} definitions, ${(text.length / 1024).toFixed(0)} KiB`);
}

mkdirSync(FOLDER, { recursive: true });
for (const version of VERSIONS) write(version.replace(/^v/, ""), kubernetes(version));
write("custom", custom());
