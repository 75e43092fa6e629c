/** Pure: the flags of `kubectl` that a resource template may give, as what they mean in calls of the API. */
import type { JsonObject } from "../../base/json.ts";

/** What flags ask for. */
export interface ResourceFlags {
  /** Of the call that changes the object. */
  query: Record<string, string>;
  /** `DeleteOptions` of a deletion. */
  deletion: JsonObject;
  /** Absent: as it is usual for the action. */
  ignoreNotFound?: boolean;
  /** A deletion ends when the object is gone. */
  isAwaited: boolean;
  /** Of a patch, in place of `mergeStrategy`. */
  patchType?: string;
  /** The object that is meant where no manifest names it: `KIND NAME` or `KIND/NAME`. */
  target?: { kind: string; name: string };
  /** Of the target; absent: the workflow's. */
  namespace?: string;
  /** Deletes the objects of the target's kind with these labels. */
  selector?: string;
}

const VALIDATION: Readonly<Record<string, string>> = {
  true: "Strict",
  strict: "Strict",
  warn: "Warn",
  false: "Ignore",
  ignore: "Ignore",
};

const PROPAGATION: Readonly<Record<string, string>> = {
  true: "Background",
  background: "Background",
  foreground: "Foreground",
  false: "Orphan",
  orphan: "Orphan",
};

/** Flags that change nothing here: an apply is the server's and takes over fields. */
const SILENT = new Set(["server-side", "force-conflicts", "overwrite", "save-config"]);

/** Flags whose value may be the next entry. */
const WITH_VALUE = new Set(["field-manager", "grace-period", "type", "namespace", "selector"]);

const SHORT: Readonly<Record<string, string>> = { "-n": "--namespace", "-l": "--selector" };

/**
 * Reads flags, as `--name=value`, `--name value` in two entries, or `--name` alone, and the object that they are about.
 *
 * @throws {Error} for one that is not known here, or whose value is not
 */
export function readResourceFlags(flags: readonly string[]): ResourceFlags {
  const read: ResourceFlags = { query: {}, deletion: {}, isAwaited: true };
  const words: string[] = [];
  for (let at = 0; at < flags.length; at++) {
    const flag = flags[at] ?? "";
    if (!flag.startsWith("-")) {
      words.push(flag);
      continue;
    }
    const [, name = "", given] = /^--([a-z-]+)(?:=(.*))?$/s.exec(SHORT[flag] ?? flag) ?? [];
    const value = given ?? (WITH_VALUE.has(name) ? flags[++at] ?? "" : "true");
    apply(read, name, value, flag);
  }
  if (words.length > 0) read.target = targetOf(words);
  return read;
}

function targetOf(words: readonly string[]): { kind: string; name: string } {
  const [kind = "", name = "", ...more] = words.flatMap((word) => word.split("/"));
  if (more.length > 0) {
    throw new Error(`flags of a resource template name one object, not ${words.join(" ")}`);
  }
  return { kind, name };
}

function apply(read: ResourceFlags, name: string, value: string, flag: string): void {
  switch (name) {
    case "validate":
      read.query["fieldValidation"] = known(VALIDATION, value, flag);
      return;
    case "dry-run":
      if (value === "none") return;
      read.query["dryRun"] = "All";
      read.isAwaited = false;
      return;
    case "wait":
      read.isAwaited = value === "true";
      return;
    case "field-manager":
      read.query["fieldManager"] = value;
      return;
    case "cascade":
      read.deletion["propagationPolicy"] = known(PROPAGATION, value, flag);
      return;
    case "grace-period":
      read.deletion["gracePeriodSeconds"] = seconds(value, flag);
      return;
    case "now":
      read.deletion["gracePeriodSeconds"] = 1;
      return;
    case "force":
      if (value === "true") read.deletion["gracePeriodSeconds"] ??= 0;
      return;
    case "ignore-not-found":
      read.ignoreNotFound = value === "true";
      return;
    case "type":
    case "namespace":
    case "selector":
      read[name === "type" ? "patchType" : name] = value;
      return;
    default:
      if (SILENT.has(name)) return;
      throw new Error(
        `flag ${
          JSON.stringify(flag)
        } of a resource template is not supported: known are --validate, --dry-run, --field-manager, --cascade, ` +
          "--grace-period, --now, --force, --ignore-not-found, --wait, --type, --namespace, --selector, --server-side",
      );
  }
}

function known(values: Readonly<Record<string, string>>, value: string, flag: string): string {
  const found = values[value.toLowerCase()];
  if (found === undefined) {
    throw new Error(`flag ${flag} takes ${Object.keys(values).join(", ")}, not ${value}`);
  }
  return found;
}

function seconds(value: string, flag: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`flag ${flag} takes a number of seconds`);
  return Number(value);
}
