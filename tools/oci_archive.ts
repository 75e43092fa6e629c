/**
 * OCI image archives from folders, without a daemon. The same folders give the same bytes: names sorted, owner 0, times
 * 0. `docker load`, `podman load`, `ctr images import` and `skopeo copy oci-archive:` accept the result.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

interface Blob {
  digest: string;
  size: number;
  mediaType: string;
}

/** The image for one kind of machine. */
export interface PlatformImage {
  /** `amd64` or `arm64`. */
  arch: string;
  /** Folders, each the contents of one layer, in order. */
  layers: readonly string[];
}

export interface ImageArchive {
  /** The archive to write. */
  out: string;
  /** `NAME:TAG`; without a registry's host it belongs to docker.io/library. */
  name: string;
  /** Several become one image with an index; a folder that several name is stored once. */
  images: readonly PlatformImage[];
  /** `Entrypoint`, `Env`, `User` and so on. */
  config: Record<string, unknown>;
}

export interface WrittenImage {
  arch: string;
  /** Digest of its manifest. */
  digest: string;
  layers: { digest: string; size: number }[];
}

const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";

/** Reproducible tar of a folder. */
function tar(folder: string, out: string): void {
  const order = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  execFileSync("tar", [...order, "--format=gnu", "-C", folder, "-cf", out, "."]);
}

/** Writes the archive; returns what it holds for each platform. */
export function writeImageArchive({ out, name, images, config }: ImageArchive): WrittenImage[] {
  const layout = mkdtempSync(join(tmpdir(), "sluice-oci-"));
  try {
    const blobs = join(layout, "blobs/sha256");
    mkdirSync(blobs, { recursive: true });
    const packed = new Map<string, Blob>();
    for (const folder of images.flatMap(({ layers }) => layers)) {
      if (packed.has(folder)) continue;
      const file = join(layout, "layer.tmp");
      tar(folder, file);
      const data = readFileSync(file);
      packed.set(folder, store(data, "application/vnd.oci.image.layer.v1.tar", blobs));
      rmSync(file);
    }
    const manifests = images.map(({ arch, layers }) => {
      const own = layers.flatMap((folder) => packed.get(folder) ?? []);
      return { ...storeManifest(arch, own, config, blobs), arch, layers: own };
    });
    const described = manifests.map(({ digest, size, mediaType, arch }) => ({
      digest,
      size,
      mediaType,
      platform: { architecture: arch, os: "linux" },
    }));
    const annotations = {
      "io.containerd.image.name": name.includes("/") ? name : `docker.io/library/${name}`,
      "org.opencontainers.image.ref.name": name,
    };
    const index = { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: described };
    const [only, ...others] = described;
    const top = others.length === 0 ? only : storeJson(index, INDEX_TYPE, blobs);
    const entry = { schemaVersion: 2, manifests: [{ ...top, annotations }] };
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    writeFileSync(join(layout, "index.json"), JSON.stringify(entry));
    tar(layout, resolve(out));
    return manifests.map(({ arch, digest, layers }) => ({ arch, digest, layers }));
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

function storeManifest(
  arch: string,
  layers: readonly Blob[],
  config: Record<string, unknown>,
  blobs: string,
): Blob {
  const rootfs = { type: "layers", diff_ids: layers.map(({ digest }) => digest) };
  const described = storeJson(
    { architecture: arch, os: "linux", config, rootfs },
    "application/vnd.oci.image.config.v1+json",
    blobs,
  );
  const manifest = { schemaVersion: 2, mediaType: MANIFEST_TYPE, config: described, layers };
  return storeJson(manifest, MANIFEST_TYPE, blobs);
}

function storeJson(value: unknown, mediaType: string, blobs: string): Blob {
  return store(Buffer.from(JSON.stringify(value)), mediaType, blobs);
}

function store(data: Uint8Array, mediaType: string, blobs: string): Blob {
  const hex = createHash("sha256").update(data).digest("hex");
  writeFileSync(join(blobs, hex), data);
  return { digest: `sha256:${hex}`, size: data.length, mediaType };
}
