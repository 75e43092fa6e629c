import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { ProcessSupervisor } from "./process_supervisor.ts";

test("the end of an adopted process is seen where its bell can't be watched", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-supervisor-"));
  const run = join(dir, "run");
  // As where the disk is full, or too many files are watched.
  const bell = join(dir, "missing", "bell");
  const launch = { dir: run, argv: ["sleep", "0.2"], cwd: dir, env: {} };
  const [first, second] = [bell, bell].map((file) => new ProcessSupervisor(file, systemClock));
  try {
    await first?.launch(launch);
    const adopted = await second?.launch(launch);
    expect(await adopted?.ended).toMatchObject({ code: 0 });
  } finally {
    first?.close();
    second?.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("a process is ended that has only just begun", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-supervisor-"));
  const supervisor = new ProcessSupervisor(join(dir, "bell"), systemClock);
  try {
    for (let run = 0; run < 20; run++) {
      const launch = { dir: join(dir, String(run)), argv: ["sleep", "60"], cwd: dir, env: {} };
      const { ended } = await supervisor.launch(launch);
      expect(await supervisor.isRunning(launch.dir)).toBe(true);
      expect(await supervisor.signal(launch.dir, "SIGKILL")).toBe(true);
      expect(await ended).toBeUndefined();
      expect(await supervisor.isRunning(launch.dir)).toBe(false);
    }
  } finally {
    supervisor.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("a process that is asked to end when it has only just begun ends with an exit code", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-supervisor-"));
  const supervisor = new ProcessSupervisor(join(dir, "bell"), systemClock);
  try {
    for (let run = 0; run < 40; run++) {
      const launch = { dir: join(dir, String(run)), argv: ["sleep", "60"], cwd: dir, env: {} };
      const { ended } = await supervisor.launch(launch);
      if (run % 2 === 1) await systemClock.sleep(run / 10);
      expect(await supervisor.signal(launch.dir, "SIGTERM")).toBe(true);
      expect(await ended).toMatchObject({ code: 143 });
    }
  } finally {
    supervisor.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
});

test("a command has its own variables, whatever their names", async () => {
  const dir = await mkdtemp(join(tmpdir(), "sluice-supervisor-"));
  const supervisor = new ProcessSupervisor(join(dir, "bell"), systemClock);
  try {
    const env = { dir: "one", bell: "two", IFS: "e" };
    const argv = ["/bin/sh", "-c", 'echo "$dir $bell $#"; exit 3', "sh", "a b", ""];
    const { ended } = await supervisor.launch({ dir: join(dir, "run"), argv, cwd: dir, env });
    expect(await ended).toMatchObject({ code: 3 });
    expect(await readFile(join(dir, "run", "stdout"), "utf8")).toBe("one two 2\n");
  } finally {
    supervisor.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
});
