/** Pure: the flags of `kubectl` that a resource template may give, as what they mean in calls of the API. */
import type { JsonObject } from "../base/json.ts";

/** What flags ask for. */
export interface ResourceFlags {
  /** Of the call that changes the object. */
  query: Record<string, string>;
  /** `DeleteOptions` of a deletion. */
  deletion: JsonObject;
  ignoreNotFound: boolean;
  /** Of a patch, in place of `mergeStrategy`. */
  patchType?: string;
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

/** Flags that change nothing here: an apply is the server's and takes over fields, nobody waits for a deletion. */
const SILENT = new Set(["server-side", "force-conflicts", "overwrite", "wait", "save-config"]);

/**
 * Reads flags, as `--name=value`, `--name value` in two entries, or `--name` alone.
 *
 * @throws {Error} for one that is not known here, or whose value is not
 */
export function readResourceFlags(flags: readonly string[]): ResourceFlags {
  const read: ResourceFlags = { query: {}, deletion: {}, ignoreNotFound: false };
  for (let at = 0; at < flags.length; at++) {
    const flag = flags[at] ?? "";
    const [, name = "", given] = /^--([a-z-]+)(?:=(.*))?$/s.exec(flag) ?? [];
    const next = flags[at + 1];
    const takesNext = given === undefined && next !== undefined && !next.startsWith("-");
    if (takesNext) at++;
    apply(read, name, given ?? (takesNext ? next : "true"), flag);
  }
  return read;
}

function apply(read: ResourceFlags, name: string, value: string, flag: string): void {
  switch (name) {
    case "validate":
      read.query["fieldValidation"] = known(VALIDATION, value, flag);
      return;
    case "dry-run":
      if (value !== "none") read.query["dryRun"] = "All";
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
      read.patchType = value;
      return;
    default:
      if (SILENT.has(name)) return;
      throw new Error(
        `flag ${
          JSON.stringify(flag)
        } of a resource template is not supported: known are --validate, --dry-run, --field-manager, --cascade, ` +
          "--grace-period, --now, --force, --ignore-not-found, --type, --server-side",
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
