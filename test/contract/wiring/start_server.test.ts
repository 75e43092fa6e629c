/** A server inside another program: several of them, stopped without a trace, and the modules of the command line. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { ConfigError, ListenError, startServer } from "../../../src/server.ts";
import { freePort } from "../../support/free_port.ts";

const PARAMS = { namespace: "default" };
const SPEC = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-guest-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function listeners(): Record<string, number> {
  return Object.fromEntries(
    process.eventNames().map((name) => [name, process.listenerCount(name)]),
  );
}

async function names(url: string): Promise<(string | undefined)[]> {
  const { items } = await createClient({ server: url }).call("WorkflowService_ListWorkflows", {
    params: PARAMS,
  });
  return (items ?? []).map(({ metadata }) => metadata.name);
}

async function create(url: string, name: string): Promise<void> {
  const body = { workflow: { metadata: { name }, spec: SPEC } };
  await createClient({ server: url }).call("WorkflowService_CreateWorkflow", {
    params: PARAMS,
    body,
  });
}

describe("startServer", () => {
  test("one after the other on one folder: the second has what the first was told", async () => {
    const store = `sqlite:${join(folder, "one")}`;
    const before = listeners();
    const globals = [globalThis.Request, globalThis.Response];
    for (const round of [0, 1, 2]) {
      const server = await startServer({ port: 0, store, executor: "none" });
      expect(await names(server.url)).toHaveLength(round);
      await create(server.url, `round-${round}`);
      await server.close();
      await server.close();
      await expect(names(server.url)).rejects.toMatchObject({ status: 0 });
      expect(listeners()).toEqual(before);
    }
    expect([globalThis.Request, globalThis.Response]).toEqual(globals);
  });

  test("two at once are strangers", async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => startServer({ port: 0, store: "memory:", executor: "none" })),
    );
    await create(one?.url ?? "", "only-here");
    expect(await names(two?.url ?? "")).toEqual([]);
    await one?.close();
    expect(await names(two?.url ?? "")).toEqual([]);
    await two?.close();
  });

  test("wrong options are told as the flags that they are", async () => {
    const wrong = { port: -1, authMode: ["client"], processes: "2" };
    await expect(startServer(wrong as never)).rejects.toThrow(ConfigError);
    await expect(startServer({ leaseTtl: 1 })).rejects.toThrow(/--lease-ttl is "1ms"/);
    await expect(startServer({ authMode: ["client"], store: "memory:" })).rejects.toThrow(
      /needs --token-file/,
    );
  });

  test.each<[string, Parameters<typeof startServer>[0], RegExp]>([
    ["an address of a store", { store: "redis://:p@ss/w#rd@h" }, /^--store: Invalid Redis URL/],
    ["a repository", { artifacts: "gcs://b" }, /^--artifacts: Artifact repository "gcs:\/\/b"/],
    ["a selector", { archiveSelector: "a in (" }, /^--archive-selector: unable to parse/],
    ["a retention", { archiveRetention: "some day" }, /^--archive-retention: retention rule/],
    ["origins", { accessControlAllowOrigin: "foo" }, /^--access-control-allow-origin: "foo" is no/],
    ["a file of keys", { callbackKeys: "/no/keys" }, /^--callback-keys: \/no\/keys: ENOENT/],
    [
      "a file of tokens",
      { authMode: ["client"], tokenFile: "/no/tokens", accessFile: "/no/rules" },
      /^--(access|token)-file: \/no\/(rules|tokens): ENOENT/,
    ],
  ])("%s that can't be read is told by its flag", async (_, option, message) => {
    const started = startServer({ port: 0, store: "memory:", executor: "none", ...option });
    const error = await started.then(() => undefined, (cause: unknown) => cause);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(message);
  });

  test("a text that can't be read is told although the store cannot be reached", async () => {
    const store = `redis://127.0.0.1:${await freePort()}`;
    const options = { port: 0, store, executor: "none", archiveRetention: "some day" } as const;
    await expect(startServer(options)).rejects.toThrow(/^--archive-retention/);
  });

  test("a failed start leaves neither its port nor its store", async () => {
    const file = join(folder, "broken.yaml");
    await writeFile(file, "tokens: 7");
    const port = await freePort();
    const store = `sqlite:${join(folder, "two")}`;
    const options = { port, store, executor: "none" } as const;
    const access = { authMode: ["client"], tokenFile: file, accessFile: file } as const;
    await expect(startServer({ ...options, ...access })).rejects.toThrow();
    await expect(startServer({ ...options, artifacts: "s3://nothing" })).rejects.toThrow(/s3:/);
    vi.stubEnv("KUBECONFIG", file);
    await expect(startServer({ ...options, manifestSource: "kubernetes" })).rejects.toThrow(
      "kubeconfig",
    );
    vi.unstubAllEnvs();
    const server = await startServer(options);
    await expect(startServer({ ...options, store: "memory:" })).rejects.toThrow(ListenError);
    await server.close();
  });

  test("a start that waits for its store can be given up", async () => {
    const store = `redis://127.0.0.1:${await freePort()}`;
    const signal = AbortSignal.timeout(300);
    await expect(startServer({ port: 0, store, logLevel: "silent", signal })).rejects.toThrow(
      /timeout|timed out/i,
    );
  });
});
