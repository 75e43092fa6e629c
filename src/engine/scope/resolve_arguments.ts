/** Resolves the references in the arguments that a step passes to its template. */
import type { Json } from "../../base/json.ts";
import { cleanPath } from "../../expr/values/go_path.ts";
import { KEY_MEMBERS } from "../../spec/artifact_location.ts";
import type { Artifact, Parameter, StepLike } from "../../spec/manifest.ts";
import type { Turn } from "../turn.ts";
import type { GivenArguments, GivenParameter } from "./arguments.ts";
import {
  expressionJson,
  itemsOnly,
  type MissingRule,
  replaceTags,
  replaceTagsIn,
  type Scope,
  soleTag,
} from "./expressions.ts";
import { NodeFailure } from "../failure.ts";
import { isPlainMap } from "./raw_json.ts";
import { hasLocation } from "./inputs.ts";
import type { References } from "./references.ts";

/** A tag with an unknown step or task is an error. Other unknown tags stay, to be replaced later. */
export const STEPS_MUST_EXIST: MissingRule = { errorUnder: ["steps", "tasks"] };

/**
 * Arguments with their references resolved. A parameter that only refers to an absent output is marked, so that the default
 * of the input can take its place. An optional artifact that lies nowhere is not passed.
 */
export function resolveArguments(
  turn: Turn,
  holder: Pick<StepLike, "arguments">,
  references: References,
  missing: MissingRule = STEPS_MUST_EXIST,
): GivenArguments {
  const { parameters, artifacts } = holder.arguments ?? {};
  const resolved: GivenArguments = {};
  if (parameters !== undefined) {
    resolved.parameters = parameters.map((parameter) =>
      resolveParameter(turn, parameter, references.scope, missing)
    );
  }
  if (artifacts !== undefined) {
    resolved.artifacts = artifacts.map((artifact) =>
      resolveArtifact(turn, artifact, references, missing)
    ).filter((artifact, at) => artifacts[at]?.optional !== true || hasLocation(artifact));
  }
  return resolved;
}

function resolveParameter(
  turn: Turn,
  parameter: Parameter,
  scope: Scope,
  missing: MissingRule,
): GivenParameter {
  const tag = soleTag(parameter.value);
  if (tag !== undefined && scope.find(tag) === null) {
    const { value: _value, ...rest } = parameter;
    return { ...rest, isAbsent: true };
  }
  if (parameter.valueFrom?.expression !== undefined && parameter.value === undefined) {
    const { valueFrom, ...rest } = parameter;
    const value = replaceTagsIn(`{{=${valueFrom.expression}}}`, scope, "error", turn.env);
    return { ...rest, value };
  }
  return replaceTags(parameter, scope, missing, turn.env);
}

/** Follows `from` and `fromExpression`. An artifact whose reference leads nowhere stays without a location. */
export function resolveArtifact(
  turn: Turn,
  artifact: Artifact,
  references: References,
  missing: MissingRule = STEPS_MUST_EXIST,
): Artifact {
  const { from, fromExpression, ...rest } = artifact;
  const own = replaceTags(rest, references.scope, missing, turn.env) as Artifact;
  let found: Artifact | undefined;
  if (from !== undefined && from !== "") {
    const text = replaceTagsIn(from, itemsOnly(references.scope), "keep", turn.env);
    found = references.findArtifact(soleTag(text) ?? text);
  } else if (fromExpression !== undefined && fromExpression !== "") {
    const value = expressionJson(fromExpression, artifactScope(references), turn.env);
    found = isPlainMap(value) ? value as unknown as Artifact : undefined;
  } else {
    return own;
  }
  if (found === undefined) return own;
  const { name: _name, path: _path, globalName: _global, ...location } = found;
  const joined = { ...location, ...own };
  if ((own.subPath ?? "") === "" || !hasLocation(joined)) return joined;
  const part = withSubPath(joined, own.subPath ?? "");
  if (part !== undefined) return part;
  if (own.optional === true) return own;
  throw new NodeFailure(`failed to set key for artifact ${own.name}: key unsupported`);
}

/** The variables, and artifacts as objects by their references. */
export function artifactScope(references: References): Scope {
  return {
    find(name) {
      const value = references.scope.find(name);
      // Null is a value: that of an output which a skipped step has not left.
      if (value !== undefined) return value;
      return references.findArtifact(name) as unknown as Json | undefined;
    },
    *names(root) {
      yield* references.scope.names(root);
      yield* references.artifactNames?.(root) ?? [];
    },
  };
}

/** Where each kind of location has its key; that of a URL is its path. */
const KEYS = { ...KEY_MEMBERS, plugin: "key", http: "url", artifactory: "url" } as const;

/** Appends a path to the key of an artifact. Undefined if it lies where nothing has a key. */
function withSubPath(artifact: Artifact, subPath: string): Artifact | undefined {
  const { subPath: _sub, ...rest } = artifact;
  for (const [member, field] of Object.entries(KEYS) as [keyof typeof KEYS, string][]) {
    const location = rest[member] as Record<string, unknown> | undefined;
    const key = location?.[field];
    if (typeof key !== "string") continue;
    const longer = field === "url" ? withPath(key, subPath) : cleanPath(`${key}/${subPath}`);
    return { ...rest, [member]: { ...location, [field]: longer } };
  }
  return undefined;
}

function withPath(url: string, subPath: string): string {
  const [, site = "", path = "", rest = ""] = /^(\w+:\/\/[^/?#]*)?([^?#]*)(.*)$/s.exec(url) ?? [];
  const added = encodeURI(subPath).replace(/[?#]/g, encodeURIComponent);
  return `${site}${cleanPath(`/${path}/${added}`)}${rest}`;
}
