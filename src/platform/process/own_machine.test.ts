import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import { isRunning, machineMark } from "./own_machine.ts";

test.skipIf(process.platform !== "linux")("a mark has letters and digits only, and stays", () => {
  expect(machineMark()).toMatch(/^[0-9a-z]{8}$/);
  expect(machineMark()).toBe(machineMark());
});

test("a process runs until it is killed", async () => {
  expect(isRunning(process.pid)).toBe(true);
  const child = spawn("sleep", ["60"]);
  const pid = child.pid ?? 0;
  expect(isRunning(pid)).toBe(true);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isRunning(pid)).toBe(false);
});

test.skipIf(process.platform !== "linux")(
  "a killed process whose parent has not noticed does not run",
  async () => {
    // The shell becomes a program that never asks how its child ended.
    const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"]);
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    expect(isRunning(pid)).toBe(true);
    const program = () => readFileSync(`/proc/${parent.pid}/comm`, "utf8");
    await expect.poll(program, { timeout: 5_000 }).toBe("sleep\n");
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isRunning(pid), { timeout: 5_000 }).toBe(false);
    process.kill(pid, 0);
    parent.kill("SIGKILL");
  },
);
