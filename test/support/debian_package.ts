/** Programs of Debian that tests need: installed where that is possible. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

/** Installs packages as root on Debian. Elsewhere, or without a network, it does nothing: look again what is there. */
export function installPackages(names: readonly string[]): void {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const args = ["install", "-y", "-q", "--no-install-recommends", ...names];
  spawnSync("apt-get", ["update", "-q"], { env, stdio: "ignore" });
  spawnSync("apt-get", args, { env, stdio: "ignore" });
}
