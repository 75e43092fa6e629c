/**
 * Artifacts of namespaces that share a repository: each finds its own, and no request or manifest reaches another's. On
 * a folder and on a real S3 server, through the artifact store itself and over HTTP with tokens.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import type { ArtifactStore } from "../../../src/artifacts/port.ts";
import type { RepositorySetting } from "../../../src/artifacts/repository_setting.ts";
import { S3Objects } from "../../../src/artifacts/s3_objects.ts";
import { unrestrictedCaller } from "../../../src/auth/caller.ts";
import { openArtifact } from "../../../src/service/artifacts/artifacts.ts";
import { startInstance } from "../../support/api_server.ts";
import { findS3Server, type S3Server, startS3Server } from "../../support/s3_server.ts";
import { startTenants, type Tenants } from "../../support/tenants.ts";

const ALICE = { namespace: "a" };
const BOB = { namespace: "ab" };
const ID = "0123abcd-0123-0123-0123-0123456789ab";
const noConfig = {
  configMap: () => Promise.resolve(undefined),
  secret: () => Promise.resolve(undefined),
};

/** Keys with which somebody in namespace `ab` may try to reach `a/x/x/o`. */
const FOREIGN = [
  "a/x/x/o",
  "/a/x/x/o",
  "//a/x/x/o",
  "./a/x/x/o",
  "ab/../a/x/x/o",
  "ab/x/../../a/x/x/o",
  "../a/x/x/o",
  "ab//../a/x/x/o",
  "ab/./../a/x/x/o",
  "a//x/x/o",
  "%61/x/x/o",
  "a%2fx/x/o",
  "A/x/x/o",
  "a/x/x/",
  "a/",
  "a",
  "/",
  ".",
  "..",
  "uploads/",
  `uploads/a/${ID}/f`,
  `uploads/ab/../a/${ID}/f`,
  "a\0b/x",
  "ab/\u0000",
  "ａ/x/x/o",
  "a\u200b/x/x/o",
  "\\a\\x\\x\\o",
];

const bytes = (content: string) => Readable.from([Buffer.from(content)]);

const s3Program = findS3Server();
let dir = "";
let s3: S3Server | undefined;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-tenancy-"));
  if ("path" in s3Program) s3 = await startS3Server(s3Program.path);
}, 60_000);
afterAll(async () => {
  await s3?.stop();
  await rm(dir, { recursive: true, force: true });
});

const noS3 = "missing" in s3Program ? ` (skipped: ${s3Program.missing})` : "";
const s3Setting = (keyPrefix: string): RepositorySetting => ({
  type: "s3",
  endpoint: s3?.endpoint ?? "",
  bucket: s3?.bucket ?? "",
  insecure: true,
  accessKey: s3?.accessKey ?? "",
  secretKey: s3?.secretKey ?? "",
  keyPrefix,
});

describe("the repository in a folder", () => {
  describeStore(() => ({ type: "folder", path: join(dir, "folder") }));
  describeTenants(() => []);
});
describe.skipIf("missing" in s3Program)(`the repository on an S3 server${noS3}`, () => {
  describeStore(() => s3Setting("pre/"));
  describeTenants(() => [
    `--artifacts=s3://${s3?.accessKey}:${s3?.secretKey}@${s3?.endpoint}/${s3?.bucket}/served?insecure=true`,
  ]);

  test("a key with dots does not reach another bucket", async () => {
    const objects = (bucket: string) => {
      const { type: _type, keyPrefix: _prefix, ...options } = s3Setting("") as Extract<
        RepositorySetting,
        { type: "s3" }
      >;
      return new S3Objects({ ...options, bucket, createBucket: true });
    };
    await objects("other").write("o", bytes("secret"));
    for (const key of ["../other/o", "x/../../other/o", "./../other/o", ".", ".."]) {
      for (const credentials of [{}, { accessKey: undefined, secretKey: undefined }]) {
        const { type: _type, keyPrefix: _prefix, ...options } = {
          ...s3Setting(""),
          ...credentials,
        } as Extract<RepositorySetting, { type: "s3" }>;
        const mine = new S3Objects(options);
        for (
          const act of [
            () => mine.read(key),
            () => mine.write(key, bytes("forged")),
            () => mine.remove(key),
          ]
        ) await expect(act(), key).rejects.toThrow("is not a path below its bucket");
      }
    }
    const kept = await objects("other").read("o");
    expect(kept && await text(kept.body)).toBe("secret");
  });
});

function describeStore(setting: () => RepositorySetting): void {
  let store: ArtifactStore;
  let file = "";
  beforeAll(async () => {
    store = createArtifactStore({ repository: setting(), config: noConfig });
    file = join(await mkdtemp(join(dir, "work-")), "o");
    await writeFile(file, "alice's");
    await store.save(
      { name: "o", path: "/o", archive: { none: {} } },
      file,
      "x/x",
      ALICE,
    );
    await store.write(
      { name: "f", s3: { key: `uploads/a/${ID}/f` } },
      bytes("alice's upload"),
      ALICE,
    );
  });

  const isAlices = async () => {
    const found = await store.open({ name: "o", s3: { key: "a/x/x/o" } }, ALICE);
    return found !== undefined && await text(found.body) === "alice's";
  };

  test("the same workflow in two namespaces has two artifacts", async () => {
    await writeFile(`${file}.bob`, "bob's");
    const own = { name: "o", path: "/o", archive: { none: {} } };
    const saved = await store.save(own, `${file}.bob`, "x/x", BOB);
    expect(saved.s3).toEqual({ key: "ab/x/x/o" });
    expect(await isAlices()).toBe(true);
  });

  test.each(FOREIGN)("nothing is done with %j", async (key) => {
    for (
      const artifact of [
        { name: "o", s3: { key } },
        { name: "o", gcs: { key } },
        { name: "o", oss: { key } },
        { name: "o", azure: { blob: key } },
        { name: "o", hdfs: { path: key } },
      ]
    ) {
      const forms: [string, () => Promise<unknown>][] = [
        ["open", () => store.open(artifact, BOB)],
        ["fetch", () => store.fetch(artifact, `${file}.stolen`, BOB)],
        ["save", () => store.save({ ...artifact, path: "/o" }, file, "x/x", BOB)],
        ["write", () => store.write(artifact, bytes("forged"), BOB)],
        ["list", () => store.list(artifact, BOB)],
        ["entries", () => store.entries(artifact, BOB)],
        ["remove", () => store.remove(artifact, BOB)],
        ["archive location", () => {
          const { name: _name, ...archiveLocation } = artifact;
          return store.save({ name: "o", path: "/o" }, file, "x/x", { ...BOB, archiveLocation });
        }],
      ];
      for (const [form, act] of forms) {
        await expect(act(), form).rejects.toThrow(/--artifact-keys shared|is not a path/);
      }
    }
    expect(await isAlices()).toBe(true);
  });

  test("no path below an artifact leads out of it", async () => {
    for (const subPath of ["../a/x/x/o", "x/../../a/x/x/o", "./../a/x/x/o", "x//y", "\0"]) {
      const artifact = { name: "o", s3: { key: "ab" }, subPath };
      for (const act of ["open", "list", "entries", "remove"] as const) {
        await expect(store[act](artifact, BOB), subPath).rejects.toThrow("is not a path");
      }
    }
    expect(await isAlices()).toBe(true);
  });

  test("a list shows one's own only, whatever it begins with", async () => {
    await store.write({ name: "f", s3: { key: "ab/l/f" } }, bytes("x"), BOB);
    expect(await store.list({ name: "l", s3: { key: "ab/l" } }, BOB)).toEqual(["ab/l/f"]);
    expect(await store.entries({ name: "l", s3: { key: "ab/l" } }, BOB)).toEqual(["f"]);
    await expect(store.list({ name: "l", s3: { key: "ab" } }, BOB)).rejects.toThrow("ab/");
    const uploads = { namespace: "uploads" };
    expect(await store.list({ name: "l", s3: { key: "uploads/" } }, uploads)).toEqual([]);
    expect(await store.list({ name: "l", s3: { key: "uploads/a/" } }, ALICE)).toEqual([
      `uploads/a/${ID}/f`,
    ]);
    await store.remove({ name: "l", s3: { key: "uploads/a" } }, uploads).catch(() => {});
    expect(await store.open({ name: "f", s3: { key: `uploads/a/${ID}/f` } }, ALICE)).toBeDefined();
  });

  test.each([{ s3: {} }, { s3: { bucket: "any" } }, { s3: { key: "" } }, { gcs: {} }])(
    "a list without a key shows all of one's own: %j",
    async (location) => {
      await store.write({ name: "f", s3: { key: "ab/all/f" } }, bytes("x"), BOB);
      const listed = await store.list({ name: "l", ...location }, BOB);
      expect(listed).toContain("ab/all/f");
      expect(listed.filter((key) => !key.startsWith("ab/"))).toEqual([]);
      expect(await store.list({ name: "l", ...location }, ALICE)).toContain(`uploads/a/${ID}/f`);
      const nobody = { namespace: "uploads" };
      expect(await store.list({ name: "l", ...location }, nobody)).toEqual([]);
      await expect(store.list({ name: "l" }, BOB)).rejects.toThrow("has no location");
    },
  );

  test("keys are what they say: unicode, percent signs, spaces", async () => {
    for (const name of ["ü", "%2e%2e", "a b+c", "#", "日本", "a%2Fb", "..."]) {
      const artifact = { name, s3: { key: `ab/names/${name}` } };
      await store.write(artifact, bytes(name), BOB);
      const found = await store.open(artifact, BOB);
      expect(found && await text(found.body)).toBe(name);
    }
  });

  test("keys that are shared are shared", async () => {
    const shared = createArtifactStore({
      repository: setting(),
      config: noConfig,
      keys: "shared",
    });
    const found = await shared.open({ name: "o", s3: { key: "a/x/x/o" } }, BOB);
    expect(found && await text(found.body)).toBe("alice's");
    await expect(shared.open({ name: "o", s3: { key: "ab/../a/x/x/o" } }, BOB)).rejects.toThrow(
      "is not a path",
    );
  });
}

/** A template whose step writes its file, and a template that reads an artifact with the given key. */
const write = (content: string, more = {}) => ({
  entrypoint: "w",
  templates: [{
    name: "w",
    container: { image: "x", command: ["sh", "-c", `printf '%s' '${content}' > /tmp/o`] },
    outputs: { artifacts: [{ name: "o", path: "/tmp/o", archive: { none: {} }, ...more }] },
  }],
});
const reader = {
  name: "r",
  inputs: { artifacts: [{ name: "i", path: "/tmp/i" }] },
  container: { image: "x", command: ["sh", "-c", "cat /tmp/i"] },
};

function describeTenants(flags: () => string[]): void {
  describe("with two callers", () => {
    let tenants: Tenants;
    let count = 0;
    beforeAll(async () => {
      tenants = await startTenants({
        alice: [{ namespaces: ["a"] }],
        bob: [{ namespaces: ["ab"] }],
      }, flags());
    }, 90_000);
    afterAll(() => tenants.stop());

    /** Runs a workflow to its end. */
    async function run(who: string, namespace: string, spec: object, name = `w${count++}`) {
      const metadata = { name };
      const made = await tenants.call(who, "POST", `/api/v1/workflows/${namespace}`, {
        workflow: { metadata, spec },
      });
      expect(made.status, made.text).toBe(200);
      return await tenants.ended(who, namespace, name);
    }

    const download = (who: string, namespace: string, name: string, side = "artifacts") =>
      tenants.call(
        who,
        "GET",
        `/${side}/${namespace}/${name}/${name}/${side === "artifacts" ? "o" : "i"}`,
      );

    /** Expects that it ended in Error with a helpful message. */
    function refused(
      workflow: Tenants extends never ? never : {
        status: { phase: string; message?: string; nodes: Record<string, { message?: string }> };
      },
    ): void {
      const { phase, nodes, message = "" } = workflow.status;
      const texts = [message, ...Object.values(nodes).map((node) => node.message ?? "")].join("\n");
      expect([phase, texts]).toEqual([
        "Error",
        expect.stringMatching(/--artifact-keys shared|is not a path/),
      ]);
    }

    test("both find their own, neither the other's, by whatever way", async () => {
      for (const [who, namespace] of [["alice", "a"], ["bob", "ab"]] as const) {
        const made = await run(who, namespace, write(`${who}'"'"'s`), "x");
        expect(made.status.phase).toBe("Succeeded");
        expect(made.status.nodes.x.outputs.artifacts[0].s3.key).toBe(`${namespace}/x/x/o`);
      }
      expect((await download("alice", "a", "x")).text).toBe("alice's");
      expect((await download("bob", "ab", "x")).text).toBe("bob's");
      expect((await download("bob", "a", "x")).status).toBe(403);

      for (const key of ["a/x/x/o", "ab/../a/x/x/o", "/a/x/x/o", "./a/x/x/o", "a/x//x/o"]) {
        // Passed as an argument: the download of inputs doesn't show it either.
        const spec = {
          entrypoint: "r",
          arguments: { artifacts: [{ name: "i", s3: { key } }] },
          templates: [reader],
        };
        const read = await run("bob", "ab", spec);
        refused(read);
        const { name } = read.metadata;
        const inputs = await download("bob", "ab", name, "input-artifacts");
        expect([inputs.status, inputs.text]).toEqual([403, expect.not.stringContaining("alice's")]);
        const page = await tenants.call(
          "bob",
          "GET",
          `/artifact-files/ab/archived-workflows/${read.metadata.uid}/${name}/inputs/i`,
        );
        expect([page.status, page.text]).toEqual([403, expect.not.stringContaining("alice's")]);
        // In the template, as an output, as the location of logs, and in another type of location.
        const input = {
          ...reader,
          inputs: { artifacts: [{ name: "i", path: "/i", s3: { key } }] },
        };
        refused(await run("bob", "ab", { entrypoint: "r", templates: [input] }));
        refused(await run("bob", "ab", write("forged", { s3: { key } })));
        refused(await run("bob", "ab", write("forged", { gcs: { key } })));
        const archived = write("forged");
        Object.assign(archived.templates[0] ?? {}, { archiveLocation: { s3: { key } } });
        refused(await run("bob", "ab", archived));
      }
      const collected = write("forged");
      Object.assign(collected, { artifactGC: { strategy: "OnWorkflowCompletion" } });
      Object.assign(collected.templates[0]?.outputs.artifacts[0] ?? {}, {
        s3: { key: "a/x/x/o" },
      });
      refused(await run("bob", "ab", collected));
      expect((await download("alice", "a", "x")).text).toBe("alice's");
      expect((await download("bob", "ab", "x")).text).toBe("bob's");
    }, 120_000);

    test("a data template lists one's own keys", async () => {
      await run("alice", "a", write("1"), "listed");
      await run("bob", "ab", write("2"), "listed");
      const list = (key: string) => ({
        entrypoint: "d",
        templates: [{
          name: "d",
          data: {
            source: { artifactPaths: { name: "l", s3: { key } } },
            transformation: [{ expression: "filter(data, {# contains 'listed'})" }],
          },
        }],
      });
      const own = await run("bob", "ab", list("ab/"));
      expect(Object.values<{ outputs: { result: string } }>(own.status.nodes)[0]?.outputs.result)
        .toBe('["ab/listed/listed/o"]');
      for (const key of ["a", "a/", "a/listed", "ab", "/", "ab/../a", "uploads/"]) {
        refused(await run("bob", "ab", list(key)));
      }
    }, 60_000);

    test("an uploaded file serves its namespace only", async () => {
      const template = {
        metadata: { name: "t" },
        spec: {
          entrypoint: "r",
          arguments: { artifacts: [{ name: "i", s3: { key: "a/none" } }] },
          templates: [reader],
        },
      };
      const keys: Record<string, string> = {};
      for (const [who, namespace] of [["alice", "a"], ["bob", "ab"]] as const) {
        await tenants.call(who, "POST", `/api/v1/workflow-templates/${namespace}`, { template });
        const body = new FormData();
        body.append("file", new Blob([`of ${who}`]), "f");
        const made = await tenants.call(who, "POST", `/upload-artifacts/${namespace}/t/i`, body);
        keys[who] = made.json.key;
      }
      expect(keys["bob"]).toMatch(/^uploads\/ab\//);
      const submit = async (key = "") => {
        const { status, json } = await tenants.call("bob", "POST", "/api/v1/workflows/ab/submit", {
          resourceKind: "WorkflowTemplate",
          resourceName: "t",
          submitOptions: { artifacts: [`i=${key}`] },
        });
        return status === 200 ? await tenants.ended("bob", "ab", json.metadata.name) : status;
      };
      expect((await submit(keys["bob"])).status.phase).toBe("Succeeded");
      const alices = keys["alice"] ?? "";
      for (const key of [alices, alices.replace("/a/", "/ab/../a/"), `uploads/ab/${ID}/../x`]) {
        expect(await submit(key)).toBe(400);
      }
      const direct = { name: "i", s3: { key: alices } };
      const spec = { entrypoint: "r", arguments: { artifacts: [direct] }, templates: [reader] };
      refused(await run("bob", "ab", spec));
    }, 60_000);
  });
}

describe("artifacts from before keys began with the namespace", () => {
  /** Pod `POD` of workflow `WORKFLOW` in namespace `ab`, with one output. */
  const seed = (name: string, node: object) => ({
    kind: "Workflow",
    metadata: { name, namespace: "ab", uid: ID },
    spec: { entrypoint: "m", templates: [{ name: "m", container: { image: "x" } }] },
    status: {
      phase: "Succeeded",
      startedAt: "2023-05-04T10:01:00Z",
      finishedAt: "2023-05-04T10:05:00Z",
      nodes: { n: { id: "n", name, type: "Pod", phase: "Succeeded", ...node } },
    },
  });

  test.each([
    ["what a pod left", "x", { outputs: [{ key: "x/x/o" }] }, "old"],
    ["a folder that a pod left", "x", { outputs: [{ key: "x/x/d" }], path: "in" }, "inner"],
    ["what another workflow left", "y", { outputs: [{ key: "x/x/o" }] }, 403],
    ["another pod's", "x", { outputs: [{ key: "x/x-1/o" }] }, 403],
    ["what only an input names", "x", { inputs: [{ key: "x/x/o" }], outputs: [] }, 403],
    ["what no pod left", "x", { outputs: [{ key: "x/x/o" }], type: "Steps" }, 403],
    ["today's key of another namespace", "x", { outputs: [{ key: "x/x/x/o" }] }, 403],
    ["a key that leaves its folder", "x", { outputs: [{ key: "x/x/../o" }] }, 403],
  ])("%s", async (_title, name, given, expected) => {
    const { outputs, inputs, path = "", type } = given as {
      outputs: { key: string }[];
      inputs?: { key: string }[];
      path?: string;
      type?: string;
    };
    const root = join(dir, "former");
    await mkdir(join(root, "x/x/d"), { recursive: true });
    await mkdir(join(root, "x/x-1"), { recursive: true });
    await mkdir(join(root, "x/x/x"), { recursive: true });
    for (const file of ["x/x/o", "x/x-1/o", "x/x/x/o", "x/o"]) {
      await writeFile(join(root, file), "old");
    }
    await writeFile(join(root, "x/x/d/in"), "inner");
    const artifacts = createArtifactStore({
      repository: { type: "folder", path: root },
      config: noConfig,
    });
    const instance = await startInstance({
      gatekeeper: { server: true, authenticators: [] },
      artifacts,
    });
    try {
      const artifactsOf = (list: { key: string }[]) =>
        list.map(({ key }) => ({ name: "o", s3: { key }, ...(path && { subPath: path }) }));
      await instance.seed([seed(name, {
        ...(type && { type }),
        outputs: { artifacts: artifactsOf(outputs) },
        ...(inputs && { inputs: { artifacts: artifactsOf(inputs) } }),
      })]);
      const opened = openArtifact(instance.service, unrestrictedCaller(), "ab", name, {
        nodeId: "n",
        artifact: "o",
        side: inputs === undefined ? "outputs" : "inputs",
      }).then(({ body }) => text(body), (error) => error.status);
      expect(await opened).toBe(expected);
    } finally {
      await instance.stop();
    }
  });
});
