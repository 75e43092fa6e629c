// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno run -A tools/image.ts OUT.tar NAME:TAG [--arch amd64] [--arch arm64] [--revision SHA] [--deno VERSION]`: builds the
 * OCI image without a daemon, from Debian's packages (libc, busybox, certificates, time zones) and registry packages (Deno,
 * the service's own dependencies). The same inputs give the same bytes: names sorted, owner 0, times 0. Several
 * architectures become one image with an index; the layer with the service is the same in all. Writes OUT.sbom.json
 * (CycloneDX 1.6) beside OUT.tar. With `--folder DIR` instead of the two arguments it lays the image's files into a folder,
 * from which the Dockerfile takes them. Needs Debian with apt-get, dpkg-deb and tar.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import pack from "../package.json" with { type: "json" };
import { buildPages } from "../src/ui/build.ts";
import { createSbom, type Part, partsOfFiles, partsOfLock } from "./image_sbom.ts";
import { writeImageArchive } from "./oci_archive.ts";

const DENO_VERSION = "2.9.6";
const DEBIAN_PACKAGES = ["libc6", "libgcc-s1", "busybox-static", "ca-certificates", "tzdata"];
/** Deno's package for each architecture; Debian names them as images do. */
const DENO_PACKAGES: Record<string, string> = {
  amd64: "@deno/linux-x64-glibc",
  arm64: "@deno/linux-arm64-glibc",
};

/**
 * How V8 keeps the server's memory and compiles its code. The size of the heap, MiB, is below the chart's limit of 1 GiB:
 * without it, V8 takes what the machine has before it collects garbage. The heap may grow to three times what is live before
 * all of it is collected: with such a bound V8 would do that when it has grown by half, which costs a twentieth of the processor
 * time of each workflow. At rest the server gives memory back by itself (`idle_collection.ts`). V8's last compiler waits until
 * a function was called 300,000 times instead of 3,000: each workflow calls some 400 functions, and compiling all of them within
 * seconds costs more than it saves in the first 30,000 workflows.
 * The start task in `deno.json` says the same.
 */
const V8_FLAGS = "--v8-flags=" + [
  "--no-memory-reducer",
  "--retain-maps-for-n-gc=16",
  "--invocation-count-for-turbofan=300000",
  "--max-old-space-size=704",
  "--heap-growing-percent=200",
].join();

/** How the server starts. It may start one program, which runs jq filters, and write only to its store and its temporary folder. */
export const SERVER_COMMAND: readonly string[] = [
  "/usr/local/bin/deno",
  "run",
  "--cached-only",
  "--no-lock",
  V8_FLAGS,
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-sys",
  "--allow-read=/app,/data,/tmp,/tls,/manifests,/argo-ui,/var/run/secrets,/etc",
  "--allow-write=/data,/tmp",
  "--allow-run=/usr/local/bin/sluice-jq",
  "/app/src/main.ts",
];

/** The command line reads whatever files it is given, and writes only token files. */
const CLI_COMMAND: readonly string[] = [
  "/usr/local/bin/deno",
  "run",
  "--cached-only",
  "--no-lock",
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-sys",
  "--allow-read",
  "--allow-write=/data,/tmp",
  "/app/src/cli/main.ts",
];

/** The command `sluice`. `exec` makes the server process 1, so that it is the one that is told to stop. */
const SLUICE = `#!/bin/busybox sh
case "\${1-server}" in
  server)
    [ $# = 0 ] || shift
    exec ${SERVER_COMMAND.join(" ")} "$@"
    ;;
  *) exec ${CLI_COMMAND.join(" ")} "$@" ;;
esac
`;

/** The process for jq filters may read its own files. */
const JQ_COMMAND: readonly string[] = [
  "/usr/local/bin/deno",
  "run",
  "--quiet",
  "--cached-only",
  "--no-lock",
  "--v8-flags=--max-old-space-size=128",
  "--no-prompt",
  "--allow-read=/app",
  "/app/src/executors/resource/jq_process.ts",
];

/** The command `sluice-jq`. The limit ends what a server, once killed, no longer can. */
const SLUICE_JQ = `#!/bin/busybox sh
ulimit -t 60
exec ${JQ_COMMAND.join(" ")}
`;

/** How a container of the image starts; the Dockerfile says the same. */
export const IMAGE_CONFIG = {
  User: "65532:65532",
  WorkingDir: "/app",
  Env: [
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "HOME=/tmp",
    "DENO_DIR=/tmp/deno",
    "DENO_NO_UPDATE_CHECK=1",
    "SLUICE_HOST=0.0.0.0",
    "SLUICE_STORE=sqlite:/data",
    "SLUICE_EXECUTOR=none",
    "SLUICE_AUTH_MODE=client",
    "SLUICE_WORK_DIR=/tmp/work",
    "SLUICE_JQ_COMMAND=/usr/local/bin/sluice-jq",
  ],
  Entrypoint: ["/usr/local/bin/sluice"],
  ExposedPorts: { "2746/tcp": {} },
  Volumes: { "/data": {} },
  /** Read by Docker; Kubernetes has probes of its own. Times in nanoseconds. */
  Healthcheck: {
    Test: [
      "CMD",
      "/bin/busybox",
      "sh",
      "-c",
      "exec busybox wget -q -O /dev/null http://127.0.0.1:${SLUICE_PORT:-2746}/readyz",
    ],
    Interval: 10e9,
    Timeout: 5e9,
    StartPeriod: 30e9,
    Retries: 3,
  },
  Labels: {
    "org.opencontainers.image.title": "sluice",
    "org.opencontainers.image.description": pack.description,
    "org.opencontainers.image.version": pack.version,
    "org.opencontainers.image.licenses": pack.license,
  },
};

function run(command: string, args: string[], cwd?: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Options with which apt-get loads packages of another architecture, beside the lists of this machine. */
function foreignApt(arch: string, work: string): string[] {
  const state = join(work, "apt");
  for (const folder of ["lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(state, folder), { recursive: true });
  }
  writeFileSync(join(state, "status"), "");
  const settings = [
    `APT::Architecture=${arch}`,
    `APT::Architectures=${arch}`,
    `Dir::State=${state}`,
    `Dir::State::status=${join(state, "status")}`,
    `Dir::Cache=${join(state, "cache")}`,
  ];
  return settings.flatMap((setting) => ["-o", setting]);
}

/** Debian packages of one architecture, unpacked into `root`. */
function addDebian(root: string, work: string, arch: string): Part[] {
  const isOwn = run("dpkg", ["--print-architecture"]).trim() === arch;
  const options = ["-qq", "-o", "APT::Sandbox::User=", ...(isOwn ? [] : foreignApt(arch, work))];
  if (!isOwn) run("apt-get", [...options, "update"]);
  run("apt-get", [...options, "download", ...DEBIAN_PACKAGES], work);
  return readdirSync(work).filter((file) => file.endsWith(".deb")).sort().map((file) => {
    run("dpkg-deb", ["-x", join(work, file), root]);
    const [name = "", version = "", built = ""] = run("dpkg-deb", [
      "-W",
      "--showformat=${Package} ${Version} ${Architecture}",
      join(work, file),
    ]).split(" ");
    return { type: "deb", name, version, arch: built };
  });
}

/** Certificates come as single files; programs read one bundle. */
function bundleCertificates(root: string): void {
  const folder = join(root, "usr/share/ca-certificates/mozilla");
  const all = readdirSync(folder).sort().map((file) => readFileSync(join(folder, file), "utf8"))
    .join("");
  mkdirSync(join(root, "etc/ssl/certs"), { recursive: true });
  writeFileSync(join(root, "etc/ssl/certs/ca-certificates.crt"), all);
}

/** What the service stands on: another layer for each architecture. */
function baseLayer(root: string, work: string, arch: string, deno: string): Part[] {
  mkdirSync(work, { recursive: true });
  mkdirSync(root, { recursive: true });
  const packageName = DENO_PACKAGES[arch];
  if (packageName === undefined) {
    const known = Object.keys(DENO_PACKAGES).join(" or ");
    throw new Error(`Unknown architecture ${arch}: choose ${known}`);
  }
  const packages = addDebian(root, work, arch);
  bundleCertificates(root);
  for (
    const gone of [
      "usr/share/doc",
      "usr/share/man",
      "usr/share/lintian",
      "usr/share/ca-certificates",
    ]
  ) {
    rmSync(join(root, gone), { recursive: true, force: true });
  }
  run("npm", ["pack", "--silent", `${packageName}@${deno}`], work);
  const archive = readdirSync(work).find((file) => file.endsWith(".tgz"));
  if (archive === undefined) throw new Error(`npm pack left no archive of ${packageName}`);
  run("tar", ["-xzf", archive], work);
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  cpSync(join(work, "package/deno"), join(root, "usr/local/bin/deno"));
  chmodSync(join(root, "usr/local/bin/deno"), 0o755);
  for (const folder of ["tmp", "data", "app", "tls", "manifests", "etc"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  // A new volume takes the folder's mode: whichever user the container runs as may write to it.
  for (const folder of ["tmp", "data"]) chmodSync(join(root, folder), 0o1777);
  writeFileSync(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/:/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/nologin\n",
  );
  writeFileSync(join(root, "etc/group"), "root:x:0:\nnonroot:x:65532:\n");
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  return [{ type: "npm", name: packageName, version: deno }, ...packages];
}

/** The service with its production dependencies: the same for all architectures. */
async function appLayer(root: string): Promise<Part[]> {
  const app = join(root, "app");
  mkdirSync(app, { recursive: true });
  cpSync("src", join(app, "src"), {
    recursive: true,
    dereference: true,
    filter: (path) => !path.endsWith(".test.ts"),
  });
  const { devDependencies: _, ...production } = pack;
  writeFileSync(join(app, "package.json"), JSON.stringify(production, null, 2));
  writeFileSync(join(app, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }));
  // Intentionally no copy of a link: the installation writes to it.
  writeFileSync(join(app, "deno.lock"), readFileSync("deno.lock"));
  const bundled = await buildPages(join(app, "dist/ui"));
  run(process.execPath, ["install", "--quiet"], app);
  // From here on nothing may be downloaded: only what is in node_modules is available. The rest is as in the checkout.
  writeFileSync(
    join(app, "deno.json"),
    JSON.stringify({
      nodeModulesDir: "manual",
      unstable: ["no-legacy-abort", "lazy-dynamic-imports"],
    }),
  );
  const bin = join(root, "usr/local/bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "sluice"), SLUICE, { mode: 0o755 });
  writeFileSync(join(bin, "sluice-jq"), SLUICE_JQ, { mode: 0o755 });
  return [
    ...partsOfLock(readFileSync(join(app, "deno.lock"), "utf8")),
    ...partsOfFiles(bundled),
  ];
}

async function buildArchive(
  { out, name, archs, revision, deno }: Record<"out" | "name" | "revision" | "deno", string> & {
    archs: readonly string[];
  },
): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "sluice-image-"));
  try {
    const app = join(work, "app");
    const parts = await appLayer(app);
    const images = archs.map((arch) => {
      const base = join(work, `base-${arch}`);
      parts.push(...baseLayer(base, join(work, `download-${arch}`), arch, deno));
      return { arch, layers: [base, app] };
    });
    const Labels = {
      ...IMAGE_CONFIG.Labels,
      ...(revision !== "" && { "org.opencontainers.image.revision": revision }),
    };
    const written = writeImageArchive({ out, name, images, config: { ...IMAGE_CONFIG, Labels } });
    const sbom = createSbom(name, pack, parts);
    writeFileSync(`${resolve(out).replace(/\.tar$/, "")}.sbom.json`, JSON.stringify(sbom, null, 2));
    for (const { arch, digest, layers } of written) {
      const mib = layers.map(({ size }) => (size / (1 << 20)).toFixed(0));
      console.log(`${name} (${arch}): ${digest}, layers ${mib.join(" + ")} MiB`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Everything in one folder, for the Dockerfile. */
async function layFolder(folder: string, arch: string, deno: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "sluice-image-"));
  try {
    await appLayer(folder);
    baseLayer(folder, work, arch, deno);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function main(args: string[]): Promise<number> {
  const { values: { arch: archs, folder, revision, deno }, positionals: [out, name] } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      arch: { type: "string", multiple: true, default: ["amd64"] },
      folder: { type: "string" },
      revision: { type: "string", default: "" },
      deno: { type: "string", default: DENO_VERSION },
    },
  });
  const [arch = "", ...others] = archs;
  if (folder !== undefined && others.length === 0) await layFolder(folder, arch, deno);
  else if (out !== undefined && name !== undefined) {
    await buildArchive({ out, name, archs, revision, deno });
  } else {
    console.error(
      "usage: deno run -A tools/image.ts OUT.tar NAME:TAG [--arch amd64] [--arch arm64] [--revision SHA] [--deno VERSION]\n" +
        "       deno run -A tools/image.ts --folder DIR [--arch amd64|arm64]",
    );
    return 2;
  }
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
