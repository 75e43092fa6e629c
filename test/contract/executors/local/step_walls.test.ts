/**
 * Steps made to harm, on both executors of one machine: through what they leave, ask for and bring along, nothing
 * outside their folders is read or written. A process may do what the server's user may, so for processes only the
 * server's own accesses count.
 */
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { BlobReader, configure, TextWriter, ZipReader } from "@zip.js/zip.js";
import { unpackTar } from "modern-tar";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import type { ArtifactStore } from "../../../../src/artifacts/port.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { TaskOutcome } from "../../../../src/engine/command.ts";
import type { TaskSpec } from "../../../../src/engine/effect.ts";
import { createContainerExecutor } from "../../../../src/executors/local/container.ts";
import type { LocalExecutorOptions } from "../../../../src/executors/local/executor.ts";
import type { Executor } from "../../../../src/executors/port.ts";
import { createProcessExecutor } from "../../../../src/executors/local/process.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { Template } from "../../../../src/spec/manifest.ts";
import { openContainerBox } from "../../../support/container_box.ts";
import { collectReports, taskSpec } from "../../../support/task_spec.ts";

const SECRET = "what-only-the-host-may-know";
const IMAGE = "localhost/box:1";
configure({ useWebWorkers: false });

const box = await openContainerBox();
afterAll(async () => {
  if ("remove" in box) await box.remove();
});

let dir = "";
let outside = "";
let options: LocalExecutorOptions;
let artifacts: ArtifactStore;
let serial = 0;

async function prepare(name: string): Promise<void> {
  dir = await mkdtemp(join(tmpdir(), `sluice-walls-${name}-`));
  outside = join(dir, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "secret"), SECRET);
  const config = {
    configMap: () => Promise.resolve({ "a.txt": "from map" }),
    secret: () => Promise.resolve(undefined),
  };
  const repository = { type: "folder" as const, path: join(dir, "artifacts") };
  artifacts = createArtifactStore({ repository, keys: "shared", config });
  options = { dir: join(dir, "state"), clock: systemClock, config, artifacts };
}

/** A template around a shell script; `/out` is a volume of the task. */
function step(text: string, more: Template = {}): Template {
  return {
    container: {
      image: IMAGE,
      command: ["/bin/sh", "-c", text],
      volumeMounts: [{ name: "out", mountPath: "/out" }],
      ...more.container,
    },
    volumes: [{ name: "out", emptyDir: {} }],
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "container")),
  };
}

async function run(
  executor: Executor,
  template: Template,
  more: Partial<TaskSpec> = {},
): Promise<TaskOutcome> {
  const reports = collectReports();
  await executor.start(taskSpec(`t${++serial}`, template, more), reports.report);
  return await reports.ended;
}

/** Expects that everything outside is unchanged. */
async function expectUntouched(): Promise<void> {
  expect(await readdir(outside)).toEqual(["secret"]);
  expect(await readFile(join(outside, "secret"), "utf8")).toBe(SECRET);
}

/** The contents of everything stored, unpacked. */
async function storedTexts(prefix: string): Promise<string> {
  const texts: string[] = [];
  const scope = { namespace: "default" };
  for (const key of await artifacts.list({ name: "a", s3: { key: prefix } }, scope)) {
    const found = await artifacts.open({ name: "a", s3: { key } }, scope);
    const bytes = await buffer(found?.body ?? Readable.from([]));
    texts.push(key);
    if (key.endsWith(".tgz")) {
      const whole = await buffer(Readable.from([bytes]).pipe(createGunzip()));
      for (const { data } of await unpackTar(new Uint8Array(whole))) {
        texts.push(Buffer.from(data ?? []).toString());
      }
    } else if (key.endsWith(".zip")) {
      const reader = new ZipReader(new BlobReader(new Blob([new Uint8Array(bytes)])));
      for (const entry of await reader.getEntries()) {
        if (!entry.directory) texts.push(await entry.getData(new TextWriter()));
      }
    } else texts.push(bytes.toString());
  }
  return texts.join("\n");
}

const SETUPS: [name: string, open: () => Promise<Executor>, missing: string | undefined][] = [
  ["process", () => Promise.resolve(createProcessExecutor(options)), undefined],
  [
    "container",
    () => createContainerExecutor({ ...options, command: ["podman"], network: "none" }),
    "missing" in box ? box.missing : undefined,
  ],
];

describe.each(SETUPS)("executor %s", (name, open, missing) => {
  describe.skipIf(missing !== undefined)(
    missing === undefined ? "here" : `(skipped: ${missing})`,
    () => {
      let executor: Executor;
      beforeAll(async () => {
        await prepare(name);
        executor = await open();
      });
      afterAll(async () => {
        await executor.close();
        // Processes write to the real folders.
        const left = ["v", "w", "r", "h"].map((letter) => `/tmp/sluice-${letter}`);
        for (const path of [...left, dir]) {
          await rm(path, { recursive: true, force: true, maxRetries: 5 });
        }
      });

      /** What a step leaves behind, and the path that is read. `S` is the folder outside. */
      const LEFT: [what: string, text: string, path: string][] = [
        ["an absolute link", "ln -s S/secret /out/p", "/out/p"],
        [
          "a relative link",
          `ln -s ${"../".repeat(20)}.S/secret /out/p`.replace("/.S", "S"),
          "/out/p",
        ],
        ["a link to a folder", "ln -s S /out/p", "/out/p/secret"],
        ["a chain of links", "ln -s q /out/p; ln -s S /out/q", "/out/p/secret"],
        ["a link in the middle", "mkdir /out/d; ln -s S /out/d/p", "/out/d/p/secret"],
        ["a link to itself", "ln -s p /out/p", "/out/p"],
        ["two links in a ring", "ln -s q /out/p; ln -s p /out/q", "/out/p"],
        [
          "a link outside of volumes",
          "mkdir -p /tmp/sluice-w; ln -sfn S/secret /tmp/sluice-w/p",
          "/tmp/sluice-w/p",
        ],
        [
          "a folder link outside of volumes",
          "mkdir -p /tmp/sluice-v; ln -sfn S /tmp/sluice-v/p",
          "/tmp/sluice-v/p/secret",
        ],
        ["a pipe", "mkfifo /out/p", "/out/p"],
        ["a huge sparse file", "truncate -s 20G /out/p", "/out/p"],
        [
          "a huge sparse file elsewhere",
          "truncate -s 20G /tmp/sluice-h",
          "/tmp/sluice-h",
        ],
      ];

      test.each(LEFT)("a parameter is not read through %s", async (_, text, path) => {
        const parameters = [{ name: "o", valueFrom: { path } }];
        const outcome = await run(
          executor,
          step(text.replaceAll("S", outside), { outputs: { parameters } }),
        );
        expect(outcome.phase).toBe("Error");
        expect(outcome.message).toMatch(/^Cannot read output parameter "o": /);
        expect(JSON.stringify(outcome)).not.toContain(SECRET);
      });

      test.each(LEFT)("an artifact is not read through %s", async (_, text, path) => {
        const kinds: [string, object][] = [["z", { zip: {} }], ["t", { tar: {} }], ["n", {
          none: {},
        }]];
        const key = `left-${++serial}`;
        const outputs = {
          artifacts: kinds.map(([kind, archive]) => ({
            name: kind,
            path,
            archive,
            s3: { key: `${key}/${kind}.${{ z: "zip", t: "tgz", n: "txt" }[kind]}` },
          })),
        };
        const outcome = await run(executor, step(text.replaceAll("S", outside), { outputs }));
        expect(outcome.phase).toBe("Error");
        expect(await storedTexts(key)).toBe("");
      });

      test.each(LEFT.slice(0, 9))(
        "a folder is stored without what %s leads to",
        async (_, text, path) => {
          const folder = path.split("/").slice(0, path.includes("/out/") ? 2 : 3).join("/");
          const key = `folder-${++serial}`;
          const outputs = {
            artifacts: [
              { name: "z", path: folder, archive: { zip: {} }, s3: { key: `${key}/z.zip` } },
              { name: "t", path: folder, s3: { key: `${key}/t.tgz` } },
              { name: "n", path: folder, archive: { none: {} }, s3: { key: `${key}/n` } },
            ],
          };
          const script = `${text.replaceAll("S", outside)}; echo honest > ${folder}/f`;
          const outcome = await run(executor, step(script, { outputs }));
          expect(outcome).toMatchObject({ phase: "Succeeded" });
          const texts = await storedTexts(key);
          expect(texts).toContain("honest");
          expect(texts).not.toContain(SECRET);
        },
      );

      test("links that stay inside are followed as the step would", async () => {
        const text =
          "mkdir -p /out/v1 /tmp/sluice-r/v; echo right > /out/v1/f; ln -s v1 /out/latest; ln -s /out/latest/f /out/abs; echo right > /tmp/sluice-r/v/f; ln -sfn /tmp/sluice-r/v /tmp/sluice-r/l";
        const paths = ["/out/latest/f", "/out/abs", "/tmp/sluice-r/l/f"];
        const parameters = paths.map((path, index) => ({ name: `p${index}`, valueFrom: { path } }));
        const outcome = await run(executor, step(text, { outputs: { parameters } }));
        expect(outcome.outputs?.parameters?.map(({ value }) => value)).toEqual(
          paths.map(() => "right"),
        );
      });

      test("a path that goes up ends at the container's own root", async () => {
        for (
          const path of ["/../../etc/hostname-none", `${"/..".repeat(20)}/out/p`, "/out/../out/p"]
        ) {
          const parameters = [{ name: "o", valueFrom: { path, default: "none" } }];
          const outcome = await run(
            executor,
            step("echo mine > /out/p", { outputs: { parameters } }),
          );
          expect(outcome.outputs?.parameters?.[0]?.value).toBe(
            path.endsWith("p") ? "mine" : "none",
          );
        }
      });

      /** Paths of an input artifact; `S` is the folder outside, without its first slash. */
      test.each([
        [`/${"../".repeat(20)}S/new`],
        [`${"../".repeat(20)}S/new`],
        [`/in/${"../".repeat(20)}S/new`],
        [`/out/${"../".repeat(20)}S/new`],
        [`./${"../".repeat(20)}S/new`],
        [`/in/./.${"./..".repeat(20)}/S/new`],
      ])("an input with the path %s stays in its place", async (path) => {
        const at = path.replaceAll("S", outside.slice(1));
        const inputs = { artifacts: [{ name: "i", path: at, raw: { data: "written" } }] };
        await run(executor, step("true", { inputs }));
        await expectUntouched();
      });

      test.each([["/in/a\0b"], ["/in/a\nb"], ["/"], [`/in/${"n".repeat(300)}`], [
        `/${"d/".repeat(3_000)}f`,
      ]])(
        "an input with the path %j is an error, and names no path of the server",
        async (path) => {
          const inputs = { artifacts: [{ name: "i", path, raw: { data: "written" } }] };
          const outcome = await run(executor, step("true", { inputs }));
          expect(outcome.phase).toBe("Error");
          expect(outcome.message).not.toContain(options.dir);
        },
      );

      /** A claim that a step has filled. */
      async function claimWith(claim: string, text: string): Promise<object[]> {
        const volumes = [{ name: "c", persistentVolumeClaim: { claimName: claim } }];
        await run(executor, {
          container: {
            image: IMAGE,
            command: ["/bin/sh", "-c", text.replaceAll("S", outside)],
            volumeMounts: [{ name: "c", mountPath: "/c" }],
          },
          volumes: volumes as JsonObject[],
        });
        return volumes;
      }

      test.each([
        ["ln -s S /c/l", "/c/l/new"],
        ["ln -s S /c/l", "/c/l/secret"],
        ["ln -s S/secret /c/l", "/c/l"],
        ["ln -s S/new /c/l", "/c/l"],
        ["ln -s m /c/l; ln -s S /c/m", "/c/l/new"],
        ["mkdir /c/d; ln -s S /c/d/l", "/c/d/l/new"],
      ])("an input doesn't go through links in a claim: %s, %s", async (text, path) => {
        const volumes = await claimWith(`claim-${++serial}`, text);
        const inputs = { artifacts: [{ name: "i", path, raw: { data: "written" }, mode: 0o777 }] };
        await run(executor, {
          container: {
            image: IMAGE,
            command: ["/bin/sh", "-c", "true"],
            volumeMounts: [{ name: "c", mountPath: "/c" }],
          },
          volumes: volumes as JsonObject[],
          inputs,
        });
        await expectUntouched();
      });

      test.each([["l"], ["l/deep"], ["../c/l"], [".."], ["/S"]])(
        "a subPath %s doesn't lead out of its volume",
        async (subPath) => {
          const volumes = await claimWith(`claim-${++serial}`, "ln -s S /c/l");
          const outcome = await run(executor, {
            container: {
              image: IMAGE,
              command: ["/bin/sh", "-c", "echo x > /m/new; cat /m/secret"],
              volumeMounts: [{
                name: "c",
                mountPath: "/m",
                subPath: subPath.replace("S", outside),
              }],
            },
            volumes: volumes as JsonObject[],
          }, { includeResult: true });
          expect(outcome.phase).toBe("Error");
          expect(JSON.stringify(outcome)).not.toContain(SECRET);
          await expectUntouched();
        },
      );

      test("an entry of a ConfigMap stays in its volume", async () => {
        const path = `${"../".repeat(20)}${outside.slice(1)}/new`;
        const volumes = [{
          name: "cm",
          configMap: { name: "cm", items: [{ key: "a.txt", path }] },
        }];
        const outcome = await run(executor, {
          container: {
            image: IMAGE,
            command: ["/bin/sh", "-c", "true"],
            volumeMounts: [{ name: "cm", mountPath: "/cm" }],
          },
          volumes,
        });
        expect(outcome.phase).toMatch(/Succeeded|Error/);
        await expectUntouched();
      });

      test("a server that finds a running step writes its volumes again, but through no link of the step's", async () => {
        const text = `rm /cm/a.txt; ln -s ${outside}/secret /cm/a.txt; sleep 4`;
        const task = taskSpec(`again${++serial}`, {
          container: {
            image: IMAGE,
            command: ["/bin/sh", "-c", text],
            volumeMounts: [{ name: "cm", mountPath: "/cm" }],
          },
          volumes: [{ name: "cm", configMap: { name: "cm" } }],
        });
        const first = await open();
        const before = collectReports();
        await first.start(task, before.report);
        await before.started;
        const tasks = join(options.dir, "tasks");
        const folder = (await readdir(tasks)).find((entry) => entry.includes(`again${serial}`)) ??
          "";
        const file = join(tasks, folder, "volumes/cm/a.txt");
        await expect.poll(() => lstat(file).then((found) => found.isSymbolicLink(), () => false), {
          timeout: 20_000,
        }).toBe(true);
        await first.close();
        const next = await open();
        const after = collectReports();
        await next.start(task, after.report);
        expect((await after.ended).phase).toBe("Succeeded");
        await next.close();
        await expectUntouched();
      });

      test("claims and folders are removed with their links, not with what those lead to", async () => {
        const podSpec = { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] };
        const text =
          `ln -s ${outside} /d/l; mkdir /d/e; ln -s ${outside} /d/e/l; ln -s ${outside} /out/l`;
        const task = taskSpec(`gone${++serial}`, {
          container: {
            image: IMAGE,
            command: ["/bin/sh", "-c", text],
            volumeMounts: [{ name: "data", mountPath: "/d" }, { name: "out", mountPath: "/out" }],
          },
          volumes: [{ name: "out", emptyDir: {} }],
        }, { podSpec: podSpec as never });
        const reports = collectReports();
        await executor.start(task, reports.report);
        expect(await reports.ended).toMatchObject({ phase: "Succeeded" });
        await executor.clean([task.id]);
        const { namespace, workflow, workflowUid } = task;
        await executor.removeClaims?.({ namespace, workflow, workflowUid, names: ["data"] });
        expect(await readdir(join(options.dir, "claims/default"))).not.toContain("wf-data");
        await expectUntouched();
      });
    },
  );
});

describe.skipIf("missing" in box)("what reaches the client of the containers", () => {
  let executor: Executor;
  beforeAll(async () => {
    await prepare("client");
    process.env["SLUICE_WALLS_SECRET"] = SECRET;
    process.env["HTTP_PROXY"] = `http://user:${SECRET}@127.0.0.1:1`;
    executor = await createContainerExecutor({ ...options, command: ["podman"], network: "none" });
  });
  afterAll(async () => {
    delete process.env["SLUICE_WALLS_SECRET"];
    delete process.env["HTTP_PROXY"];
    await executor.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  });

  const withEnv = (env: Record<string, string>, text: string, more: Template = {}) =>
    step(text, {
      ...more,
      container: {
        image: IMAGE,
        command: ["/bin/sh", "-c", text],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      },
    });

  test("a PATH that leads into a claim runs nothing on the host", async () => {
    const claim = join(options.dir, "claims/default/evil");
    await mkdir(claim, { recursive: true });
    for (const program of ["podman", "runc", "crun", "conmon", "netavark", "fuse-overlayfs"]) {
      await writeFile(join(claim, program), `#!/bin/sh\n/usr/bin/touch ${outside}/pwned\n`);
      await chmod(join(claim, program), 0o755);
    }
    const outcome = await run(executor, withEnv({ PATH: claim }, 'echo "$PATH"'), {
      includeResult: true,
    });
    expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: claim } });
    await expectUntouched();
  });

  test.each([
    ["PATH", "/bin"],
    ["HOME", "/nowhere"],
    ["LD_PRELOAD", "/nowhere.so"],
    ["XDG_RUNTIME_DIR", "/nowhere"],
    ["CONTAINERS_CONF", "/nowhere"],
    ["CONTAINERS_STORAGE_CONF", "/nowhere"],
    ["CONTAINER_HOST", "tcp://127.0.0.1:1"],
    ["DOCKER_HOST", "tcp://127.0.0.1:1"],
    ["TMPDIR", "/nowhere"],
    ["NOTIFY_SOCKET", "/nowhere"],
    ["GODEBUG", "x"],
  ])("a variable %s is the container's only", async (name, value) => {
    const outcome = await run(executor, withEnv({ [name]: value }, `echo "$${name}"`), {
      includeResult: true,
    });
    expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: value } });
  });

  test("all values arrive as they are", async () => {
    const values: Record<string, string> = {
      LINES: "a\nb\n\nc\n",
      RETURN: "a\rb\r",
      BLANKS: "  lead and trail \t",
      QUOTES: `"it's"`,
      HASH: "# no comment",
      EQUALS: "=a=b=",
      STAR: "*",
      EMPTY: "",
      UMLAUT: "ü€𝄞\u2028x",
      DOLLAR: "$HOME `x` $$(HOME) \\n",
      JSON_TEXT: '{"a":[1,"b"]}',
      LONG: "x".repeat(100_000),
      KEY: "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n",
    };
    const text = Object.keys(values).filter((name) => !name.includes("-")).map((name) =>
      `printf %s "$${name}" > /out/${name}`
    ).concat("env > /out/all").join("\n");
    const names = Object.keys(values).filter((name) => !name.includes("-"));
    const outputs = {
      parameters: [...names, "all"].map((name) => ({ name, valueFrom: { path: `/out/${name}` } })),
    };
    const template = withEnv(values, text, { outputs });
    template.container = {
      ...template.container,
      volumeMounts: [{ name: "out", mountPath: "/out" }],
    };
    const outcome = await run(executor, template);
    expect(outcome).toMatchObject({ phase: "Succeeded" });
    const got = new Map(outcome.outputs?.parameters?.map(({ name, value }) => [name, value]));
    for (const name of names) {
      // One newline at the end of a parameter is removed.
      const wanted = (values[name] ?? "").replace("$$(HOME)", "$(HOME)").replace(/\n$/, "");
      expect(got.get(name), name).toBe(wanted);
    }
    expect(got.get("all")).not.toContain(SECRET);
    const odd = withEnv({ "dash-and.dot": "odd" }, "");
    odd.container = { ...odd.container, command: ["/bin/env"] };
    const { outputs: shown } = await run(executor, odd, { includeResult: true });
    expect(shown?.result).toContain("dash-and.dot=odd");
  });

  test.each([["A B"], ["#A"], ["-A"], ["A\nB"], ['"A'], ["A*"], ["A\0"]])(
    "a variable named %j is refused",
    async (name) => {
      const outcome = await run(executor, withEnv({ [name]: "x" }, "true"));
      expect(outcome).toMatchObject({
        phase: "Error",
        message: expect.stringContaining("can't be the name of a variable"),
      });
    },
  );

  test.each([
    ["--privileged"],
    ["-v=/:/host"],
    ["--volume=/:/host"],
    ["--rootfs"],
    ["dir:/etc"],
    ["dir:x"],
    ["oci:x"],
    ["oci:8080/x"],
    ["oci-archive:/tmp/x"],
    ["docker-archive:x.tar"],
    ["containers-storage:x"],
    ["docker-daemon:x:1"],
    ["tarball:/etc/passwd"],
    ["/etc"],
    ["./x"],
    ["../x"],
    ["a b"],
    ["a\nb"],
    ["http://x/y"],
  ])("the image %j is none", async (image) => {
    const template = step("true", { container: { image, command: ["/bin/true"] } });
    expect(await run(executor, template)).toEqual({
      phase: "Error",
      message: `main: image ${JSON.stringify(image)} is not the name of an image in a registry`,
    });
  });

  test.each([
    ["/x,source=S"],
    ["/x,source=S,readonly"],
    ['/x",source=S'],
    ["/x\nsource=S"],
    ["/"],
    ["/.."],
    [""],
  ])("the mount path %j is refused", async (path) => {
    const template = step("cat /x/secret", {
      container: {
        image: IMAGE,
        command: ["/bin/sh", "-c", "cat /x/secret"],
        volumeMounts: [{ name: "out", mountPath: path.replace("S", outside) }],
      },
    });
    const outcome = await run(executor, template, { includeResult: true });
    expect(outcome.phase).toBe("Error");
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
  });

  test.each([
    ["workingDir", { workingDir: "--privileged" }],
    ["command", { command: ["--privileged", "-v"] }],
    ["pull policy", { imagePullPolicy: "constructor" }],
    ["host of an alias", {}],
  ])("a text that looks like an option stays a text: %s", async (_, more) => {
    const template = step("true", {
      container: { image: IMAGE, command: ["/bin/sh", "-c", "cat /proc/self/status"], ...more },
      hostAliases: [{ ip: "--privileged", hostnames: ["-v=/:/h"] }],
    });
    const outcome = await run(executor, template, { includeResult: true });
    expect(outcome.outputs?.result ?? "").not.toMatch(/CapEff:\s*0+[13]f+\n/);
  });

  test("a container has few capabilities, can't gain any, and knows none of the server's variables", async () => {
    const outcome = await run(executor, step("cat /proc/self/status /proc/self/environ"), {
      includeResult: true,
    });
    const result = outcome.outputs?.result ?? "";
    expect(result).toMatch(/NoNewPrivs:\s*1/);
    const effective = BigInt(`0x${/CapEff:\s*(\w+)/.exec(result)?.[1] ?? "f".repeat(16)}`);
    // CHOWN and SETUID for images of all kinds; not NET_RAW, SYS_ADMIN, MKNOD, AUDIT_WRITE.
    for (const bit of [0n, 7n]) expect(effective >> bit & 1n, String(bit)).toBe(1n);
    for (const bit of [12n, 13n, 21n, 27n, 29n]) {
      expect(effective >> bit & 1n, String(bit)).toBe(0n);
    }
    expect(result).not.toContain(SECRET);
  });

  test("a container with a read-only root writes to its volumes only, as in a cluster", async () => {
    const script =
      "for d in /tmp /var/tmp /run /scratch; do mkdir -p $d; touch $d/x && echo $d; done";
    const template = step("true", {
      container: {
        image: IMAGE,
        command: ["/bin/sh", "-c", `(${script}) 2>/dev/null || true`],
        securityContext: { readOnlyRootFilesystem: true },
        volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
      },
      volumes: [{ name: "scratch", emptyDir: {} }],
    });
    const outcome = await run(executor, template, { includeResult: true });
    expect(outcome).toMatchObject({ phase: "Succeeded", outputs: { result: "/scratch" } });
  });

  const CONTEXT = (securityContext: JsonObject): Template =>
    step("true", {
      container: {
        image: IMAGE,
        command: ["/bin/sh", "-c", "cat /proc/self/status"],
        securityContext,
      },
    });
  test.each<[string, Template, Partial<TaskSpec>]>([
    ["privileged", CONTEXT({ privileged: true }), {}],
    ["privileged", step("true"), { podSpec: { securityContext: { privileged: true } } as never }],
    ["capability=SYS_ADMIN", CONTEXT({ capabilities: { add: ["SYS_ADMIN"] } }), {}],
    ["capability=SYS_ADMIN", CONTEXT({ capabilities: { add: ["cap_sys_admin"] } }), {}],
    ["capability=ALL", CONTEXT({ capabilities: { add: ["CHOWN", "ALL"] } }), {}],
    ["capability=MKNOD", CONTEXT({ capabilities: { add: ["MKNOD"] } }), {}],
    ["capability=NET_RAW,SYS_ADMIN", CONTEXT({ capabilities: { add: ["NET_RAW,SYS_ADMIN"] } }), {}],
    ["hostNetwork", step("true"), { podSpec: { hostNetwork: true } as never }],
    ["hostPID", step("true"), { podSpec: { hostPID: true } as never }],
    ["hostIPC", step("true"), { podSpec: { hostIPC: true } as never }],
    ["hostPath=/", step("true", { volumes: [{ name: "out", hostPath: { path: "/" } }] }), {}],
    ["hostPath=/dev", step("true", { volumes: [{ name: "out", hostPath: { path: "/dev" } }] }), {}],
    [
      "hostPath=/data/../etc",
      step("true", { volumes: [{ name: "out", hostPath: { path: "/data/../etc" } }] }),
      {},
    ],
    ["hostPath=", step("true", { volumes: [{ name: "out", hostPath: {} }] }), {}],
    [
      "privileged",
      {
        ...step("true"),
        sidecars: [{ name: "s", image: IMAGE, securityContext: { privileged: true } }],
      } as Template,
      {},
    ],
    [
      "privileged",
      {
        ...step("true"),
        initContainers: [{ name: "i", image: IMAGE, securityContext: { privileged: true } }],
      } as Template,
      {},
    ],
  ])("%s is refused unless the server names it", async (item, template, more) => {
    const outcome = await run(executor, template, more);
    expect(outcome.phase).toBe("Error");
    expect(outcome.message).toContain(`--container-allow ${item}`);
  });

  test("what the server names may be used, that and no more", async () => {
    await symlink(outside, join(dir, "link"));
    const allowed = await createContainerExecutor({
      ...options,
      dir: join(dir, "allowed"),
      command: ["podman"],
      network: "none",
      allow: `hostPath=${dir}/shared/,privileged,capability=net_raw,hostPID`,
    });
    await mkdir(join(dir, "shared"));
    const host = (path: string) =>
      step("echo hi > /out/made", { volumes: [{ name: "out", hostPath: { path } }] });
    expect(await run(allowed, host(join(dir, "shared")))).toMatchObject({ phase: "Succeeded" });
    expect(await readFile(join(dir, "shared/made"), "utf8")).toBe("hi\n");
    for (const path of [join(dir, "shared/made"), `${dir}/shared/../outside`, join(dir, "link")]) {
      expect((await run(allowed, host(path))).message).toContain("--container-allow hostPath=");
    }
    const status = async (template: Template, more: Partial<TaskSpec> = {}) =>
      (await run(allowed, template, { includeResult: true, ...more })).outputs?.result ?? "";
    expect(await status(CONTEXT({ privileged: true }))).toMatch(/NoNewPrivs:\s*0/);
    const raw = await status(CONTEXT({ capabilities: { add: ["NET_RAW"], drop: ["CHOWN"] } }));
    const effective = BigInt(`0x${/CapEff:\s*(\w+)/.exec(raw)?.[1] ?? "0"}`);
    expect([effective >> 13n & 1n, effective & 1n]).toEqual([1n, 0n]);
    expect(await status(step("echo $$"), { podSpec: { hostPID: true } as never })).not.toBe("1");
    await allowed.close();
    await expectUntouched();
  });
});
