/** The list of everything inside the image, as CycloneDX 1.6. */
import { readFileSync } from "node:fs";

/** A package of which something is in the image. */
export interface Part {
  /** Kind of package, as its address (purl) begins. */
  type: "deb" | "npm";
  name: string;
  version: string;
  /** Debian's architecture. */
  arch?: string;
  /** The registry's checksum of its archive: `sha512-…` in base64. */
  integrity?: string;
}

interface Lock {
  npm?: Record<string, { integrity?: string }>;
}

/** The packages of a `deno.lock`. */
export function partsOfLock(text: string): Part[] {
  const { npm = {} }: Lock = JSON.parse(text);
  return Object.entries(npm).map(([key, { integrity }]) => {
    // A key may go on after an underscore with the versions of its peers.
    const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? [];
    return { type: "npm", name, version, ...(integrity !== undefined && { integrity }) };
  });
}

/** The packages that files below a `node_modules` belong to. */
export function partsOfFiles(files: readonly string[]): Part[] {
  const folders = files.map((file) => /^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]);
  return [...new Set(folders)].filter((folder) => folder !== undefined).map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return { type: "npm", name, version };
  });
}

function addressOf({ type, name, version, arch }: Part): string {
  const place = type === "deb" ? `debian/${name}` : name.replace("@", "%40");
  const suffix = arch === undefined ? "" : `?arch=${arch}`;
  return `pkg:${type}/${place}@${encodeURIComponent(version)}${suffix}`;
}

/** @param parts each may come several times */
export function createSbom(
  image: string,
  service: { name: string; version: string; license: string },
  parts: readonly Part[],
): Record<string, unknown> {
  const { name, version, license } = service;
  const byAddress = new Map<string, Part>();
  for (const part of parts) {
    const address = addressOf(part);
    byAddress.set(address, { ...byAddress.get(address), ...part });
  }
  const components = [...byAddress].sort(([a], [b]) => a < b ? -1 : 1).map(([address, part]) => ({
    type: "library",
    "bom-ref": address,
    name: part.name,
    version: part.version,
    purl: address,
    ...(part.integrity?.startsWith("sha512-") && {
      hashes: [{
        alg: "SHA-512",
        content: Buffer.from(part.integrity.slice("sha512-".length), "base64").toString("hex"),
      }],
    }),
  }));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "container", name: image, version } },
    components: [
      {
        type: "application",
        "bom-ref": name,
        name,
        version,
        licenses: [{ license: { id: license } }],
      },
      ...components,
    ],
  };
}
