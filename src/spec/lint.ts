/**
 * Lint: the same checks as for creation, but stricter about the names of members, and tolerant of values that come
 * later.
 */
import { Problem } from "../base/problem.ts";
import { DecodeError, type UnknownField } from "./schema/decode.ts";
import { type AnyManifest, decodeAny, type Kind } from "./schema/decode_manifest.ts";
import { lintWarnings } from "./lint_warnings.ts";
import type { WorkflowTemplate } from "./manifest.ts";
import type { ValidationContext } from "./validation/validate.ts";
import { validateAny } from "./validation/any.ts";
import type { TemplateFinder, TemplateKind } from "./validation/owner.ts";

/** What lint says about one manifest. */
export interface LintResult {
  /** Undefined when the manifest could not be read. */
  kind: Kind | undefined;
  /** The name, `generateName`, or `object #1`. */
  name: string;
  /** Empty if the manifest is valid. */
  errors: string[];
  /** Unknown members inside steps, which are otherwise dropped silently, and what has no effect. */
  warnings: string[];
  /** The manifest as it was understood; absent if it could not be read. */
  manifest?: AnyManifest;
}

/**
 * Checks manifests that may refer to each other.
 *
 * @param values JSON values, one for each manifest
 * @param stored templates that exist already; without it, only those among `values` exist
 * @param isStrict whether unknown members are errors, and names in another case are unknown
 */
export function lintManifests(
  values: readonly unknown[],
  stored?: ValidationContext,
  isStrict = true,
): LintResult[] {
  const results = values.map((value, index) => read(value, index, isStrict));
  if (stored === undefined) refuseDuplicates(results);
  const among = templateFinder(results.flatMap(({ manifest }) => manifest ?? []));
  const context: ValidationContext = {
    defaultMetadata: stored?.defaultMetadata,
    findTemplate: (kind, namespace, name) =>
      among.findTemplate(kind, namespace, name) ?? stored?.findTemplate(kind, namespace, name),
  };
  for (const result of results) {
    if (result.manifest === undefined || result.errors.length > 0) continue;
    try {
      validateAny(result.manifest, context, { lint: true, offline: stored === undefined });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      result.errors.push(error.message);
    }
  }
  return results;
}

/** Of two templates with one name, nobody can tell which one a reference means. */
function refuseDuplicates(results: readonly LintResult[]): void {
  const taken = new Set<string>();
  for (const { manifest, errors } of results) {
    if (manifest?.kind !== "WorkflowTemplate" && manifest?.kind !== "ClusterWorkflowTemplate") {
      continue;
    }
    const { name = "", namespace = "" } = manifest.manifest.metadata;
    const key = `${manifest.kind}/${namespace}/${name}`;
    if (name !== "" && taken.has(key)) {
      errors.push(`duplicate ${manifest.kind} found: ${JSON.stringify(name)}`);
    }
    taken.add(key);
  }
}

/** One line for each error: `in "name" (Kind): text`; for a manifest that could not be read, only the text. */
export function lintLines({ kind, name, errors }: LintResult): string[] {
  return errors.map((text) => kind === undefined ? text : `in "${name}" (${kind}): ${text}`);
}

function read(value: unknown, index: number, isStrict: boolean): LintResult {
  const unknown: string[] = [];
  const warnings: string[] = [];
  try {
    const onUnknown = ({ path, insideStep }: UnknownField) =>
      void (insideStep ? warnings : unknown).push(`unknown field "${path}"`);
    const manifest = decodeAny(value, isStrict ? { onUnknown } : {});
    const { name, generateName } = manifest.manifest.metadata;
    return {
      kind: manifest.kind,
      name: name || generateName || `object #${index + 1}`,
      errors: unknown.length === 0 ? [] : [`strict decoding error: ${unknown.join(", ")}`],
      warnings: [...warnings, ...lintWarnings(manifest)],
      manifest,
    };
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof Problem)) throw error;
    return {
      kind: undefined,
      name: `object #${index + 1}`,
      errors: [error.message],
      warnings,
    };
  }
}

/** Finds templates among manifests; a template without a namespace is found from every namespace. */
export function templateFinder(manifests: readonly AnyManifest[]): TemplateFinder {
  const found = new Map<string, WorkflowTemplate>();
  const key = (kind: TemplateKind, namespace: string, name: string) =>
    `${kind}/${kind === "WorkflowTemplate" ? namespace : ""}/${name}`;
  for (const { kind, manifest } of manifests) {
    if (kind !== "WorkflowTemplate" && kind !== "ClusterWorkflowTemplate") continue;
    const { namespace = "", name = "" } = manifest.metadata;
    found.set(key(kind, namespace, name), manifest);
  }
  return {
    findTemplate: (kind, namespace, name) =>
      found.get(key(kind, namespace, name)) ?? found.get(key(kind, "", name)),
  };
}
