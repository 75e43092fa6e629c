/**
 * Files of artifacts from a real server: downloads, folders as pages, the archive's routes, uploads for a submission.
 */
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import { powerlessCaller } from "../../../../src/auth/caller.ts";
import { createClient } from "../../../../src/client/client.ts";
import { startApiServer } from "../../../support/api_server.ts";
import { runSluice } from "../../../support/sluice_cli.ts";

const UID = "00000000-0000-4000-8000-000000000007";
const none = () => Promise.resolve(undefined);
const stops: (() => Promise<unknown>)[] = [];
let folder: string;
let base: string;

const node = {
  id: "w-1",
  name: "w",
  type: "Pod",
  phase: "Succeeded",
  startedAt: "2023-05-04T10:01:00Z",
  finishedAt: "2023-05-04T10:05:00Z",
  inputs: { artifacts: [{ name: "seed", raw: { data: "hello" } }] },
  outputs: {
    artifacts: [
      { name: "report", s3: { key: "files/w/report" } },
      { name: "site", s3: { key: "files/w/site" } },
      { name: "packed", s3: { key: "files/w/packed.tgz" } },
      { name: "gone", s3: { key: "files/w/gone" } },
    ],
  },
};
const SEED = {
  objects: [
    {
      kind: "Workflow",
      metadata: {
        name: "w",
        namespace: "files",
        uid: UID,
        creationTimestamp: "2023-05-04T10:00:00Z",
      },
      spec: { entrypoint: "a", templates: [{ name: "a", container: { image: "x" } }] },
      status: {
        phase: "Succeeded",
        startedAt: "2023-05-04T10:01:00Z",
        finishedAt: "2023-05-04T10:05:00Z",
        nodes: { "w-1": node },
      },
    },
    {
      kind: "WorkflowTemplate",
      metadata: { name: "eat", namespace: "files" },
      spec: {
        entrypoint: "a",
        arguments: { artifacts: [{ name: "food", s3: { key: "default" } }] },
        templates: [{
          name: "a",
          inputs: { artifacts: [{ name: "food", path: "/food" }] },
          container: { image: "x" },
        }],
      },
    },
  ],
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-files-"));
  const store = createArtifactStore({
    repository: { type: "folder", path: folder },
    config: { configMap: none, secret: none },
  });
  await mkdir(join(folder, "files/w/report/deep er"), { recursive: true });
  await writeFile(join(folder, "files/w/report/a&b.txt"), "text");
  await writeFile(join(folder, "files/w/report/deep er/x.html"), "<b>x</b>");
  await mkdir(join(folder, "files/w/site"), { recursive: true });
  await writeFile(join(folder, "files/w/site/index.html"), "<h1>hi</h1>");
  await writeFile(join(folder, "files/w/packed.tgz"), "not really");
  await writeFile(join(folder, "files/w/reporter"), "a neighbour whose key begins alike");
  const { server, stop } = await startApiServer({
    gatekeeper: {
      server: true,
      authenticators: [{
        authenticate: (credential) =>
          Promise.resolve(
            credential === "Bearer nobody" ? powerlessCaller({ subject: "nobody" }) : undefined,
          ),
      }],
    },
    settings: { archive: true },
    artifacts: store,
    maxUploadBytes: 100_000,
  });
  stops.push(stop);
  base = `http://127.0.0.1:${server.port}`;
  await fetch(`${base}/test/seed`, { method: "PUT", body: JSON.stringify(SEED) });
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await rm(folder, { recursive: true, force: true });
});

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(`${base}${path}`, { redirect: "manual", ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const FILES = "/artifact-files/files/workflows/w/w-1/outputs";

test("a folder is shown as a page of links, and its files are served without rights", async () => {
  const bare = await get(`${FILES}/report`);
  expect([bare.status, bare.headers.get("location")]).toEqual([307, "./report/"]);
  const page = await get(`${FILES}/report/`);
  expect(page.text).toBe(
    '<html><body><ul>\n<li><a href="..">..</a></li>\n' +
      '<li><a href="./a%26b.txt">a&amp;b.txt</a></li>\n' +
      '<li><a href="./deep%20er/">deep er/</a></li>\n</ul></body></html>\n',
  );
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("sandbox");
  expect(page.headers.get("x-frame-options")).toBe("SAMEORIGIN");
  const inner = await get(`${FILES}/report/deep%20er/x.html`);
  expect(inner.text).toBe("<b>x</b>");
  expect(inner.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(inner.headers.get("x-content-type-options")).toBe("nosniff");
  expect(inner.headers.get("content-disposition")).toBe('filename="x.html"');
  expect((await get(`${FILES}/report/deep%20er`)).headers.get("location")).toBe("./deep%20er/");
  expect((await get(`${FILES}/report/deep%20er/`)).text).toContain("x.html");
});

test("a folder with an index.html goes there; an archive is served as it is stored", async () => {
  const site = await get(`${FILES}/site/`);
  expect([site.status, site.headers.get("location")]).toEqual([307, "index.html"]);
  expect((await get(`${FILES}/site/index.html`)).text).toBe("<h1>hi</h1>");
  const packed = await get(`${FILES}/packed`);
  expect([packed.text, packed.headers.get("content-type"), packed.headers.get("content-length")])
    .toEqual(["not really", "application/gzip", "10"]);
  const head = await get(`${FILES}/packed`, { method: "HEAD" });
  expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", "10"]);
});

test("inputs, workflows of the archive, and the short routes", async () => {
  const input = "/artifact-files/files/workflows/w/w-1/inputs/seed";
  expect((await get(input)).text).toBe("hello");
  expect((await get(`/artifact-files/files/archived-workflows/${UID}/w-1/inputs/seed`)).text)
    .toBe("hello");
  expect((await get("/input-artifacts/files/w/w-1/seed")).text).toBe("hello");
  expect((await get(`/input-artifacts-by-uid/${UID}/w-1/seed`)).text).toBe("hello");
  expect((await get("/artifacts/files/w/w-1/report")).text).toContain("/artifact-files/");
});

test("what is not there is 404, what makes no sense 400, and what is not allowed 403", async () => {
  for (
    const [path, status] of [
      [`${FILES}/gone`, 404],
      [`${FILES}/gone/`, 404],
      [`${FILES}/packed/`, 404],
      [`${FILES}/report/none.txt`, 404],
      [`${FILES}/report/%2e%2e/packed.tgz`, 404],
      [`${FILES}/report/..%2Fpacked.tgz`, 404],
      [`${FILES}/constructor`, 404],
      ["/artifact-files/files/workflows/w/__proto__/outputs/report", 404],
      ["/artifact-files/files/workflows/none/w-1/outputs/report", 404],
      ["/artifact-files/other/workflows/w/w-1/outputs/report", 404],
      [`/artifact-files/other/archived-workflows/${UID}/w-1/outputs/packed`, 404],
      ["/artifact-files/files/archived-workflows/none/w-1/outputs/report", 404],
      ["/artifact-files/files/templates/w/w-1/outputs/report", 400],
      ["/artifact-files/files/workflows/w/w-1/both/report", 400],
      ["/input-artifacts/files/w/w-1/seed/more", 404],
      ["/artifact-files/files/workflows/w/w-1/inputs/seed/more", 404],
    ] as const
  ) {
    const answer = await get(path);
    expect([path, answer.status]).toEqual([path, status]);
    expect(JSON.parse(answer.text)).toMatchObject({ message: expect.any(String) });
  }
  const denied = await get(`${FILES}/packed`, { headers: { authorization: "Bearer nobody" } });
  expect(denied.status).toBe(403);
});

test("an uploaded file becomes the argument of a submission", async () => {
  const body = new FormData();
  body.append("note", "before");
  body.append("file", new Blob(["rice\r\n--and beans"]), "C:\\my dinner.txt");
  const answer = await get("/upload-artifacts/files/eat/food", { method: "POST", body });
  expect(answer.status).toBe(200);
  const { name, key } = JSON.parse(answer.text);
  expect(name).toBe("food");
  expect(key).toMatch(/^uploads\/files\/[0-9a-f-]{36}\/my dinner\.txt$/);
  let stored = "";
  for await (const chunk of createReadStream(join(folder, key), "utf8")) stored += chunk;
  expect(stored).toBe("rice\r\n--and beans");
  const submitted = await get("/api/v1/workflows/files/submit", {
    method: "POST",
    body: JSON.stringify({
      resourceKind: "WorkflowTemplate",
      resourceName: "eat",
      submitOptions: { artifacts: [`food=${key}`] },
    }),
  });
  expect(JSON.parse(submitted.text).spec.arguments.artifacts).toEqual([
    { name: "food", s3: { key } },
  ]);
});

test("the client uploads too", async () => {
  const { key = "" } = await createClient({ server: base }).upload(
    "ArtifactService_UploadArtifact",
    { params: { namespace: "files", templateName: "eat", artifactName: "food" } },
    { name: "soup", content: new Blob(["hot"]) },
  ) as { key?: string };
  let stored = "";
  for await (const chunk of createReadStream(join(folder, key), "utf8")) stored += chunk;
  expect(stored).toBe("hot");
});

test.each([
  ["too long", "n".repeat(300)],
  ["too long in bytes", "é".repeat(200)],
  ["too long behind a path", `/a/b/${"n".repeat(300)}`],
  ["a way up", "../.."],
  ["no name", "a/"],
  ["a control character", "a\u0001b"],
])("a file name that is %s is refused, and nothing of the server is shown", async (_, name) => {
  const body = new FormData();
  body.append("file", new Blob(["x"]), name);
  const answer = await get("/upload-artifacts/files/eat/food", { method: "POST", body });
  expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/name/)]);
  expect(answer.text).not.toContain(folder);
});

test("what the system says about a file is not shown to callers", async () => {
  const key = `files/${"n".repeat(300)}`;
  const stored = createArtifactStore({
    repository: { type: "folder", path: folder },
    config: { configMap: none, secret: none },
  });
  const failing = stored.write({ name: "a", s3: { key } }, Readable.from(["x"]), {
    namespace: "files",
  });
  const error = await failing.catch((error: Error) => error);
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).message).toMatch(/^Artifact "a" in .*255 bytes/);
  expect((error as Error).message).not.toContain(folder);
});

test("uploads are refused before they are read, and leave nothing behind", async () => {
  const upload = (path: string, size: number, headers: Record<string, string> = {}) => {
    const body = new FormData();
    body.append("file", new Blob([new Uint8Array(size)]), "f");
    return get(path, { method: "POST", body, headers });
  };
  expect((await upload("/upload-artifacts/files/none/food", 1)).status).toBe(404);
  expect((await upload("/upload-artifacts/files/eat/none", 1)).status).toBe(404);
  const nobody = { authorization: "Bearer nobody" };
  expect((await upload("/upload-artifacts/files/eat/food", 1, nobody)).status).toBe(403);
  expect((await upload("/upload-artifacts/files/eat/food", 200_000)).status).toBe(413);
  const empty = await get("/upload-artifacts/files/eat/food", { method: "POST" });
  expect(empty.status).toBe(400);
  const wrong = await get("/upload-artifacts/files/eat/food");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
});

test("`sluice cp` writes files as they arrive, and leaves no part of one that breaks off", async () => {
  const target = await mkdtemp(join(tmpdir(), "sluice-copied-"));
  const copy = (artifact: string) =>
    runSluice(["cp", "w", target, "--artifact-name", artifact, "-s", base, "-n", "files"]);
  try {
    expect(await copy("packed")).toMatchObject({ status: 0, err: "" });
    expect(await copy("gone")).toMatchObject({ status: 1 });
    const files = await readdir(target, { recursive: true, withFileTypes: true });
    expect(files.filter((one) => one.isFile()).map(({ name }) => name)).toEqual(["packed.tgz"]);
    const [file] = files.filter((one) => one.isFile());
    const packed = await readFile(join(file?.parentPath ?? "", "packed.tgz"));
    expect(packed).toEqual(await readFile(join(folder, "files/w/packed.tgz")));
  } finally {
    await rm(target, { recursive: true, force: true });
  }
});

test("`sluice cp` goes on after what is a folder or gone, and says so", async () => {
  const target = await mkdtemp(join(tmpdir(), "sluice-copied-"));
  try {
    const { status, out, err } = await runSluice(["cp", "w", target, "-s", base, "-n", "files"]);
    expect(out).toMatch(/^Created ".*packed\.tgz"\n$/);
    expect(err).toContain('Not copied: artifact "report" is a folder');
    expect(err).toContain('Not copied: artifact "site" is a folder');
    expect(err).toContain('Not copied: artifact "gone" is no longer stored');
    expect(err).toContain("Error: 3 of 4 artifacts were not copied\n");
    expect(status).toBe(1);
  } finally {
    await rm(target, { recursive: true, force: true });
  }
});

test.each([
  { name: "../../../../../../escaped" },
  { name: "a", s3: { key: "files/.." } },
])("`sluice cp` writes nothing outside of its folder: %j", async (artifact) => {
  const outer = await mkdtemp(join(tmpdir(), "sluice-copied-"));
  const hostile = createServer((request, response) => {
    const nodes = { n: { ...node, id: "n", outputs: { artifacts: [artifact] } } };
    if (request.url?.startsWith("/artifacts/")) response.end("x");
    else {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ metadata: { name: "w" }, spec: {}, status: { nodes } }));
    }
  });
  const port = await new Promise((resolve) =>
    hostile.listen(0, "127.0.0.1", () => resolve((hostile.address() as AddressInfo).port))
  );
  try {
    const args = [
      "cp",
      "w",
      join(outer, "in"),
      "-s",
      `http://127.0.0.1:${port}`,
      "--path",
      "{artifactName}",
    ];
    const { status } = await runSluice(args);
    expect(status).toBe(1);
    const files = await readdir(outer, { recursive: true, withFileTypes: true });
    expect(files.filter((one) => one.isFile())).toEqual([]);
    expect(existsSync(join(outer, "../../../../../escaped"))).toBe(false);
  } finally {
    hostile.close();
    await rm(outer, { recursive: true, force: true });
  }
});
