/** Files and connections of transfers that fail: none stays open. Linux tells which files a process has open. */
import { mkdir, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import { freePort } from "../../support/free_port.ts";

const SCOPE = { namespace: "default" };
const NONE = { archive: { none: {} } };
const config = {
  configMap: () => Promise.resolve(undefined),
  secret: () => Promise.resolve(undefined),
};
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-ends-"));
  await writeFile(join(dir, "large"), Buffer.alloc(4 << 20, 1));
  await mkdir(join(dir, "tree"));
  await writeFile(join(dir, "tree/one"), Buffer.alloc(4 << 20, 2));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Files of this test that the process has open. */
async function openFiles(): Promise<string[]> {
  const names = await readdir("/proc/self/fd");
  const paths = await Promise.all(
    names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")),
  );
  return paths.filter((path) => path.startsWith(dir));
}

describe("a file that cannot be stored", () => {
  const s3 = async () => ({
    s3: { endpoint: `127.0.0.1:${await freePort()}`, bucket: "b", key: "k", insecure: true },
  });

  test.each<[string, string, object, object]>([
    ["as it is, to a server that is away", "large", NONE, {}],
    ["as a tar, to a server that is away", "large", {}, {}],
    ["as a zip, to a server that is away", "large", { archive: { zip: {} } }, {}],
    ["as a folder, to a server that is away", "tree", NONE, {}],
    ["that is too large", "large", NONE, { maxBytes: 1_000 }],
  ])("%s", async (_, name, archive, options) => {
    const store = createArtifactStore({ config, ...options });
    const artifact = { name: "a", ...archive, ...await s3() };
    await expect(store.save(artifact, join(dir, name), "p", SCOPE)).rejects.toThrow();
    await vi.waitFor(async () => expect(await openFiles()).toEqual([]));
  });

  test.each([["as it is", NONE], ["as a tar", {}]])(
    "%s, to a URL whose secret is missing",
    async (_, archive) => {
      const store = createArtifactStore({ config });
      const auth = { basicAuth: { usernameSecret: { name: "no", key: "no" } } };
      const artifact = { name: "a", ...archive, http: { url: "http://127.0.0.1:1/", auth } };
      await expect(store.save(artifact, join(dir, "large"), "p", SCOPE)).rejects.toThrow("Secret");
      await vi.waitFor(async () => expect(await openFiles()).toEqual([]));
    },
  );

  test.each([["as it is", NONE], ["as a tar", {}]])(
    "%s, to a URL that is away",
    async (_, archive) => {
      const store = createArtifactStore({ config });
      const http = { url: `http://127.0.0.1:${await freePort()}/` };
      const artifact = { name: "a", ...archive, http };
      await expect(store.save(artifact, join(dir, "large"), "p", SCOPE)).rejects.toThrow();
      await vi.waitFor(async () => expect(await openFiles()).toEqual([]));
    },
  );
});

describe("an upload that its server does not take", () => {
  test.each([["as it is", NONE], ["as a tar", {}]])(
    "%s, ends when nobody waits for it any more",
    async (_, archive) => {
      const server = createServer((request) => void request.pause());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        const { port } = server.address() as AddressInfo;
        const stop = new AbortController();
        const store = createArtifactStore({ config });
        const artifact = { name: "a", ...archive, http: { url: `http://127.0.0.1:${port}/` } };
        const saving = store.save(artifact, join(dir, "large"), "p", SCOPE, stop.signal);
        const connections = promisify(server.getConnections.bind(server));
        await vi.waitFor(async () => expect(await connections()).toBe(1));
        setTimeout(() => stop.abort(new Error("enough")), 200);
        await expect(saving).rejects.toThrow("enough");
        await vi.waitFor(async () => expect(await openFiles()).toEqual([]));
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },
  );
});

describe("an answer that is not taken", () => {
  let server: Server;
  let url: string;
  beforeEach(async () => {
    server = createServer((_, response) => {
      response.writeHead(200, { "content-length": String(64 << 20) });
      const more = () => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterEach(() => server.closeAllConnections());

  test.each([["a file", NONE], ["an archive", {}]])(
    "because nobody waits any more for %s that comes a byte at a time",
    async (_, archive) => {
      server.removeAllListeners("request");
      server.on("request", (_, response) => {
        response.writeHead(200);
        const more = setInterval(() => response.write("a"), 20);
        response.once("close", () => clearInterval(more));
      });
      const store = createArtifactStore({ config });
      const artifact = { name: "a", ...archive, http: { url } };
      const stop = new AbortController();
      const fetching = store.fetch(artifact, join(dir, "got"), SCOPE, stop.signal);
      const connections = promisify(server.getConnections.bind(server));
      await vi.waitFor(async () => expect(await connections()).toBe(1));
      setTimeout(() => stop.abort(new Error("enough")), 200);
      await expect(fetching).rejects.toThrow("enough");
      await vi.waitFor(async () => expect(await connections()).toBe(0));
      expect(await openFiles()).toEqual([]);
    },
  );

  test("because it breaks off, or is no whole archive, which is told with its name and place", async () => {
    server.removeAllListeners("request");
    server.on("request", (request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("abc");
      if (request.url?.startsWith("/short")) setTimeout(() => response.destroy(), 50);
      else response.end("x".repeat(97));
    });
    const store = createArtifactStore({ config });
    const fetchAt = (path: string, archive: object) =>
      store.fetch(
        { name: "a", http: { url: `${url}${path}?secret` }, ...archive },
        join(dir, "got"),
        SCOPE,
      );
    await expect(fetchAt("short", NONE)).rejects.toThrow(
      `Artifact "a" in ${url}short: ${url.slice(0, -1)} broke off its answer`,
    );
    await expect(fetchAt("text", { archive: { tar: {} } })).rejects.toThrow(
      `Artifact "a" in ${url}text: `,
    );
  });

  test("because it is too large", async () => {
    const store = createArtifactStore({ config, maxBytes: 1_000 });
    const artifact = { name: "a", http: { url } };
    await expect(store.fetch(artifact, join(dir, "got"), SCOPE)).rejects.toThrow("too large");
    const connections = promisify(server.getConnections.bind(server));
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  });
});
