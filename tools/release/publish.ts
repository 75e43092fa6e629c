/**
 * Publishes what was built and checked. Every step may be repeated: what is there already is left alone, so a release that
 * broke off is started again.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { needProgram } from "../../test/cluster/programs.ts";
import { fileNames, type Workshop } from "./artifacts.ts";
import { run } from "./run.ts";

/** Published image or chart: `NAME@sha256:…`. */
type Reference = string;

/** One step: what it publishes; it answers what it did. */
export type Step = [name: string, publish: (shop: Workshop) => string];

export interface Registry {
  /** Host and path, such as `ghcr.io/owner`: the image is `sluice` below it, the chart `charts/sluice`. */
  address: string;
  /** No TLS: a registry on this machine. */
  isPlain?: boolean;
  /** Absent: the registry asks for nobody. */
  login?: { user: string; password: string };
}

/** crane keeps the login where helm and cosign look for it too. */
function logIn({ address, login }: Registry): string {
  if (login === undefined) return "nobody";
  const [host = ""] = address.split("/");
  const args = ["auth", "login", host, "--username", login.user, "--password-stdin"];
  run(needProgram("crane"), args, { input: login.password });
  return login.user;
}

/** Steps that need a registry of OCI artifacts only. They answer with a {@linkcode Reference}. */
export function ociSteps({ address, isPlain = false }: Registry): Step[] {
  const insecure = isPlain ? ["--insecure"] : [];
  const crane = (...args: string[]) => run(needProgram("crane"), [...args, ...insecure]).trim();
  return [
    ["image", ({ out, work, version }) => {
      const name = `${address}/sluice:${version}`;
      // crane reads a layout, not its archive.
      const layout = join(work, "layout");
      mkdirSync(layout, { recursive: true });
      run("tar", ["-xf", join(out, fileNames(version).image), "-C", layout]);
      crane("push", layout, name);
      return `${name}@${crane("digest", name)}`;
    }],
    ["chart", ({ out, version }) => {
      const name = `${address}/charts/sluice`;
      const file = join(out, fileNames(version).chart);
      const plain = isPlain ? ["--plain-http"] : [];
      run(needProgram("helm"), ["push", file, `oci://${address}/charts`, ...plain]);
      return `${name}@${crane("digest", `${name}:${version}`)}`;
    }],
  ];
}

/** Packages, image and chart, their signatures, and the page of the release. */
export function publicationSteps(registry: Registry): Step[] {
  const published = new Map<string, Reference>();
  const oci = ociSteps(registry).map(([name, publish]): Step => [name, (shop) => {
    const reference = publish(shop);
    published.set(name, reference);
    tellWorkflow(name, reference);
    return reference;
  }]);
  const cosign = (...args: string[]) => run("cosign", [...args, "--yes"]);
  return [
    ["login", () => logIn(registry)],
    ["npm", publishNpm],
    ["JSR", ({ root }) => {
      run(process.execPath, ["publish"], { cwd: root });
      return "published, or there already";
    }],
    ...oci,
    ["signatures", ({ out, version }) => {
      for (const reference of published.values()) cosign("sign", reference);
      const names = fileNames(version);
      const image = published.get("image") ?? "";
      const sbom = join(out, names.imageSbom);
      cosign("attest", "--type", "cyclonedx", "--predicate", sbom, image);
      const sums = join(out, names.sums);
      cosign("sign-blob", sums, "--bundle", `${sums}.sigstore.json`);
      return `${published.size} digests, ${names.imageSbom}, ${names.sums}`;
    }],
    ["release page", publishPage],
  ];
}

/** Later steps of the workflow read what this one has published. */
function tellWorkflow(what: string, reference: Reference): void {
  const file = process.env["GITHUB_OUTPUT"];
  const [name, digest] = reference.split("@");
  if (file !== undefined) appendFileSync(file, `${what}-name=${name}\n${what}-digest=${digest}\n`);
}

function publishNpm({ out, version }: Workshop): string {
  if (isOnNpm(version)) return "there already";
  const file = join(out, fileNames(version).npm);
  // A version such as 1.0.0-rc.1 is not what `npm install sluice` should give.
  const tag = version.includes("-") ? "next" : "latest";
  run("npm", ["publish", file, "--provenance", "--access", "public", "--tag", tag]);
  return `sluice@${version} (${tag})`;
}

function isOnNpm(version: string): boolean {
  try {
    return run("npm", ["view", `sluice@${version}`, "version"]).trim() === version;
  } catch {
    return false;
  }
}

function publishPage({ out, version }: Workshop): string {
  const names = fileNames(version);
  const tag = `v${version}`;
  const signed = [names.sums, `${names.sums}.sigstore.json`];
  const files = [names.npm, names.npmSbom, names.chart, names.imageSbom, names.docs, ...signed]
    .map((name) => join(out, name));
  try {
    run("gh", ["release", "view", tag]);
    run("gh", ["release", "upload", tag, "--clobber", ...files]);
    return `${tag}: files renewed`;
  } catch {
    const notes = ["--title", version, "--notes-file", join(out, names.notes)];
    const kind = version.includes("-") ? ["--prerelease"] : [];
    run("gh", ["release", "create", tag, "--verify-tag", ...notes, ...kind, ...files]);
    return tag;
  }
}
