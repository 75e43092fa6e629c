/**
 * A container program that works here, with a small image made on the spot (`localhost/box:1`: busybox, nothing
 * pulled): podman with separate stores, so that tests touch nobody's containers.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const APPLETS =
  "sh echo cat sleep ls env mkdir cp touch wc printf tail head cut chmod pwd rm true test date dd kill seq ln mkfifo mv truncate [";

export interface ContainerBox {
  command: string[];
  remove(): Promise<void>;
}

/** The box, or why there is none. Until `remove`, variables of the process tell podman where to keep its data. */
export async function openContainerBox(): Promise<ContainerBox | { missing: string }> {
  if (!installed("podman", ["--version"])) return { missing: "no podman on PATH" };
  const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
  if (busybox === undefined) {
    return { missing: "no static busybox (Debian, Ubuntu: apt-get install busybox-static)" };
  }
  const dir = await mkdtemp(join(tmpdir(), "sluice-box-"));
  const before = {
    CONTAINERS_CONF: process.env["CONTAINERS_CONF"],
    CONTAINERS_STORAGE_CONF: process.env["CONTAINERS_STORAGE_CONF"],
  };
  process.env["CONTAINERS_CONF"] = join(dir, "containers.conf");
  process.env["CONTAINERS_STORAGE_CONF"] = join(dir, "storage.conf");
  await writeFile(
    join(dir, "containers.conf"),
    `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n` +
      `[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n` +
      (installed("runc", ["--version"]) ? `runtime = "runc"\n` : ""),
  );
  await writeFile(
    join(dir, "storage.conf"),
    `[storage]\ndriver = "vfs"\ngraphroot = "${join(dir, "graph")}"\nrunroot = "${
      join(dir, "run")
    }"\n`,
  );
  const remove = async () => {
    podman("rm", "--force", "--all", "--time", "0");
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  const root = join(dir, "root");
  for (const folder of ["bin", "tmp", "etc"]) await mkdir(join(root, folder), { recursive: true });
  await copyFile(busybox, join(root, "bin/busybox"));
  for (const applet of APPLETS.split(" ")) await symlink("busybox", join(root, "bin", applet));
  const tar = join(dir, "box.tar");
  spawnSync("tar", ["-C", root, "-cf", tar, "."]);
  const made = podman("import", tar, "localhost/box:1");
  const tried = made.status === 0
    ? podman("run", "--rm", "--network=none", "localhost/box:1", "/bin/true")
    : made;
  if (tried.status === 0) return { command: ["podman"], remove };
  await remove();
  return {
    missing: `podman can't run a container here: ${
      (tried.error?.message ?? tried.stderr).trim().split("\n").at(-1)
    }`,
  };
}

/** A call of podman that was killed can leave a lock for which all later ones wait: none may wait for ever. */
function podman(...args: string[]) {
  return spawnSync("podman", args, { encoding: "utf8", timeout: 60_000, killSignal: "SIGKILL" });
}

function installed(program: string, args: string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}
