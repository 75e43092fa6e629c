import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { collectReports, shell, shellTask, taskSpec } from "../../../test/support/task_spec.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { LocalExecutor } from "./executor.ts";
import { createProcessExecutor } from "./process.ts";
import { safeTaskName } from "./scratch.ts";

let dir = "";
const open: LocalExecutor[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-process-"));
});
afterEach(async () => {
  for (const executor of open.splice(0)) await executor.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

function executor(maxRunning?: number): LocalExecutor {
  const config = {
    configMap: (_ns: string, name: string) =>
      Promise.resolve(name === "cm" ? { A: "from map", "dotted.name": "odd" } : undefined),
    secret: (_ns: string, name: string) =>
      Promise.resolve(name === "s" ? { token: "hush" } : undefined),
  };
  const made = createProcessExecutor({
    dir: join(dir, "state"),
    config,
    clock: systemClock,
    ...(maxRunning !== undefined && { maxRunning }),
  });
  open.push(made);
  return made;
}

async function run(task: TaskSpec, on = executor()) {
  const reports = collectReports();
  await on.start(task, reports.report);
  return await reports.ended;
}

const taskDir = (id: string) => join(dir, "state", "tasks", safeTaskName(`uid-1/${id}/1`));

test("a task that needs the image's entrypoint fails with a message that names the executors which know it", async () => {
  const outcome = await run(taskSpec("a", { container: { image: "busybox" } }));
  expect(outcome.phase).toBe("Error");
  expect(outcome.message).toContain("NoCommand");
  expect(outcome.message).toContain("--executor container or kubernetes");
});

test("a text with a NUL is told, and not shown: it may be a secret", async () => {
  const command = ["true"];
  const said = async (task: TaskSpec) => (await run(task)).message;
  expect(await said(taskSpec("a", { container: { command, args: ["hush\0"] } }))).toBe(
    "Pod failed before main container starts due to CreateContainerConfigError: its command or an argument has a NUL",
  );
  const env = [{ name: "TOKEN", value: "hush\0" }];
  expect(await said(taskSpec("b", { container: { command, env } }))).toBe(
    "Pod failed before main container starts due to CreateContainerConfigError: variable TOKEN has a NUL",
  );
});

test("a program that isn't on this machine is an Error, one that the shell can't find is a failure", async () => {
  const outcome = await run(taskSpec("a", { container: { command: ["no-such-program"] } }));
  expect(outcome).toMatchObject({ phase: "Error" });
  expect(outcome.message).toContain('"no-such-program" is not a program on this machine');
  expect(await run(shellTask("b", "no-such-program"))).toMatchObject({
    phase: "Failed",
    message: "main: Error (exit code 127)",
  });
});

test("tasks side by side with the same output path don't meet", async () => {
  const on = executor();
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      run(
        taskSpec(
          `n${n}`,
          shell(`echo ${n} > /tmp/sluice-test-out; sleep 0.05; cat /tmp/sluice-test-out >&2`, {
            outputs: { parameters: [{ name: "o", valueFrom: { path: "/tmp/sluice-test-out" } }] },
          }),
        ),
        on,
      )),
  );
  expect(outcomes.map((outcome) => outcome.outputs?.parameters?.[0]?.value)).toEqual(
    Array.from({ length: 12 }, (_, n) => String(n)),
  );
  expect(existsSync("/tmp/sluice-test-out")).toBe(false);
});

test("a path that the program puts together itself is found too, but not an older file", async () => {
  const path = join(dir, "real");
  const template = (text: string) =>
    shell(text, { outputs: { parameters: [{ name: "o", valueFrom: { path } }] } });
  await writeFile(path, "old");
  expect(await run(taskSpec("old", template("true")))).toMatchObject({
    phase: "Error",
    message: `Cannot read output parameter "o": ${path} does not exist and there is no default`,
    outputs: { parameters: [{ name: "o", valueFrom: { path } }] },
  });
  expect(await run(taskSpec("new", template(`cd ${dir}; printf new > real`)))).toMatchObject({
    phase: "Succeeded",
    outputs: { parameters: [{ name: "o", value: "new" }] },
  });
});

test("the server's own environment stays with the server", async () => {
  process.env["SLUICE_TEST_SECRET"] = "x";
  try {
    const outcome = await run(shellTask("a", "env; echo path=$PATH"));
    expect(outcome.outputs?.result).not.toContain("SLUICE_TEST_SECRET");
    expect(outcome.outputs?.result).toContain("path=/");
  } finally {
    delete process.env["SLUICE_TEST_SECRET"];
  }
});

test("what a command leaves in the background ends with it", async () => {
  const outcome = await run(shellTask("a", "sleep 300 & echo $!"));
  const pid = Number(outcome.outputs?.result);
  await expect.poll(() => isThere(pid)).toBe(false);
});

function isThere(pid: number): boolean {
  // One that is dead and only not collected yet has no command line.
  return existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`).length > 0;
}

test("start() for a task that vanished without an exit code says so", async () => {
  const folder = join(taskDir("a"), "containers", "main");
  await mkdir(folder, { recursive: true });
  // The id of a process that lives, but isn't this task's.
  await writeFile(join(folder, "started"), `${process.pid}\n`);
  expect(await run(shellTask("a", "echo must not run"))).toMatchObject({
    phase: "Error",
    message: "main: process vanished without an exit code; was this machine restarted?",
  });
});

test("no more than maxRunning tasks run at once, and all end", async () => {
  const on = executor(2);
  const text = `n=$(ls ${dir}/live 2>/dev/null | wc -l); mkdir -p ${dir}/live; ` +
    `touch ${dir}/live/$$; sleep 0.05; rm ${dir}/live/$$; echo $n`;
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, n) => run(shellTask(`t${n}`, text), on)),
  );
  for (const outcome of outcomes) expect(Number(outcome.outputs?.result)).toBeLessThan(2);
});

/** A server that starts one task and is killed hard. */
async function startInDyingServer(task: TaskSpec): Promise<void> {
  const program = fileURLToPath(
    new URL("../../../test/support/process_server.ts", import.meta.url),
  );
  const args = [program, join(dir, "state"), JSON.stringify(task)];
  const isDeno = "Deno" in globalThis;
  const child = spawn(process.execPath, isDeno ? ["run", "-A", "--no-check", ...args] : args, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (data) => String(data).includes("task-started") && resolve());
    child.on("exit", (code) => reject(new Error(`server ended with ${code}`)));
  });
  child.removeAllListeners("exit");
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}

test("a task outlives kill -9 of its server, and is adopted, not run again", async () => {
  const task = shellTask(
    "a",
    `echo run >> ${dir}/runs; while [ ! -e ${dir}/go ]; do sleep 0.02; done; echo done; exit 3`,
  );
  await startInDyingServer(task);
  const on = executor();
  const reports = collectReports();
  await on.start(task, reports.report);
  await reports.started;
  await writeFile(join(dir, "go"), "");
  expect(await reports.ended).toMatchObject({
    phase: "Failed",
    message: "main: Error (exit code 3)",
    outputs: { result: "done", exitCode: "3" },
  });
  expect(await readFile(join(dir, "runs"), "utf8")).toBe("run\n");
  // And once more: the outcome is kept.
  expect(await run(task, executor())).toMatchObject({
    phase: "Failed",
    outputs: { result: "done" },
  });
  expect(await readFile(join(dir, "runs"), "utf8")).toBe("run\n");
});

test("a task that ended while no server was there is reported by the next", async () => {
  const task = shellTask("a", `while [ ! -e ${dir}/go ]; do sleep 0.02; done; echo done`);
  await startInDyingServer(task);
  await writeFile(join(dir, "go"), "");
  await expect.poll(() => existsSync(join(taskDir("a"), "containers", "main", "exit"))).toBe(true);
  expect(await run(task)).toMatchObject({ phase: "Succeeded", outputs: { result: "done" } });
});

test("a cancellation that a crash cut short is seen through by the next server", async () => {
  const task = shellTask("a", "trap '' TERM; echo $$; while :; do sleep 0.05; done");
  const first = executor();
  const reports = collectReports();
  await first.start(task, reports.report);
  await reports.started;
  const stdout = join(taskDir("a"), "containers", "main", "stdout");
  await expect.poll(() => existsSync(stdout) && readFileSync(stdout, "utf8")).toMatch(/^\d+\n$/);
  void first.cancel(task.id, 600);
  await expect.poll(() => existsSync(join(dir, "state", "cancelling", safeTaskName(task.id))))
    .toBe(true);
  const second = executor();
  await run(shellTask("b", "true"), second);
  await expect.poll(() => existsSync(join(dir, "state", "cancelling", safeTaskName(task.id))), {
    timeout: 5_000,
  }).toBe(false);
  // Cancelled for good: it isn't started again and reports nothing.
  const again = collectReports();
  await second.start(task, again.report);
  expect(again.facts).toEqual([]);
  expect(reports.facts.map((fact) => fact.type)).toEqual(["task-started"]);
});

test("a folder that can't be made ends a task, not those that come when it can", async () => {
  const on = executor();
  await writeFile(join(dir, "state"), "in the way");
  expect(await run(shellTask("a", "true"), on)).toMatchObject({ phase: "Error" });
  await rm(join(dir, "state"));
  expect(await run(shellTask("b", "true"), on)).toMatchObject({ phase: "Succeeded" });
});

test("env takes ConfigMaps and Secrets, and hands over names that no shell knows", async () => {
  const template = {
    container: {
      command: ["env"],
      envFrom: [{ configMapRef: { name: "cm" }, prefix: "P_" }],
      env: [
        { name: "T", valueFrom: { secretKeyRef: { name: "s", key: "token" } } },
        { name: "U", value: "$(T)/$(nope)/$$(T)" },
        { name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ],
    },
  };
  const lines = (await run(taskSpec("a", template, { includeResult: true }))).outputs?.result
    ?.split("\n");
  expect(lines).toEqual(expect.arrayContaining([
    "P_A=from map",
    "P_dotted.name=odd",
    "T=hush",
    "U=hush/$(nope)/$(T)",
    "N=wf-a",
    "ARGO_NODE_ID=a",
    "ARGO_WORKFLOW_UID=uid-1",
    "ARGO_CONTAINER_NAME=main",
  ]));
  const missing = {
    container: {
      command: ["env"],
      env: [{ name: "T", valueFrom: { secretKeyRef: { name: "s", key: "other" } } }],
    },
  };
  expect(await run(taskSpec("b", missing))).toMatchObject({
    phase: "Error",
    message:
      'Pod failed before main container starts due to CreateContainerConfigError: Secret "s" in namespace default has no key "other"',
  });
});
