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

export interface ImageArchive {
  /** The archive to write. */
  out: string;
  /** `NAME:TAG`; without a registry's host it belongs to docker.io/library. */
  name: string;
  /** `amd64` or `arm64`. */
  arch: string;
  /** Folders, each the contents of one layer, in order. */
  layers: readonly string[];
  /** `Entrypoint`, `Env`, `User` and so on. */
  config: Record<string, unknown>;
}

/** Reproducible tar of a folder. */
function tar(folder: string, out: string): void {
  const order = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  execFileSync("tar", [...order, "--format=gnu", "-C", folder, "-cf", out, "."]);
}

/** Writes the archive; returns the digest of its manifest and the layers' sizes in bytes. */
export function writeImageArchive(
  { out, name, arch, layers, config }: ImageArchive,
): { digest: string; sizes: number[] } {
  const layout = mkdtempSync(join(tmpdir(), "sluice-oci-"));
  try {
    const blobs = join(layout, "blobs/sha256");
    mkdirSync(blobs, { recursive: true });
    const packed = layers.map((folder) => {
      const file = join(layout, "layer.tmp");
      tar(folder, file);
      const blob = store(readFileSync(file), "application/vnd.oci.image.layer.v1.tar", blobs);
      rmSync(file);
      return blob;
    });
    const described = storeJson(
      {
        architecture: arch,
        os: "linux",
        config,
        rootfs: { type: "layers", diff_ids: packed.map(({ digest }) => digest) },
      },
      "application/vnd.oci.image.config.v1+json",
      blobs,
    );
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const manifest = storeJson(
      { schemaVersion: 2, mediaType, config: described, layers: packed },
      mediaType,
      blobs,
    );
    const annotations = {
      "io.containerd.image.name": name.includes("/") ? name : `docker.io/library/${name}`,
      "org.opencontainers.image.ref.name": name,
    };
    const platform = { architecture: arch, os: "linux" };
    const index = { schemaVersion: 2, manifests: [{ ...manifest, platform, annotations }] };
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    writeFileSync(join(layout, "index.json"), JSON.stringify(index));
    tar(layout, resolve(out));
    return { digest: manifest.digest, sizes: packed.map(({ size }) => size) };
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

function storeJson(value: unknown, mediaType: string, blobs: string): Blob {
  return store(Buffer.from(JSON.stringify(value)), mediaType, blobs);
}

function store(data: Uint8Array, mediaType: string, blobs: string): Blob {
  const hex = createHash("sha256").update(data).digest("hex");
  writeFileSync(join(blobs, hex), data);
  return { digest: `sha256:${hex}`, size: data.length, mediaType };
}
