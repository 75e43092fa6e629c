// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno run -A tools/image.ts OUT.tar NAME:TAG [--arch amd64|arm64]`: builds the OCI image without a daemon, from
 * Debian's packages (libc, busybox, certificates, time zones) and registry packages (Deno, the service's own
 * dependencies). The same inputs give the same bytes: names sorted, owner 0, times 0. Writes OUT.sbom.json (CycloneDX
 * 1.6) beside OUT.tar. With `--folder DIR` instead of the two arguments it lays the image's files into a folder, from
 * which the Dockerfile takes them. Needs Debian with apt-get, dpkg-deb and tar.
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
import { writeImageArchive } from "./oci_archive.ts";

const DENO_VERSION = "2.9.6";
const DEBIAN_PACKAGES = ["libc6", "libgcc-s1", "busybox-static", "ca-certificates", "tzdata"];
const ARCHITECTURES: Record<string, { deno: string; debian: string }> = {
  amd64: { deno: "@deno/linux-x64-glibc", debian: "amd64" },
  arm64: { deno: "@deno/linux-arm64-glibc", debian: "arm64" },
};
/** What the server may do inside its container: no subprocesses, no writes except to its temporary folder. */
const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-sys",
  "--allow-read=/app,/tmp,/tls,/manifests,/argo-ui,/var/run/secrets,/etc",
  "--allow-write=/tmp",
];

/**
 * The heap of the server, MiB, below the chart's limit of 1 GiB: without it, V8 takes what the machine has before it
 * collects garbage. The start task in `deno.json` says the same.
 */
const HEAP = "--v8-flags=--max-old-space-size=704";

/** The command line reads whatever files it is given, and writes only token files. */
const CLI_PERMISSIONS =
  "--no-prompt --allow-net --allow-env --allow-sys --allow-read --allow-write=/tmp";

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
    "SLUICE_WORK_DIR=/tmp/work",
  ],
  Entrypoint: [
    "/usr/local/bin/deno",
    "run",
    "--cached-only",
    "--no-lock",
    HEAP,
    ...PERMISSIONS,
    "/app/src/main.ts",
  ],
  ExposedPorts: { "2746/tcp": {} },
};

function run(command: string, args: string[], cwd?: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Debian packages of one architecture, unpacked into `root`; returns names and versions. */
function addDebian(root: string, work: string, arch: string): { name: string; version: string }[] {
  const own = run("dpkg", ["--print-architecture"]).trim();
  const names = DEBIAN_PACKAGES.map((name) => arch === own ? name : `${name}:${arch}`);
  run("apt-get", ["download", "-qq", ...names], work);
  return readdirSync(work).filter((file) => file.endsWith(".deb")).sort().map((file) => {
    run("dpkg-deb", ["-x", join(work, file), root]);
    const [name = "", version = ""] = run("dpkg-deb", [
      "-W",
      "--showformat=${Package} ${Version}",
      join(work, file),
    ]).split(" ");
    return { name, version };
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

function baseLayer(root: string, work: string, arch: string): { name: string; version: string }[] {
  mkdirSync(work, { recursive: true });
  const target = ARCHITECTURES[arch];
  if (target === undefined) {
    throw new Error(
      `Unknown architecture ${arch}: choose ${Object.keys(ARCHITECTURES).join(" or ")}`,
    );
  }
  const packages = addDebian(root, work, target.debian);
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
  run("npm", ["pack", "--silent", `${target.deno}@${DENO_VERSION}`], work);
  const archive = readdirSync(work).find((file) => file.endsWith(".tgz"));
  if (archive === undefined) throw new Error(`npm pack left no archive of ${target.deno}`);
  run("tar", ["-xzf", archive], work);
  mkdirSync(join(root, "usr/local/bin"), { recursive: true });
  cpSync(join(work, "package/deno"), join(root, "usr/local/bin/deno"));
  chmodSync(join(root, "usr/local/bin/deno"), 0o755);
  for (const folder of ["tmp", "app", "tls", "manifests", "etc"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  chmodSync(join(root, "tmp"), 0o1777);
  writeFileSync(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/:/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/nologin\n",
  );
  writeFileSync(join(root, "etc/group"), "root:x:0:\nnonroot:x:65532:\n");
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  return packages;
}

/** The service with its production dependencies. */
function appLayer(root: string): void {
  const app = join(root, "app");
  mkdirSync(app, { recursive: true });
  cpSync("src", join(app, "src"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts"),
  });
  const pack = JSON.parse(readFileSync("package.json", "utf8"));
  delete pack.devDependencies;
  writeFileSync(join(app, "package.json"), JSON.stringify(pack, null, 2));
  writeFileSync(join(app, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }));
  cpSync("deno.lock", join(app, "deno.lock"));
  run(process.execPath, ["run", "-A", "tools/build_ui.ts", join(app, "dist/ui")]);
  run(process.execPath, ["install", "--quiet"], app);
  // From here on nothing may be downloaded: only what is in node_modules is available.
  writeFileSync(join(app, "deno.json"), JSON.stringify({ nodeModulesDir: "manual" }));
  const bin = join(root, "usr/local/bin");
  mkdirSync(bin, { recursive: true });
  const cli =
    `#!/bin/busybox sh\nexec /usr/local/bin/deno run --cached-only --no-lock ${CLI_PERMISSIONS} /app/src/cli/main.ts "$@"\n`;
  writeFileSync(join(bin, "sluice"), cli, { mode: 0o755 });
}

/** CycloneDX list of everything inside. */
function sbom(
  name: string,
  debian: { name: string; version: string }[],
  lock: { npm?: Record<string, unknown> },
): unknown {
  const npm = Object.keys(lock.npm ?? {}).map((key) => {
    const at = key.lastIndexOf("@", key.includes("_") ? key.indexOf("_") : key.length);
    const [pkg, version] = [key.slice(0, at), key.slice(at + 1).split("_")[0] ?? ""];
    return {
      type: "library",
      name: pkg,
      version,
      purl: `pkg:npm/${pkg.replace("@", "%40")}@${version}`,
    };
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "container", name } },
    components: [
      {
        type: "application",
        name: "deno",
        version: DENO_VERSION,
        purl: `pkg:npm/deno@${DENO_VERSION}`,
      },
      ...debian.map((p) => ({
        type: "library",
        name: p.name,
        version: p.version,
        purl: `pkg:deb/debian/${p.name}@${encodeURIComponent(p.version)}`,
      })),
      ...npm,
    ],
  };
}

function main(argv: string[]): void {
  const { values: { arch, folder }, positionals: [out, name] } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { arch: { type: "string", default: "amd64" }, folder: { type: "string" } },
  });
  if (folder === undefined && (out === undefined || name === undefined)) {
    console.error(
      "usage: deno run -A tools/image.ts OUT.tar NAME:TAG [--arch amd64|arm64]\n" +
        "       deno run -A tools/image.ts --folder DIR [--arch amd64|arm64]",
    );
    process.exit(2);
  }
  const work = mkdtempSync(join(tmpdir(), "sluice-image-"));
  try {
    const base = folder ?? join(work, "base");
    const app = folder ?? join(work, "app");
    mkdirSync(base, { recursive: true });
    const debian = baseLayer(base, join(work, "download"), arch);
    appLayer(app);
    if (out === undefined || name === undefined) return;
    const lock = JSON.parse(readFileSync(join(app, "app/deno.lock"), "utf8"));
    const config = IMAGE_CONFIG;
    const { digest, sizes } = writeImageArchive({ out, name, arch, layers: [base, app], config });
    writeFileSync(
      `${resolve(out).replace(/\.tar$/, "")}.sbom.json`,
      JSON.stringify(sbom(name, debian, lock), null, 2),
    );
    const mib = sizes.map((size) => (size / (1 << 20)).toFixed(0));
    console.log(`${name} (${arch}): ${digest}, layers ${mib.join(" + ")} MiB`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) main(process.argv.slice(2));
