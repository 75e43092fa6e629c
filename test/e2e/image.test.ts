/**
 * The image as a new user meets it, in a real container with a read-only root file system: its first start shows a token,
 * a workflow waits through a `kill -9`, and the next start shows no second token. Needs Deno, Debian's tools and podman.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { architecture } from "../cluster/images.ts";
import { openContainerBox } from "../support/container_box.ts";

const ROOT = join(import.meta.dirname, "../..");
const IMAGE = "localhost/sluice:test";
const TOKEN = /sluice_[A-Za-z0-9_-]{43}/;
/** Compressed by gzip, MiB. What the documentation says, and a little. */
const MAX_MIB = 60;
const HARDENED = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"];

const box = "Deno" in globalThis
  ? spawnSync("apt-get", ["--version"]).error === undefined
    ? await openContainerBox()
    : { missing: "no apt-get to load Debian's packages with" }
  : { missing: "Deno builds it" };
const title = "missing" in box ? `image (skipped: ${box.missing})` : "image";

const folder = mkdtempSync(join(tmpdir(), "sluice-image-test-"));
const archive = join(folder, "sluice.tar");

afterAll(async () => {
  if ("remove" in box) await box.remove();
  rmSync(folder, { recursive: true, force: true });
});

function podman(...args: string[]): string {
  return execFileSync("podman", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Both streams of a container's log. */
function logOf(name: string): string {
  const { stdout, stderr } = spawnSync("podman", ["logs", name], { encoding: "utf8" });
  return stdout + stderr;
}

function build(...args: string[]): string {
  return execFileSync(process.execPath, ["run", "-A", "tools/image.ts", ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
}

/** Runs the command line of this checkout against a server. */
function sluice(server: string, token: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["run", "-A", "src/cli/main.ts", ...args],
    {
      cwd: ROOT,
      encoding: "utf8",
      env: { ...process.env, SLUICE_SERVER: server, SLUICE_TOKEN: token, NO_COLOR: "1" },
    },
  );
  expect(status, stdout + stderr).toBe(0);
  return stdout.trim();
}

/** Where the container's port can be reached. */
function addressOf(name: string): string {
  return `http://${podman("port", name, "2746/tcp").trim().replace("0.0.0.0", "127.0.0.1")}`;
}

/** Starts a container as the documentation does; resolves when its server is ready. */
async function run(name: string, volume: string): Promise<string> {
  const published = ["-p", "127.0.0.1::2746", "-v", `${volume}:/data`];
  podman("run", "-d", "--name", name, ...HARDENED, ...published, IMAGE);
  return await ready(name);
}

async function ready(name: string): Promise<string> {
  const isReady = () =>
    fetch(`${addressOf(name)}/readyz`).then(({ status }) => status, () => logOf(name));
  await expect.poll(isReady, { timeout: 60_000 }).toBe(200);
  return addressOf(name);
}

async function status(server: string, token?: string): Promise<number> {
  const headers: Record<string, string> = token === undefined
    ? {}
    : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server}/api/v1/workflows/default`, { headers });
  await answer.body?.cancel();
  return answer.status;
}

const WAITS = `
metadata: {name: waits}
spec:
  entrypoint: main
  templates:
    - name: main
      suspend: {}
`;

describe.skipIf("missing" in box)(title, () => {
  beforeAll(() => {
    build(archive, IMAGE, "--arch", architecture());
    podman("load", "--input", archive);
  }, 300_000);

  test("a new user's walk", async () => {
    let server = await run("walk", "walk-data");
    const log = logOf("walk");
    const [token = ""] = TOKEN.exec(log) ?? [];
    expect(log.match(new RegExp(TOKEN, "g"))).toEqual([token]);
    expect(log).toContain("It is shown only now");
    expect(await status(server)).toBe(401);
    expect(await status(server, token)).toBe(200);

    const manifest = { input: WAITS, encoding: "utf8" } as const;
    const submitted = spawnSync("podman", [
      "exec",
      "-i",
      "-e",
      `SLUICE_TOKEN=${token}`,
      "walk",
      "sluice",
      "submit",
      "-",
      "-o",
      "name",
    ], manifest);
    expect(submitted.stdout.trim(), submitted.stderr).toBe("waits");

    podman("kill", "--signal=KILL", "walk");
    podman("start", "walk");
    server = await ready("walk");
    expect(logOf("walk").match(new RegExp(TOKEN, "g"))).toEqual([token]);
    expect(sluice(server, token, "get", "waits", "-o", "short")).toContain("ǁ waits");
    sluice(server, token, "resume", "waits");
    sluice(server, token, "wait", "waits");

    // Another container takes over the volume.
    podman("rm", "--force", "walk");
    server = await run("other", "walk-data");
    expect(logOf("other")).not.toMatch(TOKEN);
    expect(sluice(server, token, "list")).toContain("Succeeded");

    const making = ["token", "create", "--subject", "admin", "--replace", "--file"];
    const next = podman("exec", "other", "sluice", ...making, "/data/tokens.yaml").trim();
    await expect.poll(() => status(server, next), { timeout: 10_000 }).toBe(200);
    expect(await status(server, token)).toBe(401);
  });

  test("it runs as nobody in particular, drains as process 1, and runs no steps", async () => {
    const server = await run("alone", "alone-data");
    const [token = ""] = TOKEN.exec(logOf("alone")) ?? [];
    const inside = (...args: string[]) => podman("exec", "alone", "/bin/busybox", ...args);
    expect(inside("id", "-u").trim()).toBe("65532");
    expect(inside("cat", "/proc/1/cmdline")).toContain("/usr/local/bin/deno");
    expect(inside("stat", "-c", "%a %u", "/data/tokens.yaml").trim()).toBe("600 65532");
    expect(inside("cat", "/data/tokens.yaml")).not.toContain(token);
    expect(() => inside("touch", "/app/x")).toThrow("Read-only file system");

    const { Healthcheck, Labels } = configOf(archive)[0]?.config ?? {};
    const [, ...check] = Healthcheck?.Test ?? [];
    podman("exec", "alone", ...check);
    expect(Labels?.["org.opencontainers.image.version"]).toMatch(/^\d+\.\d+\.\d+$/);
    expect(podman("exec", "alone", "sluice", "server", "--help")).toContain("--lease-ttl");
    expect(podman("run", "--rm", IMAGE, "version", "--short")).toMatch(/^sluice: \d/);

    const answer = await fetch(`${server}/api/v1/workflows/default`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({
        workflow: {
          metadata: { name: "runs" },
          spec: {
            entrypoint: "main",
            templates: [{ name: "main", container: { image: "x", command: ["true"] } }],
          },
        },
      }),
    });
    await answer.body?.cancel();
    expect(answer.status).toBe(200);
    const ended = () => sluice(server, token, "get", "runs", "-o", "json");
    await expect.poll(ended, { timeout: 20_000 }).toContain('"phase": "Error"');

    podman("stop", "--time", "30", "alone");
    expect(podman("inspect", "alone", "--format", "{{.State.ExitCode}}").trim()).toBe("0");
    expect(logOf("alone")).toContain('"msg":"stopped"');
  });

  test("it is as small as the documentation says, and lists its parts", () => {
    const zipped = execFileSync("sh", ["-c", `gzip -6 -c '${archive}' | wc -c`], {
      encoding: "utf8",
    });
    expect(Number(zipped) / 2 ** 20).toBeLessThan(MAX_MIB);
    const list = JSON.parse(readFileSync(archive.replace(/\.tar$/, ".sbom.json"), "utf8"));
    const names = (list.components as { name: string }[]).map(({ name }) => name);
    for (const part of ["sluice", "libc6", "hono", "preact"]) expect(names).toContain(part);
    for (const tool of ["vitest", "typescript"]) expect(names).not.toContain(tool);
  });

  test("for two architectures: one index, the same layer with the service", () => {
    const versions = ["x64", "arm64"].map((machine) => versionsOf(`@deno/linux-${machine}-glibc`));
    const deno = versions[0]?.findLast((one) => versions[1]?.includes(one)) ?? "";
    const both = join(folder, "both.tar");
    build(both, IMAGE, "--arch=amd64", "--arch=arm64", `--deno=${deno}`);
    const configs = configOf(both);
    expect(configs.map(({ architecture }) => architecture)).toEqual(["amd64", "arm64"]);
    const [amd64, arm64] = configs.map(({ rootfs }) => rootfs.diff_ids);
    expect(amd64?.[1]).toBe(arm64?.[1]);
    expect(amd64?.[0]).not.toBe(arm64?.[0]);
    expect(amd64).toHaveLength(2);
    const layer = spawnSync("tar", ["-xOf", both, blobOf(arm64?.[0] ?? "")], {
      encoding: "buffer",
      maxBuffer: 1 << 28,
    });
    const inside = join(folder, "arm64");
    execFileSync("sh", ["-c", `mkdir -p ${inside} && tar -x -C ${inside} ./usr/local/bin/deno`], {
      input: layer.stdout,
    });
    // The header of an ELF file names its machine: 183 is AArch64.
    expect(readFileSync(join(inside, "usr/local/bin/deno")).readUInt16LE(18)).toBe(183);
  });
});

function versionsOf(name: string): string[] {
  const { stdout } = spawnSync("npm", ["view", name, "versions", "--json"], { encoding: "utf8" });
  return JSON.parse(stdout);
}

interface ImageConfig {
  architecture: string;
  rootfs: { diff_ids: string[] };
  config: { Healthcheck?: { Test: string[] }; Labels?: Record<string, string> };
}

function blobOf(digest: string): string {
  return `./blobs/${digest.replace(":", "/")}`;
}

/** The configurations of all images of an archive. */
function configOf(file: string): ImageConfig[] {
  const read = (path: string) =>
    JSON.parse(execFileSync("tar", ["-xOf", file, path], { encoding: "utf8" }));
  interface Descriptor {
    digest: string;
    mediaType: string;
  }
  const manifests = (list: Descriptor[]): { config: Descriptor }[] =>
    list.flatMap(({ digest, mediaType }) => {
      const blob = read(blobOf(digest));
      return mediaType.includes("index") ? manifests(blob.manifests) : [blob];
    });
  return manifests(read("./index.json").manifests)
    .map(({ config }) => read(blobOf(config.digest)));
}
