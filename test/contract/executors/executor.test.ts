/** One suite for every executor that runs containers: what a task sees, and what the executor reports. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConfigSource } from "../../../src/artifacts/config_source.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Fact } from "../../../src/engine/command.ts";
import type { TaskSpec } from "../../../src/engine/effect.ts";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import { LATE } from "../../../src/executors/deadline.ts";
import { createContainerExecutor } from "../../../src/executors/local/container.ts";
import { createProcessExecutor } from "../../../src/executors/local/process.ts";
import type { LocalExecutorOptions } from "../../../src/executors/local/executor.ts";
import type { Executor, LogLine, LogQuery } from "../../../src/executors/port.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import {
  clusterMissing,
  createDeployment,
  openClusterExecutor,
  removeDeployment,
} from "../../support/cluster_executor.ts";
import { openContainerBox } from "../../support/container_box.ts";
import { collectReports, shell, shellTask, taskSpec } from "../../support/task_spec.ts";
import type { Reports } from "../../support/task_spec.ts";

const box = await openContainerBox();
afterAll(async () => {
  if ("remove" in box) await box.remove();
});

describeExecutor("process", (options) => Promise.resolve(createProcessExecutor(options)));
describeExecutor(
  "container",
  (options) =>
    createContainerExecutor({
      ...options,
      command: "command" in box ? box.command : [],
      network: "none",
      allow: ["count", "adopted", "ended"]
        .map((volume) => `hostPath=${join(options.dir, "../volumes", volume)}`).join(),
    }),
  "missing" in box ? box.missing : undefined,
);

const deployment = createDeployment();
afterAll(() => removeDeployment(deployment));
describeExecutor(
  "kubernetes",
  (options) => openClusterExecutor(options, deployment),
  clusterMissing,
);

/** @param missing why this executor can't be tested here */
function describeExecutor(
  name: string,
  open: (options: LocalExecutorOptions) => Promise<Executor>,
  missing?: string,
): void {
  const title = missing === undefined
    ? `executor ${name}`
    : `executor ${name} (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(title, () => {
    const namespace = name === "kubernetes" ? deployment.namespace : "default";
    let dir = "";
    let executor: Executor;
    let options: LocalExecutorOptions;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), `sluice-${name}-`));
      const config: ConfigSource = {
        configMap: (_ns, map) =>
          Promise.resolve(map === "cm" ? { "a.txt": "from map" } : undefined),
        secret: () => Promise.resolve(undefined),
      };
      const repository = { type: "folder" as const, path: join(dir, "artifacts") };
      options = {
        dir: join(dir, "state"),
        clock: systemClock,
        config,
        artifacts: createArtifactStore({ repository, config }),
      };
      executor = await open(options);
    });
    afterAll(async () => {
      await executor.close();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    });

    async function run(task: TaskSpec) {
      const reports = collectReports();
      await executor.start(task, reports.report);
      return { outcome: await reports.ended, facts: told(reports) };
    }

    /** The reports, except reasons for waiting. */
    function told({ facts }: Reports): Fact[] {
      return facts.filter((fact) => fact.type !== "task-pending");
    }

    /** A volume that outlives its task and is shared with this test. */
    async function hostVolume(volume: string): Promise<JsonObject> {
      const path = join(dir, "volumes", volume);
      await mkdir(path, { recursive: true });
      return { name: volume, hostPath: { path } };
    }

    async function lines(task: TaskSpec, more: Partial<LogQuery> = {}): Promise<LogLine[]> {
      const query = {
        container: "main",
        follow: false,
        signal: new AbortController().signal,
        ...more,
      };
      const read: LogLine[] = [];
      for await (const line of executor.logs(task, query)) read.push(line);
      return read;
    }

    test("exit 0 succeeds with result and exit code", async () => {
      const { outcome, facts } = await run(shellTask("ok", "printf 'a\\nb\\n\\n'; echo no >&2"));
      expect(outcome).toMatchObject({
        phase: "Succeeded",
        outputs: { result: "a\nb\n", exitCode: "0" },
        resourcesDuration: { cpu: 0, memory: expect.any(Number) },
      });
      expect(outcome.message).toBeUndefined();
      expect(facts.map((fact) => fact.type)).toEqual(["task-started", "task-ended"]);
    });

    test("another exit code fails with the reference's message and keeps the outputs", async () => {
      const template = shell("echo part; echo v > /tmp/o; exit 3", {
        outputs: { parameters: [{ name: "o", valueFrom: { path: "/tmp/o" }, globalName: "g" }] },
      });
      const { outcome } = await run(taskSpec("exit3", template, { includeResult: true }));
      expect(outcome).toMatchObject({
        phase: "Failed",
        message: "main: Error (exit code 3)",
        outputs: {
          result: "part",
          exitCode: "3",
          parameters: [{ name: "o", value: "v", valueFrom: { path: "/tmp/o" }, globalName: "g" }],
        },
      });
    });

    test("a signal's exit code is 128 and its number", async () => {
      // A container's first process can't be killed from inside; the cluster does not touch a script's text.
      const source = "sh -c 'kill -9 $$'; exit $?";
      const script = { image: "localhost/box:1", command: ["/bin/sh"], source };
      expect((await run(taskSpec("kill", { script }))).outcome.message).toBe(
        "main: Error (exit code 137)",
      );
    });

    test("the result is not kept unless it is wanted", async () => {
      const { outcome } = await run(taskSpec("quiet", shell("echo hi")));
      expect(outcome.outputs).toEqual({ exitCode: "0" });
    });

    test("a long result is cut to its last 256 kB, at a character", async () => {
      const text = "i=0; while [ $i -lt 3000 ]; do printf '%0100d\\303\\274' $i; i=$((i+1)); done";
      const result = (await run(shellTask("long", text))).outcome.outputs?.result ?? "";
      expect(Buffer.byteLength(result)).toBeLessThanOrEqual(256 * 1024);
      expect(Buffer.byteLength(result)).toBeGreaterThan(256 * 1024 - 4);
      expect(result.endsWith("2999ü")).toBe(true);
      expect(result).not.toContain("\ufffd");
    });

    test("a missing output parameter takes its default, or is an error", async () => {
      const parameter = (
        more: object,
      ) => [{ name: "o", valueFrom: { path: "/tmp/none", ...more } }];
      const defaulted = shell("true", { outputs: { parameters: parameter({ default: "d\n" }) } });
      expect((await run(taskSpec("default", defaulted))).outcome).toMatchObject({
        phase: "Succeeded",
        outputs: { parameters: [{ name: "o", value: "d" }] },
      });
      const missing = shell("true", { outputs: { parameters: parameter({}) } });
      expect((await run(taskSpec("missing", missing))).outcome).toMatchObject({
        phase: "Error",
        message:
          'Cannot read output parameter "o": /tmp/none does not exist and there is no default',
      });
      const failed = shell("exit 2", { outputs: { parameters: parameter({}) } });
      expect((await run(taskSpec("both", failed))).outcome).toMatchObject({
        phase: "Failed",
        message: "main: Error (exit code 2)",
      });
    });

    test("a script gets its source as the last argument", async () => {
      const script = {
        image: "localhost/box:1",
        command: ["/bin/sh", "-e"],
        source: 'echo "it\'s $0" | tail -c 7\n',
      };
      const { outcome } = await run(taskSpec("script", { script }, { includeResult: true }));
      expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "script" } });
    });

    test("environment, working folder and volumes are there", async () => {
      const template = {
        container: {
          image: "localhost/box:1",
          command: ["/bin/sh", "-c"],
          args: [
            'echo "$A:$B:$ARGO_POD_NAME"; cd sub 2>/dev/null; pwd; cat /etc/cm/a.txt; echo x > /data/x; ls /data',
          ],
          env: [{ name: "A", value: "1" }, { name: "B", value: "$(A)2" }],
          workingDir: "/data",
          volumeMounts: [
            { name: "data", mountPath: "/data" },
            { name: "cm", mountPath: "/etc/cm" },
          ],
        },
        volumes: [{ name: "data", emptyDir: {} }, { name: "cm", configMap: { name: "cm" } }],
      };
      const { outcome } = await run(taskSpec("env", template, { includeResult: true }));
      const [vars, cwd, rest] = outcome.outputs?.result?.split("\n") ?? [];
      expect(vars).toBe("1:12:wf-env");
      expect(cwd).toMatch(/data$/);
      expect(rest).toBe("from mapx");
    });

    test("a working folder that the image does not have is made", async () => {
      const template = shell("echo made > out.txt", {
        outputs: { parameters: [{ name: "p", valueFrom: { path: "/no/such/out.txt" } }] },
      });
      template.container = { ...template.container, workingDir: "/no/such" };
      const { outcome } = await run(taskSpec("workdir", template));
      expect(outcome.outputs?.parameters).toMatchObject([{ value: "made" }]);
    });

    test("a volume that isn't defined is an error before anything runs", async () => {
      const template = shell("true");
      template.container = {
        ...template.container,
        volumeMounts: [{ name: "v", mountPath: "/v" }],
      };
      expect((await run(taskSpec("novolume", template))).outcome).toMatchObject({
        phase: "Error",
        message: expect.stringMatching(/volume "v" is mounted but not defined|Not found: "v"/),
      });
    });

    test("init containers run before, sidecars beside, and both share volumes", async () => {
      const mounts = { volumeMounts: [{ name: "v", mountPath: "/shared" }] };
      const box = (name: string, text: string) => ({
        name,
        image: "localhost/box:1",
        command: ["/bin/sh", "-c", text],
        ...mounts,
      });
      const template = {
        initContainers: [box("one", "echo 1 >> /shared/f"), box("two", "echo 2 >> /shared/f")],
        container: box("main", "while [ ! -e /shared/ready ]; do sleep 0.02; done; cat /shared/f"),
        sidecars: [box("side", "touch /shared/ready; trap exit TERM; sleep 300 & wait")],
        volumes: [{ name: "v", emptyDir: {} }],
      };
      const { outcome } = await run(taskSpec("side", template, { includeResult: true }));
      expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "1\n2" } });
    });

    test("containers that mirror the mounts of the main one have its input artifacts", async () => {
      const box = (name: string, text: string, mirrorVolumeMounts = true) => ({
        name,
        image: "localhost/box:1",
        command: ["/bin/sh", "-c", text],
        mirrorVolumeMounts,
      });
      const template = {
        inputs: { artifacts: [{ name: "i", path: "/in/given", raw: { data: "given" } }] },
        initContainers: [
          box("one", "cat /in/given > /shared/one"),
          box("none", "test ! -e /in/given", false),
        ],
        container: {
          ...box("main", "while [ ! -e /shared/side ]; do sleep 0.02; done; cat /shared/*"),
          volumeMounts: [{ name: "v", mountPath: "/shared" }],
        },
        sidecars: [
          box("side", "cp /in/given /shared/side; trap exit TERM; sleep 300 & wait"),
        ],
        volumes: [{ name: "v", emptyDir: {} }],
      };
      const { outcome } = await run(taskSpec("mirror", template, { includeResult: true }));
      expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "givengiven" } });
    });

    test("a sidecar's command runs once, also when it ends before the main container", async () => {
      const mounts = { volumeMounts: [{ name: "v", mountPath: "/shared" }] };
      const box = (name: string, text: string) => ({
        name,
        image: "localhost/box:1",
        command: ["/bin/sh", "-c", text],
        ...mounts,
      });
      const template = (exit: number) => ({
        container: box("main", "sleep 2; cat /shared/f"),
        sidecars: [box("side", `echo x >> /shared/f; exit ${exit}`)],
        volumes: [{ name: "v", emptyDir: {} }],
      });
      const { outcome } = await run(taskSpec("once", template(0), { includeResult: true }));
      expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "x" } });
      const failed = await run(taskSpec("fails", template(7), { includeResult: true }));
      expect(failed.outcome).toMatchObject({
        phase: "Failed",
        message: "side: Error (exit code 7)",
        outputs: { result: "x", exitCode: "0" },
      });
    });

    test("a sidecar fails the step also by how it ends when it is told to", async () => {
      const side = (text: string) => [{ ...shell(text).container, name: "side" }];
      const template = (text: string) => ({ ...shell("sleep 1"), sidecars: side(text) });
      const outcomeOf = async (id: string, text: string) =>
        (await run(taskSpec(id, template(text)))).outcome;
      expect(await outcomeOf("told-fails", "trap 'exit 9' TERM; sleep 60 & wait")).toMatchObject({
        phase: "Failed",
        message: "side: Error (exit code 9)",
        outputs: { exitCode: "0" },
      });
      expect((await outcomeOf("told", "trap 'exit 0' TERM; sleep 60 & wait")).phase).toBe(
        "Succeeded",
      );
      expect((await outcomeOf("untrapped", "sleep 60")).phase).toBe("Succeeded");
    });

    test("the log of a sidecar that failed is there", async () => {
      const template = {
        ...shell("sleep 2"),
        sidecars: [{ ...shell("echo from side; exit 7").container, name: "side" }],
      };
      const task = taskSpec("sidelog", template);
      await run(task);
      const texts: string[] = [];
      const query = { container: "side", follow: false, signal: new AbortController().signal };
      for await (const { text } of executor.logs(task, query)) texts.push(text);
      expect(texts).toEqual(["from side"]);
    });

    test("an init container that fails, fails the task, and nothing else runs", async () => {
      const template = {
        ...shell("echo never"),
        initContainers: [{
          name: "prepare",
          image: "localhost/box:1",
          command: ["/bin/sh", "-c", "exit 4"],
        }],
      };
      const { outcome, facts } = await run(taskSpec("init", template));
      expect(outcome).toMatchObject({ phase: "Failed", message: "prepare: Error (exit code 4)" });
      expect(facts.map((fact) => fact.type)).toEqual(["task-ended"]);
    });

    test("containers of a set run as their dependencies say", async () => {
      const box = (containerName: string, text: string, dependencies?: string[]) => ({
        name: containerName,
        image: "localhost/box:1",
        command: ["/bin/sh", "-c", text],
        ...(dependencies && { dependencies }),
      });
      const template = {
        volumes: [{ name: "w", emptyDir: {} }],
        containerSet: {
          volumeMounts: [{ name: "w", mountPath: "/w" }],
          containers: [
            box("a", "sleep 0.1; echo a >> /w/f"),
            box("b", "echo b >> /w/f", ["a"]),
            box("main", "cat /w/f; cp /w/f /w/out", ["b"]),
          ],
        },
        outputs: { parameters: [{ name: "o", valueFrom: { path: "/w/out" } }] },
      };
      expect((await run(taskSpec("set", template, { includeResult: true }))).outcome).toMatchObject(
        {
          phase: "Succeeded",
          outputs: { result: "a\nb", exitCode: "0", parameters: [{ name: "o", value: "a\nb" }] },
          containers: {
            a: { phase: "Succeeded", exitCode: "0" },
            b: { phase: "Succeeded" },
            main: { phase: "Succeeded" },
          },
        },
      );
    });

    test("a failed container of a set keeps its dependents from starting", async () => {
      const template = {
        containerSet: {
          containers: [member("c1", "exit 7"), member("main", "echo never", ["c1"])],
        },
      };
      const { outcome } = await run(taskSpec("setfail", template, { includeResult: true }));
      expect(outcome).toMatchObject({
        phase: "Failed",
        message: "main: Error (exit code 7)",
        containers: {
          c1: { phase: "Failed", message: "c1: Error (exit code 7): " },
          main: { phase: "Failed", message: "main: Error (exit code 7): " },
        },
      });
      expect(outcome.outputs?.result).toBeUndefined();
    });

    test("a container of a set that fails ends those beside it", async () => {
      const containers = [
        member("main", "sleep 1; exit 7"),
        member("beside", "trap 'exit 143' TERM; sleep 300 & wait"),
        member("after", "echo never", ["beside"]),
      ];
      const { outcome } = await run(taskSpec("setends", { containerSet: { containers } }));
      expect(outcome).toMatchObject({
        phase: "Failed",
        message: "main: Error (exit code 7)",
        containers: {
          main: { phase: "Failed", exitCode: "7" },
          beside: { phase: "Failed", message: "beside: Error (exit code 143): " },
          after: { phase: "Failed", message: "after: Error (exit code 143): " },
        },
      });
    });

    test("a container of a set is run again as its retry strategy says", async () => {
      const template = {
        volumes: [{ name: "w", emptyDir: {} }],
        containerSet: {
          volumeMounts: [{ name: "w", mountPath: "/w" }],
          retryStrategy: { retries: "2" },
          containers: [{
            name: "main",
            image: "localhost/box:1",
            command: ["/bin/sh", "-c", "echo try; echo x >> /w/n; [ $(wc -l < /w/n) -ge 3 ]"],
          }],
        },
      };
      const task = taskSpec("setretry", template);
      expect((await run(task)).outcome.phase).toBe("Succeeded");
      expect((await lines(task)).map((line) => line.text)).toEqual(["try", "try", "try"]);
    });

    test("the deadline ends a task, also one that is over when it starts", async () => {
      const task = shellTask("deadline", "sleep 300", { deadline: Date.now() + 300 });
      expect((await run(task)).outcome).toEqual(LATE);
      const late = shellTask("late", "sleep 300", { deadline: Date.now() - 1 });
      expect((await run(late)).outcome).toEqual(LATE);
    });

    test("a cancelled task ends and reports nothing more", async () => {
      const reports = collectReports();
      const task = shellTask("cancel", "trap 'echo bye; exit 0' TERM; echo up; sleep 300 & wait");
      await executor.start(task, reports.report);
      const follow = lines(task, { follow: true });
      await expect.poll(async () => (await lines(task)).length, { timeout: 20_000 }).toBe(1);
      await executor.cancel(task.id, 10_000);
      expect((await follow).map((line) => line.text)).toEqual(["up", "bye"]);
      expect(told(reports).map((fact) => fact.type)).toEqual(["task-started"]);
      // It is read after the end too.
      expect((await lines(task)).map((line) => line.text)).toEqual(["up", "bye"]);
    });

    test("a task that ignores SIGTERM is ended hard after the grace period", async () => {
      const reports = collectReports();
      const task = shellTask("stubborn", "trap '' TERM; echo up; while :; do sleep 0.1; done");
      // The grace of a pod is its own.
      task.template.podSpecPatch = JSON.stringify({ terminationGracePeriodSeconds: 1 });
      await executor.start(task, reports.report);
      await expect.poll(async () => (await lines(task)).length, { timeout: 20_000 }).toBe(1);
      const before = Date.now();
      const follow = lines(task, { follow: true });
      await executor.cancel(task.id, 1_000);
      expect((await follow).map((line) => line.text)).toEqual(["up"]);
      expect(Date.now() - before).toBeGreaterThan(900);
    });

    test("starting twice is one start, also after the end", async () => {
      const template = shell("echo run >> /count/n; cat /count/n");
      template.container = {
        ...template.container,
        volumeMounts: [{ name: "count", mountPath: "/count" }],
      };
      const task = taskSpec("twice", template, {
        includeResult: true,
        podSpec: { volumes: [await hostVolume("count")] },
      });
      const reports = collectReports();
      await Promise.all([
        executor.start(task, reports.report),
        executor.start(task, reports.report),
      ]);
      expect((await reports.ended).outputs?.result).toBe("run");
      expect((await run(task)).outcome.outputs?.result).toBe("run");
    });

    test("a task goes on without its executor; the next one adopts it, and its end", async () => {
      const template = (go: string) => {
        const made = shell(
          `echo run >> /go/n; while [ ! -e /go/${go} ]; do sleep 0.02; done; cat /go/n`,
        );
        made.container = { ...made.container, volumeMounts: [{ name: "go", mountPath: "/go" }] };
        return made;
      };
      const claim = async (id: string) =>
        taskSpec(id, template("go"), {
          includeResult: true,
          podSpec: { volumes: [{ ...await hostVolume(id), name: "go" }] },
        });
      const [running, ended] = [await claim("adopted"), await claim("ended")];
      const first = await open(options);
      const before = [collectReports(), collectReports()];
      for (const [index, task] of [running, ended].entries()) {
        await first.start(task, before[index]?.report ?? (() => {}));
      }
      await Promise.all(before.map((reports) => reports.started));
      await first.close();
      await writeFile(join(dir, "volumes/ended/go"), "");
      const next = await open(options);
      const after = collectReports();
      await next.start(running, after.report);
      await after.started;
      await writeFile(join(dir, "volumes/adopted/go"), "");
      expect((await after.ended).outputs).toEqual({ result: "run", exitCode: "0" });
      const late = collectReports();
      await next.start(ended, late.report);
      expect((await late.ended).outputs).toEqual({ result: "run", exitCode: "0" });
      for (const reports of before) {
        expect(told(reports).map((fact) => fact.type)).toEqual(["task-started"]);
      }
      await next.close();
    });

    test("two executors that watch one task tell the same end", async () => {
      const task = shellTask("shared", "sleep 0.5; echo done; exit 2");
      const other = await open(options);
      const both = [collectReports(), collectReports()];
      await executor.start(task, both[0]?.report ?? (() => {}));
      await both[0]?.started;
      await other.start(task, both[1]?.report ?? (() => {}));
      for (const { ended } of both) {
        expect(await ended).toMatchObject({
          phase: "Failed",
          message: "main: Error (exit code 2)",
          outputs: { result: "done", exitCode: "2" },
        });
      }
      await other.close();
    });

    test("logs are followed while a task runs, and kept after it", async () => {
      const text = "echo one; echo err >&2; sleep 0.7; echo two; printf end";
      const task = shellTask("logs", text);
      const reports = collectReports();
      const before = Date.now();
      await executor.start(task, reports.report);
      const followed = await lines(task, { follow: true });
      expect(followed.map((line) => line.text).sort()).toEqual(["end", "err", "one", "two"]);
      expect(followed.at(-1)?.text).toBe("end");
      await reports.ended;
      const kept = await lines(task);
      expect(kept.map((line) => line.text).sort()).toEqual(["end", "err", "one", "two"]);
      for (const line of kept) expect(line.at).toBeGreaterThan(before - 1_000);
      const [first, last] = [kept[0]?.at ?? 0, kept.at(-1)?.at ?? 0];
      expect(last - first).toBeGreaterThan(100);
      expect((await lines(task, { tailLines: 1 })).map((line) => line.text)).toEqual(["end"]);
      expect((await lines(task, { sinceMs: last })).map((line) => line.text)).toContain("end");
      expect(await lines(task, { sinceMs: last + 60_000 })).toEqual([]);
    });

    test("progress written to its file is reported", async () => {
      const text =
        'echo 1/4 > "$ARGO_PROGRESS_FILE"; sleep 1.2; echo 4/4 > "$ARGO_PROGRESS_FILE"; sleep 1.2';
      const { facts } = await run(shellTask("progress", text));
      const reported = facts.flatMap((fact) =>
        fact.type === "task-progress" ? [fact.progress] : []
      );
      expect(reported).toEqual(["1/4", "4/4"]);
    });

    test("a daemon is ready once started, and runs until it is cancelled", async () => {
      const task = taskSpec("daemon", shell("echo up; sleep 300", { daemon: true }));
      const reports = collectReports();
      await executor.start(task, reports.report);
      await expect.poll(() => told(reports).at(-1), { timeout: 20_000 }).toMatchObject({
        type: "task-started",
        ready: true,
        podIP: expect.any(String),
      });
      await executor.cancel(task.id, 0);
    });

    test("artifacts go from one task to the next: file, folder, plain and packed", async () => {
      const made = shell(
        "mkdir -p /out/d/e; echo f > /out/d/e/f; echo plain > /out/p; chmod 755 /out/p",
        {
          outputs: {
            artifacts: [
              { name: "folder", path: "/out/d" },
              { name: "file", path: "/out/p" },
              { name: "plain", path: "/out/p", archive: { none: {} } },
              { name: "maybe", path: "/out/none", optional: true },
            ],
          },
        },
      );
      const { outcome } = await run(taskSpec("make", made));
      expect(outcome).toMatchObject({
        phase: "Succeeded",
        outputs: {
          artifacts: [
            { name: "folder", path: "/out/d", s3: { key: `${namespace}/wf/wf-make/folder.tgz` } },
            { name: "file", s3: { key: `${namespace}/wf/wf-make/file.tgz` } },
            { name: "plain", s3: { key: `${namespace}/wf/wf-make/p` } },
          ],
        },
      });
      const given = new Map(outcome.outputs?.artifacts?.map((made) => [made.name, made]));
      const used = shell("cat /in/d/e/f /in/file /in/plain /in/raw; ls -l /in/file | cut -c1-10", {
        inputs: {
          artifacts: [
            { ...given.get("folder"), name: "folder", path: "/in/d" },
            { ...given.get("file"), name: "file", path: "/in/file" },
            { ...given.get("plain"), name: "plain", path: "/in/plain", mode: 0o600 },
            { name: "raw", path: "/in/raw", raw: { data: "raw\n" } },
            { name: "none", path: "/in/none", optional: true, s3: { key: `${namespace}/nowhere` } },
          ],
        },
      });
      const next = await run(taskSpec("use", used, { includeResult: true }));
      expect(next.outcome).toMatchObject({ phase: "Succeeded" });
      expect(next.outcome.outputs?.result).toBe("f\nplain\nplain\nraw\n-rwxr-xr-x");
    });

    test("a path without a slash in front begins where the command begins", async () => {
      const used = shell("cat in.txt sub/in.txt /in.txt; echo made > made.txt", {
        inputs: {
          artifacts: [
            { name: "a", path: "in.txt", raw: { data: "0\n" } },
            { name: "b", path: "./sub/in.txt", raw: { data: "1\n" } },
          ],
        },
        outputs: { artifacts: [{ name: "made", path: "made.txt", archive: { none: {} } }] },
      });
      const { outcome } = await run(taskSpec("relative", used, { includeResult: true }));
      expect(outcome).toMatchObject({
        phase: "Succeeded",
        outputs: { result: "0\n1\n0", artifacts: [{ name: "made" }] },
      });
    });

    test("an artifact inside the folder of a later one is kept", async () => {
      const made = shell("mkdir -p /out/d; echo f > /out/d/f; echo old > /out/d/g", {
        outputs: { artifacts: [{ name: "d", path: "/out/d" }] },
      });
      const { outcome } = await run(taskSpec("outer", made));
      const used = shell("cat /in/d/f /in/d/g /in/d/e/h", {
        inputs: {
          artifacts: [
            { name: "g", path: "/in/d/g", raw: { data: "g\n" } },
            { name: "h", path: "/in/d/e/h", raw: { data: "h\n" } },
            { ...outcome.outputs?.artifacts?.[0], name: "d", path: "/in/d" },
          ],
        },
      });
      const next = await run(taskSpec("inner", used, { includeResult: true }));
      expect(next.outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "f\ng\nh" } });
    });

    test("a missing artifact is an error, as output and as input", async () => {
      const out = shell("true", { outputs: { artifacts: [{ name: "a", path: "/out/none" }] } });
      expect((await run(taskSpec("noout", out))).outcome).toMatchObject({
        phase: "Error",
        message: 'Cannot save output artifact "a": /out/none no such file or directory',
      });
      const into = shell("true", {
        inputs: { artifacts: [{ name: "a", path: "/in/a", s3: { key: `${namespace}/nowhere` } }] },
      });
      expect((await run(taskSpec("noin", into))).outcome).toMatchObject({
        phase: "Error",
        message: expect.stringMatching(/nput artifact.* does not exist in its repository$/),
      });
    });

    test("logs are archived where it is asked for", async () => {
      const task = taskSpec("archive", shell("echo hello"), { archiveLogs: true });
      expect((await run(task)).outcome.outputs?.artifacts).toEqual([
        { name: "main-logs", s3: { key: `${namespace}/wf/wf-archive/main.log` } },
      ]);
    });

    test("clean() removes what is left, and logs say so", async () => {
      const task = shellTask("clean", "echo hi");
      await run(task);
      expect(await lines(task)).toHaveLength(1);
      await executor.clean([task.id]);
      await expect(lines(task)).rejects.toThrow("are not kept any more");
    });

    test("a template that isn't a container is refused by name", () => {
      expect(executor.refuses(taskSpec("http", { http: { url: "http://x" } }))).toContain(name);
      expect(executor.refuses(shellTask("sh", "true"))).toBeUndefined();
    });
  });
}

/** A container of a set. */
function member(containerName: string, text: string, dependencies: string[] = []) {
  return {
    name: containerName,
    image: "localhost/box:1",
    command: ["/bin/sh", "-c", text],
    dependencies,
  };
}
