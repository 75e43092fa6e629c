/** Where the repository names its version. All places name the same one; a release refuses anything else. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Each place: its file, what it is called in messages, and the text around the version. */
const PLACES = [
  { file: "package.json", what: "version", around: /^( {2}"version": ")([^"]+)(",)$/m },
  { file: "deno.json", what: "version", around: /^( {2}"version": ")([^"]+)(",)$/m },
  { file: "helm/sluice/Chart.yaml", what: "version", around: /^(version: )(\S+)()$/m },
  { file: "helm/sluice/Chart.yaml", what: "appVersion", around: /^(appVersion: )(\S+)()$/m },
  {
    file: "src/base/version.ts",
    what: "VERSION",
    around: /^(export const VERSION = ")([^"]+)(";)$/m,
  },
] as const;

/** A version as semver has it, without build metadata. */
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][\w-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\w-]*))*)?$/;

export interface NamedVersion {
  /** File and member. */
  place: string;
  /** Undefined where the place has none. */
  version: string | undefined;
}

export function isVersion(text: string): boolean {
  return SEMVER.test(text);
}

/** What each place names. @param root folder of the repository */
export function namedVersions(root: string): NamedVersion[] {
  return PLACES.map(({ file, what, around }) => ({
    place: `${file} (${what})`,
    version: around.exec(readFileSync(join(root, file), "utf8"))?.[2],
  }));
}

/** What is wrong with the versions, one line each; the first place is what the others are held against. */
export function versionFaults([first, ...others]: readonly NamedVersion[]): string[] {
  const version = first?.version;
  if (first === undefined || version === undefined || !isVersion(version)) {
    return [`${first?.place} is ${version}: write a version such as 1.2.3 or 1.2.3-rc.1`];
  }
  return others.filter((one) => one.version !== version).map((one) =>
    `${one.place} is ${one.version}, but ${first.place} is ${version}: ` +
    `write ${version}, or run deno task release --prepare VERSION`
  );
}

/** Writes the version into every place. */
export function writeVersions(root: string, version: string): void {
  for (const { file, around } of PLACES) {
    const path = join(root, file);
    const text = readFileSync(path, "utf8");
    if (!around.test(text)) throw new Error(`${file} has no version to replace`);
    writeFileSync(path, text.replace(around, `$1${version}$3`));
  }
}
