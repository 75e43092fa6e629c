/** Prometheus' own parser, to check what `/metrics` answers. */
import { spawnSync } from "node:child_process";
import { installPackages } from "./debian_package.ts";

/** Why the parser is unavailable here; undefined if it is available. Installs it if possible. */
export function promtoolMissing(): string | undefined {
  if (isThere()) return undefined;
  installPackages(["prometheus"]);
  return isThere() ? undefined : "promtool is not installed (Debian: apt-get install prometheus)";
}

function isThere(): boolean {
  return spawnSync("promtool", ["--version"], { stdio: "ignore" }).error === undefined;
}

/** What the parser can't read on a metrics page; "" for a good one. Style warnings don't count. */
export function unparseable(page: string): string {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
    input: page,
    encoding: "utf8",
  });
  // 3: it was readable, but the linter has a style warning.
  return status === 0 || status === 3 ? "" : `${stdout}${stderr}`;
}
