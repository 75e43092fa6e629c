/** What this process knows of the others on its machine. */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

const MARK_LENGTH = 8;

/**
 * A mark of letters and digits that is the same in all processes that see each other by their numbers: until the machine starts
 * again, and in one container. "" where the system does not tell (other than Linux).
 */
export function machineMark(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The name, because copies of a virtual machine may have one boot.
    const parts = [boot, readlinkSync("/proc/self/ns/pid"), hostname()];
    return createHash("sha256").update(parts.join(" ")).digest("hex").slice(0, MARK_LENGTH);
  } catch {
    return "";
  }
}

/** Whether the process of this number can still do anything. One that was killed may be listed until its parent has noticed. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // Somebody else's process may not be asked, but it is there.
    return (cause as NodeJS.ErrnoException).code !== "ESRCH";
  }
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}
