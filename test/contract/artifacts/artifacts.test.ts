/** Artifacts through every kind of store: a folder, a real S3 server, http, raw and git. */
import { execFileSync } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import type { RepositorySetting } from "../../../src/artifacts/repository_setting.ts";
import type { ConfigSource } from "../../../src/artifacts/config_source.ts";
import type { ArtifactStore } from "../../../src/artifacts/port.ts";
import type { Artifact } from "../../../src/spec/manifest.ts";
import { findS3Server, startS3Server } from "../../support/s3_server.ts";
import type { S3Server } from "../../support/s3_server.ts";

const SCOPE = { namespace: "default" };
const s3Program = findS3Server();

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-artifacts-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const noConfig: ConfigSource = {
  configMap: () => Promise.resolve(undefined),
  secret: () => Promise.resolve(undefined),
};

describe("repository in a folder", () => {
  describeRepository(() => Promise.resolve({ type: "folder", path: join(dir, "repository") }));

  test("a key can't leave the folder", async () => {
    const store = createArtifactStore({
      repository: { type: "folder", path: join(dir, "inner") },
      config: noConfig,
    });
    await writeFile(join(dir, "outside"), "x");
    const artifact = { name: "a", s3: { key: "../outside" } };
    await expect(store.open(artifact, SCOPE)).rejects.toThrow("is not a path");
  });
});

const s3Title = "missing" in s3Program
  ? `repository on an S3 server (skipped: ${s3Program.missing})`
  : "repository on an S3 server";
describe.skipIf("missing" in s3Program)(s3Title, () => {
  let server: S3Server;
  beforeAll(async () => {
    if ("path" in s3Program) server = await startS3Server(s3Program.path);
  });
  afterAll(() => server.stop());

  const setting = (): RepositorySetting => ({
    type: "s3",
    endpoint: server.endpoint,
    bucket: server.bucket,
    insecure: true,
    accessKey: server.accessKey,
    secretKey: server.secretKey,
    keyPrefix: "pre/",
  });
  describeRepository(() => Promise.resolve(setting()));

  const config = (): ConfigSource => ({
    configMap: (_ns, name) =>
      Promise.resolve(
        name === "artifact-repositories"
          ? {
            mine:
              `s3:\n  endpoint: ${server.endpoint}\n  bucket: fresh\n  insecure: true\n  keyFormat: "runs/{{workflow.name}}"\n` +
              "  createBucketIfNotPresent: {}\n" +
              "  accessKeySecret: {name: s, key: a}\n  secretKeySecret: {name: s, key: b}\n",
          }
          : undefined,
      ),
    secret: (_ns, name) =>
      Promise.resolve(name === "s" ? { a: server.accessKey, b: server.secretKey } : undefined),
  });

  test("a full location is used as it is, with credentials from Secrets", async () => {
    const store = createArtifactStore({ config: config() });
    const artifact = {
      name: "full",
      archive: { none: {} },
      s3: {
        endpoint: server.endpoint,
        bucket: server.bucket,
        key: "some/where",
        insecure: true,
        accessKeySecret: { name: "s", key: "a" },
        secretKeySecret: { name: "s", key: "b" },
      },
    };
    await writeFile(join(dir, "f"), "full");
    expect(await store.save(artifact, join(dir, "f"), "p", SCOPE)).toEqual(artifact);
    expect(await content(store, artifact)).toBe("full");
    const { key: _key, ...bucket } = artifact.s3;
    expect(await store.list({ name: "all", s3: bucket }, SCOPE)).toContain("some/where");
    const wrong = { ...artifact, s3: { ...artifact.s3, secretKeySecret: { name: "s", key: "a" } } };
    await expect(store.open(wrong, SCOPE)).rejects.toThrow('Artifact "full" in s3://artifacts:');
  });

  test("a workflow's own repository comes from a ConfigMap, with its key format and new bucket", async () => {
    const store = createArtifactStore({ config: config() });
    const scope = { ...SCOPE, repositoryRef: { key: "mine" }, names: { "workflow.name": "wf" } };
    await writeFile(join(dir, "f"), "mine");
    const saved = await store.save({ name: "a", path: "/x/f" }, join(dir, "f"), "unused", scope);
    expect(saved.s3).toEqual({ key: "runs/wf/a.tgz" });
    expect(await store.list({ name: "all", s3: {} }, scope)).toEqual(["runs/wf/a.tgz"]);
    expect(await store.fetch(saved, join(dir, "back"), scope)).toBe(true);
    expect(await readFile(join(dir, "back"), "utf8")).toBe("mine");
    await expect(store.fetch(saved, join(dir, "back"), { ...SCOPE, repositoryRef: { key: "no" } }))
      .rejects.toThrow(
        'Artifact repository "no" of ConfigMap "artifact-repositories" does not exist',
      );
  });

  test("an object larger than one part goes up in parts and comes back whole", async () => {
    const store = createArtifactStore({ config: noConfig, repository: setting() });
    const bytes = Buffer.alloc(40 * 1024 * 1024, "0123456789abcdef!");
    await writeFile(join(dir, "large"), bytes);
    const saved = await store.save(
      { name: "large", archive: { none: {} }, path: "/large" },
      join(dir, "large"),
      "big",
      SCOPE,
    );
    expect(await store.fetch(saved, join(dir, "large.back"), SCOPE)).toBe(true);
    expect(bytes.equals(await readFile(join(dir, "large.back")))).toBe(true);
  });
});

async function content(store: ArtifactStore, artifact: Artifact): Promise<string | undefined> {
  const found = await store.open(artifact, SCOPE);
  return found && await text(found.body);
}

function describeRepository(setting: () => Promise<RepositorySetting>): void {
  let store: ArtifactStore;
  let work = "";
  beforeAll(async () => {
    store = createArtifactStore({ repository: await setting(), config: noConfig });
    work = await mkdtemp(join(dir, "work-"));
    await mkdir(join(work, "tree/deep"), { recursive: true });
    await writeFile(join(work, "tree/run.sh"), "#!/bin/sh\n");
    await chmod(join(work, "tree/run.sh"), 0o750);
    await writeFile(join(work, "tree/deep/ü.txt"), "deep");
    await writeFile(join(work, `tree/deep/${"long-name-".repeat(20)}`), "long");
    await symlink("run.sh", join(work, "tree/link"));
    await writeFile(join(work, "one"), "one");
  });

  async function roundTrip(artifact: Artifact, from: string): Promise<string> {
    const saved = await store.save(artifact, join(work, from), "wf/pod", SCOPE);
    const to = join(work, `back-${artifact.name}`);
    expect(await store.fetch(saved, to, SCOPE)).toBe(true);
    return to;
  }

  test.each([
    ["tar", {}, "/out/tree", "default/wf/pod/tar.tgz"],
    [
      "level",
      { archive: { tar: { compressionLevel: 9 } } },
      "/out/tree",
      "default/wf/pod/level.tgz",
    ],
    ["zip", { archive: { zip: {} } }, "/out/tree", "default/wf/pod/zip.zip"],
    ["none", { archive: { none: {} } }, "/out/tree", "default/wf/pod/tree"],
  ])("a folder comes back as it was (%s)", async (name, more, path, key) => {
    const artifact = { name, path, ...more };
    const saved = await store.save(artifact, join(work, "tree"), "wf/pod", SCOPE);
    expect(saved).toEqual({ ...artifact, s3: { key } });
    const to = join(work, `back-${name}`);
    expect(await store.fetch(saved, to, SCOPE)).toBe(true);
    expect(await readFile(join(to, "deep/ü.txt"), "utf8")).toBe("deep");
    expect(await readFile(join(to, "deep", "long-name-".repeat(20)), "utf8")).toBe("long");
    if (name !== "none") expect((await stat(join(to, "run.sh"))).mode & 0o777).toBe(0o750);
  });

  test("outputs that are stored unpacked under the same name get a key each", async () => {
    const output = (name: string, path: string, more: Partial<Artifact> = {}): Artifact => ({
      name,
      path,
      archive: { none: {} },
      ...more,
    });
    const siblings = [
      output("elsewhere", "/x/twin", { s3: { key: "default/twin" } }),
      output("first", "/x/twin"),
      output("packed", "/z/twin", { archive: {} }),
      output("second", "/y/twin"),
      output("log", "/y/main.log"),
    ];
    const files = [...siblings, output("main-logs", "/work/main.log")];
    const keys: unknown[] = [];
    for (const artifact of files) {
      const file = join(work, `twin-${artifact.name}`);
      await writeFile(file, artifact.name);
      const saved = await store.save(artifact, file, "wf/twins", { ...SCOPE, siblings });
      keys.push(saved.s3?.["key"]);
      const back = await store.open(saved, SCOPE);
      if (artifact.name !== "packed") {
        expect(await text(back?.body ?? Readable.from([]))).toBe(artifact.name);
      }
    }
    expect(keys).toEqual([
      "default/twin",
      "default/wf/twins/twin",
      "default/wf/twins/packed.tgz",
      "default/wf/twins/second/twin",
      "default/wf/twins/main.log",
      "default/wf/twins/main-logs/main.log",
    ]);
  });

  test.each([
    ["file-tar", {}],
    ["file-zip", { archive: { zip: {} } }],
    ["file-none", { archive: { none: {} } }],
  ])("a file comes back as a file (%s)", async (name, more) => {
    expect(await readFile(await roundTrip({ name, path: "/out/one", ...more }, "one"), "utf8"))
      .toBe("one");
  });

  test("a folder's files have any names", async () => {
    const names = ["a b", "a%41+b", "a&b<c>;", `it's "b"`, "a?b#c", "a*(b)!~=,:@$", "日本\\"]
      .sort();
    await mkdir(join(work, "odd"));
    for (const name of names) await writeFile(join(work, "odd", name), name);
    const artifact = { name: "odd", archive: { none: {} }, s3: { key: "default/odd" } };
    const to = await roundTrip(artifact, "odd");
    expect((await readdir(to)).sort()).toEqual(names);
    for (const name of names) expect(await readFile(join(to, name), "utf8")).toBe(name);
    await store.remove(artifact, SCOPE);
    expect(await store.list(artifact, SCOPE)).toEqual([]);
  });

  test("a key of its own is kept, and a gzipped tar is unpacked without a word", async () => {
    const artifact = { name: "own", path: "/x", s3: { key: "default/my/key.tgz" } };
    const saved = await store.save(artifact, join(work, "tree"), "wf/pod", SCOPE);
    expect(saved).toEqual(artifact);
    const plain = { name: "b", s3: { key: "default/my/key.tgz" } };
    expect(await store.fetch(plain, join(work, "own"), SCOPE)).toBe(true);
    expect((await readdir(join(work, "own"))).sort()).toEqual(["deep", "link", "run.sh"]);
    const packed = { ...plain, archive: { none: {} } };
    expect(await store.fetch(packed, join(work, "packed"), SCOPE)).toBe(true);
    expect((await stat(join(work, "packed"))).isFile()).toBe(true);
  });

  test("subPath is below the key", async () => {
    await store.save(
      { name: "s", path: "/out/tree", archive: { none: {} }, s3: { key: "default/sub" } },
      join(work, "tree"),
      "",
      SCOPE,
    );
    const artifact = { name: "s", s3: { key: "default/sub" }, subPath: "deep" };
    expect(await store.fetch(artifact, join(work, "sub"), SCOPE)).toBe(true);
    expect(await readFile(join(work, "sub/ü.txt"), "utf8")).toBe("deep");
  });

  test("mode and recurseMode are applied", async () => {
    const saved = await store.save({ name: "m", path: "/t" }, join(work, "tree"), "m", SCOPE);
    await store.fetch({ ...saved, mode: 0o700, recurseMode: true }, join(work, "m"), SCOPE);
    expect((await stat(join(work, "m/deep/ü.txt"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(work, "m"))).mode & 0o777).toBe(0o700);
  });

  test("what is not there is false, undefined or an empty list", async () => {
    const artifact = { name: "no", s3: { key: "default/nowhere/at/all" } };
    expect(await store.fetch(artifact, join(work, "no"), SCOPE)).toBe(false);
    expect(await store.open(artifact, SCOPE)).toBeUndefined();
    expect(await store.list(artifact, SCOPE)).toEqual([]);
    await store.remove(artifact, SCOPE);
  });

  test("open(), list() and remove() see what is stored", async () => {
    for (const key of ["default/gc/b", "default/gc/a/c", "default/gcx"]) {
      await store.save(
        { name: "f", archive: { none: {} }, s3: { key } },
        join(work, "one"),
        "",
        SCOPE,
      );
    }
    expect(await content(store, { name: "f", s3: { key: "default/gc/b" } })).toBe("one");
    expect((await store.open({ name: "f", s3: { key: "default/gc/b" } }, SCOPE))?.name).toBe("b");
    expect(await store.list({ name: "l", s3: { key: "default/gc/" } }, SCOPE)).toEqual([
      "default/gc/a/c",
      "default/gc/b",
    ]);
    await store.remove({ name: "f", s3: { key: "default/gc" } }, SCOPE);
    expect(await store.list({ name: "l", s3: { key: "default/gc" } }, SCOPE)).toEqual([
      "default/gcx",
    ]);
  });
}

describe("other locations", () => {
  const store = () =>
    createArtifactStore({
      config: {
        ...noConfig,
        secret: (_ns, name) => Promise.resolve(name === "s" ? { u: "me", p: "pass" } : undefined),
      },
      allowLocalGit: true,
    });
  let server: Server;
  let base = "";
  let large = Buffer.alloc(0);
  const received = new Map<string, string>();
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.url === "/large") {
        response.writeHead(200, { connection: "close", "content-length": large.length }).end(large);
        return;
      }
      const key = `${request.method} ${request.url}`;
      if (request.method === "PUT") received.set(key, await text(request));
      if (request.url === "/none") response.statusCode = 404;
      if (request.url?.startsWith("/bad")) response.statusCode = 500;
      response.end(`${request.headers.authorization ?? ""} ${request.headers["x-a"] ?? ""}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  test("http: headers, credentials, PUT, and what the server says", async () => {
    const auth = {
      basicAuth: {
        usernameSecret: { name: "s", key: "u" },
        passwordSecret: { name: "s", key: "p" },
      },
      // Argo Workflows adds these to what it returns.
      oauth2: {},
      clientCert: {},
    };
    const http = { url: `${base}/x`, headers: [{ name: "x-a", value: "1" }], auth };
    const basic = `Basic ${btoa("me:pass")}`;
    expect(await content(store(), { name: "h", http })).toBe(`${basic} 1`);
    expect(await store().fetch({ name: "h", http: { url: `${base}/none` } }, join(dir, "h"), SCOPE))
      .toBe(false);
    await expect(
      store().fetch({ name: "h", http: { url: `${base}/bad?k=1` } }, join(dir, "h"), SCOPE),
    )
      .rejects.toThrow(/GET http:\/\/127\.0\.0\.1:\d+\/bad answered 500$/);
    await writeFile(join(dir, "put"), "body");
    const out = { name: "p", http: { url: `${base}/put` }, archive: { none: {} } };
    expect(await store().save(out, join(dir, "put"), "p", SCOPE)).toEqual(out);
    expect(received.get("PUT /put")).toBe("body");
  });

  test("http: a server that closes the connection before a slow reader is done loses nothing", async () => {
    const bytes = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef!");
    large = bytes;
    const found = await store().open({ name: "a", http: { url: `${base}/large` } }, SCOPE);
    expect(found?.size).toBe(bytes.length);
    const parts: Buffer[] = [];
    for await (const part of found?.body ?? []) {
      parts.push(part as Buffer);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });

  test("raw is written as it is, and can't be an output", async () => {
    const raw = { name: "r", raw: { data: "text" } };
    expect(await store().fetch(raw, join(dir, "deep/raw"), SCOPE)).toBe(true);
    expect(await readFile(join(dir, "deep/raw"), "utf8")).toBe("text");
    expect(await content(store(), raw)).toBe("text");
    await expect(store().save(raw, join(dir, "deep/raw"), "p", SCOPE)).rejects.toThrow(
      'Output artifact "r" can\'t be stored in raw',
    );
  });

  test("git checks a revision out; local repositories only where allowed", async () => {
    const repo = join(dir, "repo");
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", repo, "-c", "user.name=t", "-c", "user.email=t@t", ...args], {
        stdio: "ignore",
      });
    await mkdir(repo);
    git("init", "-b", "main");
    await writeFile(join(repo, "f"), "first");
    git("add", "f");
    git("commit", "-m", "1");
    git("tag", "v1");
    await writeFile(join(repo, "f"), "second");
    git("commit", "-am", "2");
    const artifact = (more: object) => ({ name: "g", git: { repo: `file://${repo}`, ...more } });
    expect(await store().fetch(artifact({}), join(dir, "g1"), SCOPE)).toBe(true);
    expect(await readFile(join(dir, "g1/f"), "utf8")).toBe("second");
    await store().fetch(artifact({ revision: "v1" }), join(dir, "g2"), SCOPE);
    expect(await readFile(join(dir, "g2/f"), "utf8")).toBe("first");
    await store().fetch(
      artifact({ branch: "main", depth: 1, singleBranch: true }),
      join(dir, "g3"),
      SCOPE,
    );
    await expect(store().fetch(artifact({ revision: "nope" }), join(dir, "g4"), SCOPE))
      .rejects.toThrow(/^Cannot clone .*nope/s);
    const strict = createArtifactStore({ config: noConfig });
    await expect(strict.fetch(artifact({}), join(dir, "g5"), SCOPE)).rejects.toThrow("not allowed");
    await expect(
      strict.fetch({ name: "g", git: { repo: "ext::sh -c true" } }, join(dir, "g6"), SCOPE),
    )
      .rejects.toThrow("not allowed");
  });

  test("an unknown store and a missing repository say what to use instead", async () => {
    const gcs = { name: "a", gcs: { bucket: "b", key: "k" } };
    await expect(store().open(gcs, SCOPE)).rejects.toThrow(
      "Artifacts in gcs are not supported; use s3",
    );
    await expect(store().open({ name: "a", gcs: { key: "k" } }, SCOPE)).rejects.toThrow(
      "No artifact repository is configured",
    );
  });

  test("archives that point outside their folder are refused", async () => {
    const evil = join(dir, "evil.tgz");
    await mkdir(join(dir, "e"), { recursive: true });
    await writeFile(join(dir, "e/x"), "x");
    execFileSync("tar", [
      "-C",
      join(dir, "e"),
      "--transform=s,^x,../../escaped,",
      "-Pczf",
      evil,
      "x",
    ]);
    const repository = { type: "folder" as const, path: join(dir, "evil-repository") };
    const local = createArtifactStore({ repository, config: noConfig });
    const artifact = { name: "e", archive: { none: {} }, s3: { key: "default/evil.tgz" } };
    await local.save(artifact, evil, "", SCOPE);
    const { archive: _archive, ...packed } = artifact;
    await local.fetch(packed, join(dir, "into/deep/evil"), SCOPE).catch(() => {});
    await expect(stat(join(dir, "into/escaped"))).rejects.toThrow();
    await expect(stat(join(dir, "into/deep/escaped"))).rejects.toThrow();
  });
});
