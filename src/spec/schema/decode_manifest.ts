/** Decodes JSON into a manifest. */
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import { decode, type DecodeOptions } from "./decode.ts";
import type {
  ClusterWorkflowTemplate,
  ConfigMap,
  CronWorkflow,
  Secret,
  Subscription,
  Workflow,
  WorkflowEventBinding,
  WorkflowTemplate,
} from "../manifest.ts";
import { KIND_SCHEMAS } from "./kinds.ts";

/** Types by the value of `kind`. */
export interface ManifestTypes {
  Workflow: Workflow;
  WorkflowTemplate: WorkflowTemplate;
  ClusterWorkflowTemplate: ClusterWorkflowTemplate;
  CronWorkflow: CronWorkflow;
  WorkflowEventBinding: WorkflowEventBinding;
  Subscription: Subscription;
  ConfigMap: ConfigMap;
  Secret: Secret;
}

/** A kind of manifest. */
export type Kind = keyof ManifestTypes;

/** A manifest with its kind. */
export type AnyManifest = { [K in Kind]: { kind: K; manifest: ManifestTypes[K] } }[Kind];

/** Kinds, ordered so that a kind comes after those to which it may refer. */
export const KINDS: readonly Kind[] = [
  "ConfigMap",
  "Secret",
  "ClusterWorkflowTemplate",
  "WorkflowTemplate",
  "CronWorkflow",
  "WorkflowEventBinding",
  "Subscription",
  "Workflow",
];

/** Tells whether a text is the name of a kind. */
export function isKind(text: string): text is Kind {
  return (KINDS as readonly string[]).includes(text);
}

/**
 * Decodes a manifest whose kind is known, whatever its member `kind` says.
 *
 * @throws {DecodeError} when a value does not fit its place
 */
export function decodeManifest<K extends Kind>(
  kind: K,
  value: unknown,
  options: DecodeOptions = {},
): ManifestTypes[K] {
  const schema = KIND_SCHEMAS.get(kind);
  if (schema === undefined) throw new RangeError(`Kind ${kind} has no schema`);
  return decode(value, schema, options) as unknown as ManifestTypes[K];
}

/**
 * Decodes a manifest of the kind it states.
 *
 * @throws {Problem} InvalidArgument if it states no kind, or an unknown one
 * @throws {DecodeError} when a value does not fit its place
 */
export function decodeAny(value: unknown, options: DecodeOptions = {}): AnyManifest {
  const kind = kindOf(value);
  return { kind, manifest: decodeManifest(kind, value, options) } as AnyManifest;
}

function kindOf(value: unknown): Kind {
  if (!isJsonObject(value)) throw invalid("A manifest must be an object");
  const { kind } = value as JsonObject;
  if (typeof kind !== "string" || kind === "") {
    throw invalid(`A manifest must state its kind, one of ${KINDS.join(", ")}`);
  }
  if (!isKind(kind)) {
    throw invalid(`Unknown kind ${JSON.stringify(kind)}, expected one of ${KINDS.join(", ")}`);
  }
  return kind;
}
