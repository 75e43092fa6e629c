/**
 * Calls from pods that the executor created in an API server: what a pod may bring and fetch, and what is refused to
 * everybody else and to pods with changed annotations.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { packTar as packHeaders } from "modern-tar";
import { packTar } from "modern-tar/fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import type { ArtifactStore } from "../../../../src/artifacts/port.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { unavailable } from "../../../../src/base/problem.ts";
import { podFor } from "../../../../src/executors/kubernetes/pod.ts";
import { createTaskCallback } from "../../../../src/executors/kubernetes/task_callback.ts";
import { outputsFromReport } from "../../../../src/executors/kubernetes/task_report.ts";
import type { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { createLogger } from "../../../../src/platform/log.ts";
import { serve } from "../../../../src/platform/serve.ts";
import type { Template } from "../../../../src/spec/manifest.ts";
import {
  clientOf,
  type KubeApiServer,
  startKubeApiServer,
} from "../../../support/kube_api_server.ts";
import { shell, taskSpec } from "../../../support/task_spec.ts";
import { STANDARD_NAMING } from "../../../../src/spec/naming.ts";

const SECRET = "the deployment's secret";
const MAX_ARTIFACT = 100_000;
const KINDS = ["outputs", "progress", "artifacts/0", "inputs/0"];

let dir = "";
let api: KubeApiServer;
let client: KubeClient;
let calls: string[] = [];
let artifacts: ArtifactStore;
let handle: (request: Request) => Promise<Response>;
let count = 0;
const blobs = new Map<string, Uint8Array>();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-callback-"));
  api = await startKubeApiServer();
  client = clientOf(api);
  const call = client.call.bind(client);
  client.call = (request) => {
    calls.push(`${request.method ?? "GET"} ${request.path}`);
    return call(request);
  };
  const none = () => Promise.resolve(undefined);
  artifacts = createArtifactStore({
    repository: { type: "folder", path: join(dir, "repository") },
    config: { configMap: none, secret: none },
  });
  handle = createTaskCallback({
    client,
    artifacts,
    secret: SECRET,
    labelPrefix: STANDARD_NAMING.labelPrefix,
    maxArtifactBytes: MAX_ARTIFACT,
    log: createLogger("fatal"),
    memory: {
      putBlob: (key, value) => Promise.resolve(void blobs.set(key, value)),
      getBlob: (key) => Promise.resolve(blobs.get(key)),
      removeBlobs: () => Promise.resolve(),
    },
  });
});
afterAll(async () => {
  client.close();
  await api.close();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(() => {
  calls = [];
  blobs.clear();
});

const TEMPLATE: Template = {
  ...shell("true"),
  inputs: { artifacts: [{ name: "in", path: "/tmp/in", raw: { data: "given" } }] },
  outputs: { artifacts: [{ name: "out", path: "/tmp/out", archive: { none: {} } }] },
};

interface Made {
  pod: JsonObject & { metadata: { annotations: Record<string, string> } };
  name: string;
  /** Path of the pod's calls. */
  path: string;
  headers: Record<string, string>;
}

/** A pod in the API server; `change` is what somebody did to its annotations. */
async function makePod(
  template: Template = TEMPLATE,
  { change = () => {}, callbackUrl = "http://sluice:1" }: {
    change?: (annotations: Record<string, string>) => void;
    callbackUrl?: string;
  } = {},
): Promise<Made> {
  const task = taskSpec(`t${count++}`, template, { includeResult: true });
  const pod = podFor(task, {
    instance: "one",
    labelPrefix: STANDARD_NAMING.labelPrefix,
    helperImage: "h",
    callbackUrl,
    secret: SECRET,
    now: 0,
  }) as Made["pod"];
  change(pod.metadata.annotations);
  await client.call({ method: "POST", path: "/api/v1/namespaces/default/pods", body: pod });
  calls = [];
  const [main] = (pod["spec"] as { containers: { env: { name: string; value: string }[] }[] })
    .containers;
  const env = new Map(main?.env.map(({ name, value }) => [name, value]));
  return {
    pod,
    name: task.podName,
    path: env.get("SLUICE_PATH") ?? "",
    headers: {
      authorization: `Bearer ${env.get("SLUICE_TOKEN")}`,
      "x-sluice-task": env.get("SLUICE_TASK") ?? "",
    },
  };
}

async function send(
  { path, headers }: Pick<Made, "path" | "headers">,
  kind: string,
  body?: BodyInit,
): Promise<{ status: number; text: string }> {
  const answer = await handle(
    new Request(`http://x${path}/${kind}`, {
      method: kind.startsWith("inputs") ? "GET" : "POST",
      headers,
      ...(body === undefined || kind.startsWith("inputs") ? {} : { body, duplex: "half" }),
    } as RequestInit),
  );
  return { status: answer.status, text: await answer.text() };
}

/** A tar with one file. */
async function archive(name = "out", content = "bytes"): Promise<Uint8Array<ArrayBuffer>> {
  const size = Buffer.byteLength(content);
  return new Uint8Array(await packHeaders([{ header: { name, size }, body: content }]));
}

test("a pod brings and fetches what its task declares", async () => {
  const made = await makePod();
  const saved = await send(made, "artifacts/0", await archive());
  expect([saved.status, JSON.parse(saved.text)]).toEqual([200, {
    name: "out",
    path: "/tmp/out",
    archive: { none: {} },
    s3: { key: `default/wf/${made.name}/out` },
  }]);
  expect(await readFile(join(dir, `repository/default/wf/${made.name}/out`), "utf8")).toBe("bytes");
  const input = await send(made, "inputs/0");
  expect([input.status, input.text.includes("given")]).toEqual([200, true]);
  expect((await send(made, "progress", "1/4")).status).toBe(200);
  expect((await send(made, "outputs", "report")).status).toBe(200);
  expect([...blobs.values()].map((value) => Buffer.from(value).toString())).toEqual(["report"]);
  expect((await send(made, "artifacts/1", await archive())).status).toBe(404);
  expect((await send(made, "inputs/9")).status).toBe(404);
  expect((await send(made, "progress", "all")).status).toBe(400);
});

const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));
test.skipIf(busybox === undefined)("the scripts in a pod prove their task", async () => {
  const box = await mkdtemp(join(dir, "pod-"));
  const server = await serve(handle, "127.0.0.1", 0);
  const out = join(box, "out");
  const callbackUrl = `http://127.0.0.1:${server.port}`;
  const made = await makePod({
    ...TEMPLATE,
    outputs: {
      artifacts: [{ name: "out", path: out, archive: { none: {} } }],
      parameters: [{ name: "p", valueFrom: { path: join(box, "large") } }],
    },
  }, { callbackUrl });
  // The paths that a pod uses for these.
  const places: [string, string][] = [
    ["/var/run/argo", join(box, "shared")],
    ["/bin/busybox", busybox ?? ""],
    ["/dev/termination-log", join(box, "message")],
    ["/argo/inputs/artifacts", join(box, "inputs")],
  ];
  const placed = (given: string) =>
    places.reduce((found, [from, to]) => found.replaceAll(from, to), given);
  await mkdir(join(box, "shared"));
  const run = async (name: "init" | "run", args: string[]) => {
    const script = join(box, name);
    await writeFile(script, placed(made.pod.metadata.annotations[`sluice.dev/${name}`] ?? ""));
    const spec = made.pod["spec"] as Record<string, { env: { name: string; value: string }[] }[]>;
    const [container] = spec[name === "init" ? "initContainers" : "containers"] ?? [];
    const env = Object.fromEntries(
      (container?.env ?? []).map((one) => [one.name, placed(one.value)]),
    );
    const child = spawn(busybox ?? "", ["sh", script, ...args], { env, stdio: "ignore" });
    return await new Promise((resolve) => child.once("exit", resolve));
  };
  try {
    expect(await run("init", [])).toBe(0);
    const command = `cat ${box}/inputs/in > ${out}; head -c 9000 /dev/urandom > ${box}/large; ` +
      'env | grep -c -e "^SLUICE_T"';
    expect(await run("run", ["/bin/sh", "-c", command])).toBe(1);
    expect(await readFile(join(box, "message"), "utf8")).toBe("sluice:");
    const saved = join(dir, `repository/default/wf/${made.name}/out`);
    expect(await readFile(saved, "utf8")).toBe("given");
    const [report] = [...blobs.values()];
    const { outputs } = await outputsFromReport(report ?? new Uint8Array(), {
      outputs: { artifacts: [{ name: "out", path: out, archive: { none: {} } }] },
    });
    expect(outputs.artifacts?.[0]?.s3).toEqual({ key: `default/wf/${made.name}/out` });
    // None of our variables reaches the command.
    expect(outputs.result).toBe("0");
  } finally {
    await server.close(1_000);
  }
});

test("a store or an API server that is away is told from a fault that stays", async () => {
  const { path, headers } = await makePod();
  const url = `http://sluice${path}/outputs`;
  const bring = () => handle(new Request(url, { method: "POST", headers, body: "x" }));
  api.refuse(1);
  expect((await bring()).status).toBe(503);
  expect((await bring()).status).toBe(200);
  const put = vi.spyOn(blobs, "set");
  try {
    put.mockImplementationOnce(() => {
      throw unavailable("the store does not answer");
    });
    expect((await bring()).status).toBe(503);
    put.mockImplementationOnce(() => {
      throw new Error("a fault");
    });
    expect((await bring()).status).toBe(500);
  } finally {
    put.mockRestore();
  }
});

describe("without the task's own token", () => {
  test("every call is answered alike, and nobody is asked", async () => {
    const made = await makePod();
    const other = await makePod();
    calls = [];
    const answers = new Set<string>();
    const task = made.headers["x-sluice-task"] ?? "";
    const token = made.headers["authorization"] ?? "";
    const wrong: Record<string, string>[] = [
      {},
      { authorization: token },
      { "x-sluice-task": task },
      { authorization: "Bearer ", "x-sluice-task": task },
      { authorization: "Bearer x", "x-sluice-task": task },
      { authorization: `${token}x`, "x-sluice-task": task },
      { authorization: token.slice(0, -1), "x-sluice-task": task },
      { authorization: token.replace("Bearer", "Basic"), "x-sluice-task": task },
      { authorization: other.headers["authorization"] ?? "", "x-sluice-task": task },
      { authorization: token, "x-sluice-task": "unknown/task/1" },
      { authorization: token, "x-sluice-task": "" },
    ];
    for (const headers of wrong) {
      for (const kind of [...KINDS, "none", "artifacts", "artifacts/x"]) {
        for (
          const path of [
            made.path,
            made.path.replace(made.name, "nobody"),
            "/api/v1/tasks/..%2f..%2fsecrets/x",
            "/api/v1/tasks/UPPER/x",
          ]
        ) {
          // The server must not wait for a body that never ends.
          const body = new ReadableStream({ pull: () => new Promise<void>(() => {}) });
          const { status, text: told } = await send({ path, headers }, kind, body);
          answers.add(`${status} ${told}`);
        }
      }
    }
    expect([...answers]).toEqual(["403 not allowed"]);
    expect(calls).toEqual([]);
  });

  test("another task's token opens no other pod", async () => {
    const mine = await makePod();
    const other = await makePod();
    for (const kind of KINDS) {
      const { status } = await send({ path: other.path, headers: mine.headers }, kind, "1/4");
      expect(status).toBe(403);
    }
    expect(blobs.size).toBe(0);
  });
});

describe("annotations that were changed prove nothing", () => {
  const edit = (annotations: Record<string, string>, change: (facts: JsonObject) => void) => {
    const facts = JSON.parse(annotations["sluice.dev/outputs"] ?? "") as JsonObject;
    change(facts);
    annotations["sluice.dev/outputs"] = JSON.stringify(facts);
  };
  const marker = () => join(tmpdir(), `sluice-callback-marker-${count}`);
  test.each<[string, (annotations: Record<string, string>) => void]>([
    ["an input that is put elsewhere", (annotations) =>
      edit(annotations, (facts) => {
        const place = `../../../../../../../..${marker()}`;
        facts["inputs"] = [{ name: "in", path: place, raw: { data: "x" } }];
      })],
    ["an input with a name that is a path", (annotations) =>
      edit(annotations, (facts) => {
        facts["inputs"] = [{ name: `../../..${marker()}`, raw: { data: "x" } }];
      })],
    ["an output that is put elsewhere", (annotations) =>
      edit(annotations, (facts) => {
        facts["outputs"] = [{ name: "out", path: `../..${marker()}`, archive: { none: {} } }];
      })],
    ["an output with a key of its own", (annotations) =>
      edit(annotations, (facts) => {
        facts["outputs"] = [{ name: "out", s3: { key: "default/other" } }];
      })],
    ["another prefix", (annotations) => edit(annotations, (facts) => facts["prefix"] = "../other")],
    [
      "another namespace",
      (annotations) =>
        edit(annotations, (facts) => facts["names"] = { "workflow.namespace": "other" }),
    ],
    [
      "keys from before",
      (annotations) => edit(annotations, (facts) => facts["formerKeys"] = ["other"]),
    ],
    ["the same in another order", (annotations) =>
      edit(annotations, (facts) => {
        const { prefix } = facts;
        delete facts["prefix"];
        facts["prefix"] = prefix ?? "";
      })],
    ["no signature", (annotations) => delete annotations["sluice.dev/outputs-signature"]],
    ["another task", (annotations) => annotations["sluice.dev/task"] = "uid-1/other/1"],
    ["no JSON", (annotations) => annotations["sluice.dev/outputs"] = "{"],
    ["nothing", (annotations) => delete annotations["sluice.dev/outputs"]],
  ])("%s", async (_title, change) => {
    const made = await makePod(TEMPLATE, { change });
    for (const kind of KINDS) {
      const body = kind === "progress" ? "1/4" : await archive();
      expect([kind, (await send(made, kind, body)).status]).toEqual([kind, 403]);
    }
    expect(blobs.size).toBe(0);
    await expect(stat(marker())).rejects.toThrow();
    await expect(stat(join(dir, `repository/default/wf/${made.name}`))).rejects.toThrow();
  });

  test("another pod's facts, with their signature", async () => {
    const donor = await makePod();
    const change = (annotations: Record<string, string>) => {
      for (const name of ["sluice.dev/outputs", "sluice.dev/outputs-signature"]) {
        annotations[name] = donor.pod.metadata.annotations[name] ?? "";
      }
    };
    const made = await makePod(TEMPLATE, { change });
    for (const kind of KINDS) expect((await send(made, kind, "1/4")).status).toBe(403);
  });
});

describe("a body is read no further than its bound", () => {
  /** An endless body, and how much of it was read. */
  function endless(): { body: ReadableStream<Uint8Array>; taken: () => number } {
    let taken = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        taken += 65_536;
        // If nothing bounded it, an endless body would make the test hang.
        if (taken > 2 ** 26) return controller.close();
        controller.enqueue(new Uint8Array(65_536));
      },
    }, { highWaterMark: 0 });
    return { body, taken: () => taken };
  }

  test.each([["outputs", 16 * 2 ** 20], ["progress", 64], ["artifacts/0", MAX_ARTIFACT]] as const)(
    "%s",
    async (kind, bound) => {
      const made = await makePod();
      const { body, taken } = endless();
      const sent = kind === "artifacts/0" ? await endlessArchive(body) : body;
      expect((await send(made, kind, sent)).status).toBe(413);
      expect(taken()).toBeLessThan(bound + 20 * 65_536);
      expect(blobs.size).toBe(0);
      const said = { ...made, headers: { ...made.headers, "content-length": "99999999" } };
      if (kind !== "artifacts/0") expect((await send(said, kind, "x")).status).toBe(413);
    },
  );

  /** The header of a tar that announces a large file, then the body. */
  async function endlessArchive(
    body: ReadableStream<Uint8Array>,
  ): Promise<ReadableStream<Uint8Array>> {
    const head = (await archive("out", "x".repeat(50_000_000))).slice(0, 512);
    const reader = body.getReader();
    let isFirst = true;
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (isFirst) {
          isFirst = false;
          return controller.enqueue(head);
        }
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    }, { highWaterMark: 0 });
  }
});

describe("an archive from a pod", () => {
  test("gives nothing of this machine away", async () => {
    const secret = join(dir, "secret");
    await writeFile(secret, "of the host");
    for (const target of [secret, `../../../../../../../../..${secret}`, "/etc/passwd", "."]) {
      for (const place of ["out", "folder/link"]) {
        for (const mode of [{ none: {} }, { zip: {} }, undefined]) {
          const source = await mkdtemp(join(dir, "links-"));
          await mkdir(join(source, "folder"));
          await symlink(target, join(source, place));
          const name = place.split("/")[0] ?? "";
          const type = place === "out" ? "symlink" : "directory";
          const body = type === "symlink"
            ? new Uint8Array(
              await packHeaders([{ header: { name, size: 0, type, linkname: target } }]),
            )
            : new Uint8Array(
              await new Response(
                await text(
                  packTar([{ type, source: join(source, name), target: name }])
                    .setEncoding("latin1"),
                ).then((found) => Buffer.from(found, "latin1")),
              ).arrayBuffer(),
            );
          const template = {
            ...TEMPLATE,
            outputs: {
              artifacts: [{ name: "out", path: "/tmp/out", ...(mode && { archive: mode }) }],
            },
          };
          const made = await makePod(template);
          await send(made, "artifacts/0", body);
          const folder = join(dir, `repository/default/wf/${made.name}`);
          const files = await readdir(folder, { recursive: true, withFileTypes: true })
            .catch(() => []);
          for (const file of files.filter((one) => one.isFile())) {
            const content = await readFile(join(file.parentPath, file.name));
            expect(content.includes("of the host")).toBe(false);
          }
          const back = join(source, "back");
          const artifact = template.outputs.artifacts[0];
          const key = mode === undefined
            ? "out.tgz"
            : Object.hasOwn(mode, "zip")
            ? "out.zip"
            : "out";
          await artifacts.fetch(
            { ...artifact, name: "out", s3: { key: `default/wf/${made.name}/${key}` } },
            back,
            { namespace: "default" },
          ).catch(() => {});
          const found = await readFile(join(back, "link"), "utf8").catch(() => "");
          expect(found).not.toContain("of the host");
        }
      }
    }
  });

  test("that is empty, or no archive, is refused or fails", async () => {
    const made = await makePod();
    expect((await send(made, "artifacts/0", new Uint8Array(1024))).status).toBe(400);
    expect((await send(made, "artifacts/0", "noise")).status).toBeGreaterThanOrEqual(400);
  });
});

test("a key of another namespace is refused, with what helps", async () => {
  await artifacts.write(
    { name: "o", s3: { key: "other/wf/pod/o" } },
    Readable.from([Buffer.from("theirs")]),
    { namespace: "other" },
  );
  const key = { s3: { key: "other/wf/pod/o" } };
  const template: Template = {
    ...shell("true"),
    inputs: { artifacts: [{ name: "in", path: "/tmp/in", ...key }] },
    outputs: { artifacts: [{ name: "out", path: "/tmp/out", archive: { none: {} }, ...key }] },
  };
  const made = await makePod(template);
  for (const kind of ["inputs/0", "artifacts/0"]) {
    const { status, text: told } = await send(made, kind, await archive());
    expect([kind, status, told]).toEqual([
      kind,
      403,
      expect.stringContaining("--artifact-keys shared"),
    ]);
  }
  expect(await readFile(join(dir, "repository/other/wf/pod/o"), "utf8")).toBe("theirs");
});
