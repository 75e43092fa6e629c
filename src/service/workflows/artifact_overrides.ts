/** Artifacts of a submission that take the place of a template's: files that were uploaded for it. */
import { invalid } from "../../base/problem.ts";
import { uploadOwner } from "../../spec/artifact_key.ts";
import type { Artifact, Workflow } from "../../spec/manifest.ts";

/**
 * Points template artifacts that are named in `name=key` overrides to uploaded files.
 * @param known artifacts that may be overridden: those of the template, or of the workflow itself
 * @throws {Problem} InvalidArgument for another form, a name that no artifact has, or an artifact that has no key
 */
export function withArtifacts(
  workflow: Workflow,
  known: readonly Artifact[],
  overrides: readonly string[] | undefined,
  namespace: string,
): Workflow {
  if (overrides === undefined || overrides.length === 0) return workflow;
  const keys = new Map(overrides.map((override): [string, string] => {
    const at = override.indexOf("=");
    if (at <= 0 || at === override.length - 1) {
      throw invalid(`expected artifact of the form: NAME=KEY. Received: ${override}`);
    }
    return [override.slice(0, at), override.slice(at + 1)];
  }));
  const unmatched = new Set(keys.keys());
  for (const { name } of known) unmatched.delete(name);
  if (unmatched.size > 0) {
    throw invalid(`artifact override(s) matched no artifact: ${[...unmatched].sort().join(", ")}`);
  }
  const isReference = workflow.spec.workflowTemplateRef !== undefined;
  // What is not overridden comes from the template, except what the workflow holds itself.
  const own = workflow.spec.arguments?.artifacts ?? [];
  const others = known.filter(({ name }) =>
    keys.has(name) && !own.some((one) => one.name === name)
  );
  const artifacts = [...own, ...others].map((artifact) => {
    const key = keys.get(artifact.name);
    if (key === undefined) return artifact;
    if (isReference) checkUploadKey(key, namespace);
    return withKey(artifact, key);
  });
  return {
    ...workflow,
    spec: { ...workflow.spec, arguments: { ...workflow.spec.arguments, artifacts } },
  };
}

function checkUploadKey(key: string, namespace: string): void {
  if (uploadOwner(key) !== namespace) {
    throw invalid(`artifact key "${key}" must have the form uploads/${namespace}/UUID/FILE`);
  }
}

/** Locations of artifacts that have no key. */
const KEYLESS = ["raw", "git", "http", "artifactory"] as const;

/**
 * The artifact with another key in its location; in an s3 location if it has none.
 * @throws {Problem} InvalidArgument when its location has no key: a second location would not say which one counts
 */
export function withKey(artifact: Artifact, key: string): Artifact {
  for (const kind of ["s3", "gcs", "oss", "azure", "hdfs"] as const) {
    const location = artifact[kind];
    if (location === undefined) continue;
    const member = kind === "azure" ? "blob" : kind === "hdfs" ? "path" : "key";
    return { ...artifact, [kind]: { ...location, [member]: key } };
  }
  if (KEYLESS.some((kind) => artifact[kind] !== undefined)) {
    throw invalid(`failed to set key for artifact ${artifact.name}: key unsupported`);
  }
  return { ...artifact, s3: { key } };
}
