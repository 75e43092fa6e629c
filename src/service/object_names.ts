/** Names and metadata of stored objects, by the rules of Kubernetes, and names that are generated. */
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import {
  labelKeyProblems,
  labelValueProblems,
  subdomainProblem,
} from "../expr/selectors/label_selector.ts";
import { MAX_LABELS, type ObjectMeta, type OwnerReference } from "../spec/manifest.ts";
import type { Naming } from "../spec/naming.ts";

/** Letters of generated names. There are no vowels, so that no words come out. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
/** Characters of `generateName` that a generated name keeps. */
const MAX_BASE = 58;
/** How many generated names are tried while they are taken. */
export const NAME_ATTEMPTS = 8;

/** Most faults that one refusal names. */
const MAX_FAULTS = 100;
/** What all annotations of an object may take, with their keys. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** A kind of stored object, as error texts name it. */
export interface ResourceKind {
  /** `Workflow` */
  kind: string;
  /** Plural: `workflows` */
  resource: string;
  /** "" for core kinds. @default the workflow group of the deployment */
  group?: "";
}

/** The part of `ServiceDeps` that names the workflow group. */
export interface Deployment {
  settings: { naming: Naming };
}

/** The kind or resource with its group: `workflows.argoproj.io`, `configmaps`. */
export function qualified(
  { settings }: Deployment,
  kind: ResourceKind,
  word: "kind" | "resource" = "resource",
): string {
  const group = kind.group ?? settings.naming.apiGroup;
  return group === "" ? kind[word] : `${kind[word]}.${group}`;
}

/** The refusal for an object that is not there. */
export function objectNotFound(at: Deployment, kind: ResourceKind, name: string): Problem {
  return new Problem(ProblemCode.NotFound, `${qualified(at, kind)} "${name}" not found`);
}

/** The refusal for a name that is taken. */
export function objectExists(
  at: Deployment,
  kind: ResourceKind,
  name: string,
  generated = false,
): Problem {
  const advice = generated
    ? ", the server was not able to generate a unique name for the object"
    : "";
  return new Problem(
    ProblemCode.AlreadyExists,
    `${qualified(at, kind)} "${name}" already exists${advice}`,
  );
}

/** The refusal for an update that is based on an old version. */
export function objectModified(at: Deployment, kind: ResourceKind, name: string): Problem {
  return new Problem(
    ProblemCode.AlreadyExists,
    `Operation cannot be fulfilled on ${
      qualified(at, kind)
    } "${name}": the object has been modified; ` +
      "please apply your changes to the latest version and try again",
  );
}

/** The refusal of a change of an object that has the name of the one that is meant, but another uid. */
export function otherObject(
  at: Deployment,
  kind: ResourceKind,
  name: string,
  meant: string,
  uid: string | undefined,
): Problem {
  return new Problem(
    ProblemCode.AlreadyExists,
    `Operation cannot be fulfilled on ${qualified(at, kind)} "${name}": Precondition failed: ` +
      `UID in precondition: ${meant}, UID in object meta: ${uid ?? ""}`,
  );
}

/** A name from `generateName`: its first 58 characters and five random ones. */
export function generateName(base: string, fraction: () => number): string {
  let suffix = "";
  for (let i = 0; i < 5; i++) {
    suffix += ALPHABET.charAt(Math.floor(fraction() * ALPHABET.length));
  }
  return base.slice(0, MAX_BASE) + suffix;
}

/**
 * Checks name, namespace, labels, annotations, owners and finalizers of an object that is about to be stored.
 * @param isNew what its name was generated from is checked too, as in Kubernetes
 * @throws {Problem} InvalidArgument listing everything that is wrong
 */
export function checkMetadata(
  at: Deployment,
  kind: ResourceKind,
  metadata: ObjectMeta,
  isNew = false,
): void {
  const name = metadata.name ?? "";
  const faults: string[] = [];
  const fault = (field: string, value: string, problem: string) => {
    // A caller who has that many wrong keys reads no more of them.
    if (faults.length < MAX_FAULTS) {
      faults.push(`${field}: Invalid value: ${JSON.stringify(value)}: ${problem}`);
    }
  };
  if (isNew && metadata.generateName) {
    const problem = nameProblem(withoutDash(metadata.generateName));
    if (problem !== undefined) fault("metadata.generateName", metadata.generateName, problem);
  }
  const problem = nameProblem(name);
  if (name === "") faults.push("metadata.name: Required value: name or generateName is required");
  else if (problem !== undefined) fault("metadata.name", name, problem);
  const namespace = metadata.namespace ?? "";
  if (namespace !== "" && !isNamespace(namespace)) {
    fault(
      "metadata.namespace",
      namespace,
      namespace.length > 63 ? "must be no more than 63 bytes" : LABEL_RULE,
    );
  }
  checkLabels(metadata.labels ?? {}, fault);
  if (areTooLong(metadata.annotations)) {
    faults.push(
      `metadata.annotations: Too long: may not be more than ${MAX_ANNOTATION_BYTES} bytes`,
    );
  } else checkAnnotationKeys(metadata.annotations ?? {}, fault);
  checkOwners(metadata.ownerReferences ?? [], fault);
  for (const finalizer of metadata.finalizers ?? []) {
    for (const problem of labelKeyProblems(finalizer)) {
      fault("metadata.finalizers", finalizer, problem);
    }
  }
  if (faults.length === 0) return;
  const list = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  throw invalid(`${qualified(at, kind, "kind")} ${JSON.stringify(name)} is invalid: ${list}`);
}

/** Tells of a value that a field may not have. */
type Tell = (field: string, value: string, problem: string) => void;

/** @throws {Problem} InvalidArgument there are too many */
function checkLabels(labels: Readonly<Record<string, string>>, fault: Tell): void {
  let count = 0;
  for (const _ in labels) count++;
  if (count > MAX_LABELS) {
    throw invalid(`metadata.labels: Too many: ${count}: must have at most ${MAX_LABELS} items`);
  }
  for (const key in labels) {
    const value = labels[key] ?? "";
    for (const problem of labelKeyProblems(key)) fault("metadata.labels", key, problem);
    for (const problem of labelValueProblems(value)) fault("metadata.labels", value, problem);
  }
}

function checkAnnotationKeys(annotations: Readonly<Record<string, string>>, fault: Tell): void {
  for (const key in annotations) {
    for (const problem of labelKeyProblems(key.toLowerCase())) {
      fault("metadata.annotations", key, problem);
    }
  }
}

/** Lists and watches carry annotations whole, so Kubernetes bounds them together. */
function areTooLong(annotations: Readonly<Record<string, string>> = {}): boolean {
  let bytes = 0;
  for (const key in annotations) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? "");
    // There may be many more, whose keys would then be looked at for nothing.
    if (bytes > MAX_ANNOTATION_BYTES) return true;
  }
  return false;
}

function nameProblem(name: string): string | undefined {
  if (name.length > 253) return "must be no more than 253 characters";
  return subdomainProblem(name);
}

/** The beginning of a name, as it is checked: what is generated comes after its hyphen. */
function withoutDash(base: string): string {
  return base.length > 1 && base.endsWith("-") ? `${base.slice(0, -2)}a` : base;
}

function checkOwners(
  owners: readonly OwnerReference[],
  tell: Tell,
): void {
  const fault = (member: string, value: string, problem: string) =>
    tell(`metadata.ownerReferences${member}`, value, problem);
  let controller: string | undefined;
  for (const owner of owners) {
    const { apiVersion = "", kind = "", name = "" } = owner;
    if (apiVersion === "" || apiVersion.endsWith("/")) {
      fault(".apiVersion", apiVersion, "version must not be empty");
    }
    for (const member of ["kind", "name", "uid"] as const) {
      if (!owner[member]) fault(`.${member}`, "", "must not be empty");
    }
    if (owner.controller !== true) continue;
    if (controller !== undefined) {
      fault(
        "",
        name,
        "Only one reference can have Controller set to true. " +
          `Found "true" in references for ${controller} and ${kind}/${name}`,
      );
    }
    controller ??= `${kind}/${name}`;
  }
}

/** Whether a text can be the name of a namespace. */
export function isNamespace(name: string): boolean {
  return name.length <= 63 && LABEL.test(name);
}

/**
 * The namespace of the request, which an object's own namespace must equal.
 * @throws {Problem} InvalidArgument when they differ, or the request names none
 */
export function namespaceOf(metadata: ObjectMeta, requested: string): string {
  const own = metadata.namespace ?? "";
  if (own !== "" && own !== requested) {
    throw invalid(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (requested === "") {
    throw invalid("an empty namespace may not be set during creation");
  }
  return requested;
}
