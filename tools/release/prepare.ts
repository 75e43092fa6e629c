/** Makes the commit of a new version ready: versions, changelog, and the store that it writes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withRelease } from "./changelog.ts";
import { addReleasedStore } from "./released_store.ts";
import { isVersion, writeVersions } from "./versions.ts";

/**
 * @param root folder of the repository
 * @throws {Error} if the version is none, or the changelog doesn't take it; then nothing is changed
 */
export async function prepare(root: string, version: string, now: Date): Promise<void> {
  if (!isVersion(version)) {
    throw new Error(`"${version}" is no version: write one such as 1.2.3 or 1.2.3-rc.1`);
  }
  const changelog = join(root, "CHANGELOG.md");
  const text = withRelease(
    readFileSync(changelog, "utf8"),
    version,
    now.toISOString().slice(0, 10),
  );
  writeFileSync(changelog, text);
  writeVersions(root, version);
  addToSite(root, version);
  await addReleasedStore(version);
}

/** The site links to the sites of all released versions, newest first. */
function addToSite(root: string, version: string): void {
  const file = join(root, "docs/.vitepress/versions.json");
  const released: string[] = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, `${JSON.stringify([version, ...released], null, 2)}\n`);
}
