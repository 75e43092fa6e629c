/** Set-up before tests that need other programs: installs them if possible, and otherwise says what to do. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { buildS3Server } from "./s3_server.ts";

/** Program → Debian package. */
const PROGRAMS = [
  ["redis-server", "redis-server"],
  ["redis-cli", "redis-tools"],
  ["openssl", "openssl"],
] as const;

export default function setup(): void {
  installPrograms();
  buildS3Server();
}

function installPrograms(): void {
  const missing = findMissing();
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && existsSync("/etc/debian_version")) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    for (const args of [["update", "-q"], ["install", "-y", "-q", ...missing]]) {
      spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"] });
    }
  }
  const stillMissing = findMissing();
  if (stillMissing.length > 0) {
    throw new Error(
      `The tests need Redis 6.2 or later and OpenSSL; install: ${stillMissing.join(", ")} ` +
        "(Debian, Ubuntu: apt-get install; macOS: brew install redis openssl)",
    );
  }
}

function findMissing(): string[] {
  return PROGRAMS.filter(([program]) =>
    spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined
  ).map(([, debianPackage]) => debianPackage);
}
