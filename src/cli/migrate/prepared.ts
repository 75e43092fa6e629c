/** Manifests as they are imported, and whether the server has them already. */
import { isDeepStrictEqual } from "node:util";
import { defined } from "../../base/defined.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { decode } from "../../spec/schema/decode.ts";
import { KIND_SCHEMAS } from "../../spec/schema/kinds.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { metadataOf } from "../manifests.ts";
import { INSTANCE_LABEL } from "./source.ts";

/** kubectl's copy of the object. */
const LAST_APPLIED = /^kubectl\.kubernetes\.io\/last-applied-configuration$/;
/** Labels that a server sets by itself: it assigns objects to no instance, and names its own callers. */
const OF_SERVER = new RegExp(
  `^(${INSTANCE_LABEL}|workflows\\.argoproj\\.io/((creator|actor)(-email|-preferred-username)?|action))$`,
);

/** Which objects start something by themselves once they are imported. */
export interface Activity {
  /** Cron workflows keep their own `spec.suspend`. Otherwise they are imported suspended. */
  isActive: boolean;
}

/** A manifest without what only its cluster may write. */
export function prepared(object: JsonObject, { isActive }: Activity): JsonObject {
  const { name, namespace, labels, annotations } = metadataOf(object);
  const { apiVersion, kind, data, spec, status } = object;
  const isCron = kind === "CronWorkflow" && isJsonObject(spec);
  return defined({
    apiVersion,
    kind,
    metadata: defined({
      name,
      namespace,
      labels: without(labels, OF_SERVER),
      annotations: without(annotations, LAST_APPLIED),
    }),
    data,
    spec: isCron && !isActive ? { ...spec, suspend: true } : spec,
    // Its counts decide when `stopStrategy` holds. What is running belongs to the installation.
    status: isCron && isJsonObject(status) ? { ...status, active: null } : undefined,
  }) as JsonObject;
}

/**
 * What takes the place of an object of the server that is the same, but for runs that its cron workflow has had in the
 * installation since.
 *
 * @returns undefined when there are none, or when the server runs it itself
 */
export function withLaterRuns(known: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const { spec } = known;
  const isOurs = !isJsonObject(spec) || spec["suspend"] !== true;
  return isOurs || lastRun(wanted) <= lastRun(known)
    ? undefined
    : { ...known, ...defined({ status: wanted["status"] }) };
}

/** What takes the place of another object of the server: a cron workflow goes on from its last run, wherever that was. */
export function replacement(known: JsonObject, wanted: JsonObject): JsonObject {
  return lastRun(wanted) > lastRun(known) || known["status"] === undefined
    ? wanted
    : { ...wanted, status: known["status"] };
}

/** When a cron workflow ran last, epoch milliseconds; 0 if it never did. */
function lastRun({ status }: JsonObject): number {
  const text = isJsonObject(status) ? status["lastScheduledTime"] : undefined;
  return Date.parse(String(text ?? "")) || 0;
}

/** Prefix of the labels and annotations of an installation. */
const OLD_PREFIX = STANDARD_NAMING.labelPrefix;

/**
 * An object whose labels and annotations have the prefix of the server, which reads no other: without it a workflow that has
 * ended would be listed as one that runs, and nobody would find the ConfigMap of a parameter.
 *
 * @param prefix the server's `--label-prefix`
 */
export function withPrefix(object: JsonObject, prefix: string): JsonObject {
  if (prefix === OLD_PREFIX) return object;
  const renamed = (given: JsonObject[string] | undefined) =>
    !isJsonObject(given) ? given : Object.fromEntries(
      Object.entries(given).map(([key, value]) => [
        key.startsWith(OLD_PREFIX) ? prefix + key.slice(OLD_PREFIX.length) : key,
        value,
      ]),
    );
  const { labels, annotations, ...metadata } = metadataOf(object);
  const named = defined({ labels: renamed(labels), annotations: renamed(annotations) });
  return { ...object, metadata: { ...metadata, ...named } };
}

function without(given: JsonObject[string] | undefined, keys: RegExp): JsonObject | undefined {
  if (!isJsonObject(given)) return undefined;
  const rest = Object.entries(given).filter(([key]) => !keys.test(key));
  return rest.length > 0 ? Object.fromEntries(rest) : undefined;
}

/**
 * Tells whether an object of the server is what would be imported: the same spec, and every label and annotation. The server
 * adds labels of its own. Unless cron workflows keep their `suspend`, it may differ: somebody has resumed them.
 */
export function isSame(known: JsonObject, wanted: JsonObject, activity: Activity): boolean {
  return isDeepStrictEqual(specOf(known, wanted, activity), specOf(wanted, wanted, activity)) &&
    ["labels", "annotations"].every((member) => {
      const has = metadataOf(known)[member] ?? {};
      const needs = metadataOf(wanted)[member] ?? {};
      return isJsonObject(has) && isJsonObject(needs) &&
        Object.entries(needs).every(([key, value]) => has[key] === value);
    });
}

function specOf(
  { spec = {} }: JsonObject,
  { kind, metadata }: JsonObject,
  { isActive }: Activity,
): unknown {
  const schema = KIND_SCHEMAS.get(String(kind));
  if (schema === undefined) return spec;
  const object = decode({ metadata: metadata ?? {}, spec }, schema) as JsonObject;
  const normal = normalForm(object, schema)["spec"];
  if (kind !== "CronWorkflow" || !isJsonObject(normal)) return normal;
  const { suspend, ...rest } = normal;
  return isActive ? { ...rest, suspend: suspend === true } : rest;
}
