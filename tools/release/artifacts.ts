/** What a release consists of: each artifact is built from the working tree and checked. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { stripVTControlCharacters } from "node:util";
import { errorText } from "../../src/base/error_text.ts";
import { findProgram } from "../../test/cluster/programs.ts";
import { createKubeCheck, KUBE_VERSIONS } from "../../test/support/kube_check.ts";
import { nodeFolder, pack, registryMissing } from "../../test/support/packed.ts";
import type { Ready } from "./readiness.ts";
import { run } from "./run.ts";

export interface Workshop extends Ready {
  /** Folder of the repository. */
  root: string;
  /** Folder for what is made. */
  out: string;
  /** Folder for what is thrown away. */
  work: string;
}

/** What became of an artifact: its file in `out`, what was checked, and why it, or a part of it, cannot be made here. */
export interface Outcome {
  file?: string;
  checks?: string;
  leftOut?: string;
}

/** Makes an artifact. @throws {Error} if it cannot be built, or a check finds something */
export type Artifact = (shop: Workshop) => Outcome;

/** Names of the files in `out`. */
export const fileNames = (version: string) => ({
  npm: `sluice-${version}.tgz`,
  npmSbom: `sluice-${version}.sbom.json`,
  chart: `sluice-chart-${version}.tgz`,
  image: `sluice-${version}-image.tar`,
  imageSbom: `sluice-${version}-image.sbom.json`,
  docs: `sluice-${version}-docs.tar.gz`,
  notes: "NOTES.md",
  sums: "SHA256SUMS",
});

export const ARCHITECTURES = ["amd64", "arm64"] as const;

/** In the order in which they are made: the SBOM reads the package, the sums read everything. */
export const ARTIFACTS: Readonly<Record<string, Artifact>> = {
  "npm package": npmPackage,
  "npm SBOM": npmSbom,
  "JSR package": jsrPackage,
  "chart": chart,
  "image": image,
  "docs site": docsSite,
  "release notes": notes,
  "checksums": sums,
};

function npmPackage({ root, out, work, version }: Workshop): Outcome {
  const file = fileNames(version).npm;
  copyFileSync(pack(join(work, "npm")).file, join(out, file));
  checkNpmPackage(root, join(out, file));
  return { file, checks: "publint, attw" };
}

/** @throws {Error} with what publint or attw find in a tarball */
export function checkNpmPackage(root: string, file: string): void {
  const bin = (name: string) => join(root, "node_modules/.bin", name);
  const env = { PATH: `${nodeFolder()}:${process.env["PATH"]}` };
  run(bin("publint"), ["--strict", file], { env });
  // Only ES modules: `require` of them works on every Node that Sluice runs on.
  run(bin("attw"), ["--profile", "esm-only", file], { env });
}

/** npm writes it, from the dependencies that the package names and what the registry says they need. */
export function npmSbom(
  { out, work, version }: Pick<Workshop, "out" | "work" | "version">,
): Outcome {
  const missing = registryMissing();
  if (missing !== undefined) return { leftOut: missing };
  const names = fileNames(version);
  // npm takes the name of the component from its folder.
  const cwd = join(work, "sbom/sluice");
  mkdirSync(cwd, { recursive: true });
  run("tar", ["-xzf", join(out, names.npm), "-C", cwd, "--strip-components=1"]);
  withoutDevDependencies(join(cwd, "package.json"));
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  run("npm", ["install", "--package-lock-only", "--ignore-scripts", ...quiet], {
    cwd,
  });
  const text = run(
    "npm",
    ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--loglevel=error"],
    { cwd },
  );
  const { specVersion, components } = JSON.parse(text);
  writeFileSync(join(out, names.npmSbom), text);
  return {
    file: names.npmSbom,
    checks: `CycloneDX ${specVersion}, ${components.length} components`,
  };
}

/** `npm sbom --omit=dev` also leaves out what both the package and its development need. */
function withoutDevDependencies(file: string): void {
  const { devDependencies: _, ...pack } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify(pack));
}

function jsrPackage({ root }: Workshop): Outcome {
  run(process.execPath, ["publish", "--dry-run", "--quiet"], { cwd: root });
  return { checks: "deno publish --dry-run" };
}

function chart({ root, out, work, version }: Workshop): Outcome {
  const [helm, kubeconform] = [findProgram("helm"), findProgram("kubeconform")];
  const missing = helm.missing ?? kubeconform.missing;
  if (helm.missing !== undefined || kubeconform.missing !== undefined) {
    return { leftOut: `${missing}` };
  }
  run(helm.path, ["lint", "--strict", join(root, "helm/sluice")]);
  run(helm.path, ["package", join(root, "helm/sluice"), "--destination", work]);
  const file = fileNames(version).chart;
  copyFileSync(join(work, `sluice-${version}.tgz`), join(out, file));
  const schemas = join(work, "schemas");
  const check = createKubeCheck(kubeconform.path, schemas);
  for (const kube of KUBE_VERSIONS) {
    const text = run(helm.path, ["template", "sluice", join(out, file), "--kube-version", kube]);
    const { status, faults, stderr } = check(kube, ["-"], text);
    if (status !== 0) {
      throw new Error(`Kubernetes ${kube}: ${stderr}${faults.map(({ msg }) => msg).join("; ")}`);
    }
  }
  const range = [KUBE_VERSIONS[0], KUBE_VERSIONS.at(-1)].join(" to ");
  return { file, checks: `helm lint, kubeconform ${range}` };
}

function image({ root, out, version }: Workshop): Outcome {
  const missing = ["apt-get", "dpkg-deb"].find((name) => !isThere(name));
  if (missing !== undefined) return { leftOut: `no ${missing}: images are built on Debian` };
  const file = fileNames(version).image;
  const revision = run("git", ["rev-parse", "HEAD"], { cwd: root }).trim();
  const build = (archs: readonly string[]) => {
    const flags = archs.flatMap((arch) => ["--arch", arch]);
    const args = [join(out, file), `sluice:${version}`, ...flags, "--revision", revision];
    const said = run(process.execPath, ["run", "-A", "tools/image.ts", ...args], { cwd: root });
    return said.trim().split("\n").slice(-archs.length).join("; ");
  };
  try {
    return { file, checks: build(ARCHITECTURES) };
  } catch (cause) {
    // What another architecture is made of may be out of reach here.
    const why = errorText(cause).split("\n").find((line) => /error/i.test(line)) ??
      "no reason given";
    const others = ARCHITECTURES.filter((arch) => arch !== OWN_ARCH).join(", ");
    const leftOut = `${others} cannot be built here: ${stripVTControlCharacters(why).trim()}`;
    return { file, checks: build([OWN_ARCH]), leftOut };
  }
}

const OWN_ARCH = process.arch === "x64" ? "amd64" : process.arch;

/** It lies in a folder of its own beside the sites of other versions. */
function docsSite({ root, out, version }: Workshop): Outcome {
  const missing = registryMissing();
  if (missing !== undefined) return { leftOut: missing };
  const file = fileNames(version).docs;
  const env = { DOCS_BASE: `/${version}/` };
  run(process.execPath, ["run", "-A", "tools/docs.ts"], { cwd: root, env });
  run("tar", ["-czf", join(out, file), "-C", join(root, "dist/docs"), "."]);
  return { file, checks: "no dead link" };
}

function isThere(program: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.some((folder) => existsSync(join(folder, program)));
}

function notes({ out, version, notes: text }: Workshop): Outcome {
  const file = fileNames(version).notes;
  writeFileSync(join(out, file), `${text}\n`);
  return { file, checks: `${text.split("\n").length} lines of CHANGELOG.md` };
}

function sums({ out, version }: Workshop): Outcome {
  const file = fileNames(version).sums;
  const lines = readdirSync(out).filter((name) => name !== file).sort()
    .map((name) => `${sha256(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, file), lines.join(""));
  return { file, checks: `SHA-256 of ${lines.length} files` };
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
