/** Programs that tests and releases need and that are not npm packages: from PATH, else built once with `go install`. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const MODULES = {
  actionlint: "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
  crane: "github.com/google/go-containerregistry/cmd/crane@v0.20.6",
  helm: "helm.sh/helm/v3/cmd/helm@v3.19.0",
  k6: "go.k6.io/k6@v1.3.0",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0",
} as const;

/** The program's path, or why it is missing. */
export function findProgram(
  name: keyof typeof MODULES,
): { path: string; missing?: undefined } | { path?: undefined; missing: string } {
  const bin = join(tmpdir(), "sluice-programs");
  const built = join(bin, name);
  for (const path of [name, built]) if (runs(path)) return { path };
  if (spawnSync("go", ["version"]).error !== undefined) {
    return { missing: `no ${name} on PATH, and no Go to build it` };
  }
  const install = spawnSync("go", ["install", MODULES[name]], {
    env: { ...process.env, GOBIN: bin },
    encoding: "utf8",
  });
  if (install.status === 0 && existsSync(built)) return { path: built };
  const reason = install.stderr.trim().split("\n").at(-1);
  return { missing: `no ${name} on PATH, and "go install ${MODULES[name]}" failed: ${reason}` };
}

function runs(path: string): boolean {
  return ["version", "-v"].some((flag) => spawnSync(path, [flag]).status === 0);
}

/** The program's path. @throws {Error} if it is missing */
export function needProgram(name: keyof typeof MODULES): string {
  const found = findProgram(name);
  if (found.missing !== undefined) throw new Error(found.missing);
  return found.path;
}
