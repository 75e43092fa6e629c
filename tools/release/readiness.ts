/** What must hold before anything is released. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { notesOf } from "./changelog.ts";
import { run } from "./run.ts";
import { namedVersions, versionFaults } from "./versions.ts";

export interface Ready {
  version: string;
  /** What users read about it: Markdown. */
  notes: string;
}

/** The version to release, or why there is none. @param root folder of the repository */
export function readiness(root: string): Ready | { faults: string[] } {
  const versions = namedVersions(root);
  const faults = [...dirt(root), ...versionFaults(versions)];
  const version = versions[0]?.version ?? "";
  const notes = notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
  if (notes === undefined) {
    faults.push(
      `CHANGELOG.md has no section "## ${version}": run deno task release --prepare ${version}, and commit`,
    );
  }
  return faults.length > 0 || notes === undefined ? { faults } : { version, notes };
}

/** What keeps a version from being published besides. */
export function publicationFaults(root: string, version: string): string[] {
  const faults: string[] = [];
  const tag = `v${version}`;
  if (!run("git", ["tag", "--points-at", "HEAD"], { cwd: root }).split("\n").includes(tag)) {
    faults.push(
      `HEAD does not have the tag ${tag}: check out ${tag}, or make it on a released commit`,
    );
  }
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (repository === undefined) {
    faults.push("package.json has no repository: npm's provenance names it; add its address");
  }
  return faults;
}

function dirt(root: string): string[] {
  const changed = run("git", ["status", "--porcelain"], { cwd: root }).trimEnd();
  if (changed === "") return [];
  const [first = "", ...more] = changed.split("\n");
  const others = more.length > 0 ? ` and ${more.length} more` : "";
  return [
    `the working tree is not clean (${first.slice(3)}${others}): commit or remove what changed`,
  ];
}
