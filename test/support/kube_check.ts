/** kubeconform with the schemas of `test/fixtures/kube_schemas`, so that no network is needed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const SCHEMAS = join(import.meta.dirname, "../fixtures/kube_schemas");
/** Kinds that are not Kubernetes' own. */
const CUSTOM = "custom";

/** Versions of Kubernetes whose schemas are there, oldest first. */
export const KUBE_VERSIONS = readdirSync(SCHEMAS).map((file) => file.replace(/\.json$/, ""))
  .filter((name) => name !== CUSTOM);

export interface KubeFaults {
  status: number | null;
  faults: { msg: string }[];
  stderr: string;
}

/** Checks files, folders or, as `-`, the text against the schemas of a version of Kubernetes. */
export type KubeCheck = (version: string, input: string[], stdin?: string) => KubeFaults;

/**
 * @param program kubeconform
 * @param folder takes the schemas, in the layout that kubeconform expects
 */
export function createKubeCheck(program: string, folder: string): KubeCheck {
  for (const name of [...KUBE_VERSIONS, CUSTOM]) writeSchemas(name, folder);
  const at = (name: string) =>
    join(folder, name, "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json");
  return (version, input, stdin) => {
    const { stdout, stderr, status } = spawnSync(program, [
      "-strict",
      "-output",
      "json",
      "-schema-location",
      at(version),
      "-schema-location",
      at(CUSTOM),
      ...input,
    ], { encoding: "utf8", maxBuffer: 1 << 26, ...(stdin !== undefined && { input: stdin }) });
    const { resources = [] } = JSON.parse(stdout || "{}") as { resources?: { msg: string }[] };
    return { status, faults: resources, stderr };
  };
}

/** One file for each kind. */
function writeSchemas(name: string, folder: string): void {
  const { kinds, definitions } = JSON.parse(
    readFileSync(join(SCHEMAS, `${name}.json`), "utf8"),
  ) as { kinds: Record<string, string>; definitions: object };
  for (const [key, definition] of Object.entries(kinds)) {
    const [apiVersion = "", kind = ""] = key.split(" ");
    const [group, version = group] = apiVersion.split("/");
    const file = join(folder, name, group ?? "", `${kind.toLowerCase()}_${version}.json`);
    mkdirSync(dirname(file), { recursive: true });
    const schema = { allOf: [{ $ref: `#/definitions/${definition}` }], definitions };
    writeFileSync(file, JSON.stringify(schema));
  }
}
