/** Set-up before tests that need other programs: installs `redis-server` where that is possible, says what to do where not. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

export default function setup(): void {
  if (hasRedisServer()) return;
  const isRootOnDebian = process.getuid?.() === 0 && existsSync("/etc/debian_version");
  if (isRootOnDebian) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    for (const args of [["update", "-q"], ["install", "-y", "-q", "redis-server"]]) {
      spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"] });
    }
  }
  if (!hasRedisServer()) {
    throw new Error(
      "The tests need redis-server 6.2 or later: install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis)",
    );
  }
}

function hasRedisServer(): boolean {
  return spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;
}
