/** CHANGELOG.md: `## Unreleased` first, then a section `## VERSION (DATE)` for each release, newest first. */

const UNRELEASED = "## Unreleased";

/** What users read about a version; undefined if it has no section, or an empty one. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find((section) => {
    const [, name] = /^## (\S+)/.exec(section) ?? [];
    return name === version;
  });
  return found?.replace(/^.*\n/, "").trim() || undefined;
}

/**
 * The changelog after the release of a version: what was unreleased is its section.
 * @param date as 2026-01-31
 * @throws {Error} if nothing is unreleased, or the version has a section already
 */
export function withRelease(changelog: string, version: string, date: string): string {
  if (notesOf(changelog, version) !== undefined) {
    throw new Error(`CHANGELOG.md already has a section ${version}: choose the next version`);
  }
  if (notesOf(changelog, "Unreleased") === undefined) {
    throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}": write what users will notice`);
  }
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## ${version} (${date})`);
}
