/**
 * What a store of a released version holds in the tests, in a form that any later program can lay out again: the file of
 * the embedded store, and the commands that rebuild what was in Redis (a dump would need the Redis that wrote it).
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, RESP_TYPES } from "redis";
import { createClient as createSluiceClient } from "../../src/client/client.ts";
import type { Workflow } from "../../src/spec/manifest.ts";

/** A folder for each version. */
export const STORES = join(import.meta.dirname, "../fixtures/stores");
/** Files in the folder of a version. */
export const SQLITE_FILE = "sluice.db";
export const REDIS_FILE = "redis.json";

/** Workflows of every store, by what has become of them. */
export const STORED = { waiting: "waits", failed: "failed", done: "done" } as const;
export const STORED_TEMPLATE = "approve";
export const STORED_CRON = "nightly";

const NAMESPACE = "default";
/** Shards of the stores: few, because each has keys of its own. */
export const STORED_SHARDS = 2;
const PATIENCE_MS = 30_000;

export function releasedVersions(): string[] {
  return readdirSync(STORES).sort();
}

/** Calls that fill a store, and that go on with it. */
export class Filled {
  readonly #client: ReturnType<typeof createSluiceClient>;

  constructor(url: string) {
    this.#client = createSluiceClient({ server: url });
  }

  /** A waiting, a failed and a finished workflow, a template and a cron workflow. */
  async fill(): Promise<void> {
    const params = { namespace: NAMESPACE };
    await this.#client.call("WorkflowTemplateService_CreateWorkflowTemplate", {
      params,
      body: { template: { metadata: { name: STORED_TEMPLATE }, spec: SPEC } },
    });
    await this.#client.call("CronWorkflowService_CreateCronWorkflow", {
      params,
      body: {
        cronWorkflow: {
          metadata: { name: STORED_CRON },
          spec: { schedules: ["30 2 * * *"], suspend: true, workflowSpec: SPEC },
        },
      },
    });
    for (const name of Object.values(STORED)) {
      await this.#client.call("WorkflowService_CreateWorkflow", {
        params,
        body: {
          workflow: {
            metadata: { name, labels: { made: "by-hand" } },
            spec: {
              workflowTemplateRef: { name: STORED_TEMPLATE },
              arguments: { parameters: [{ name: "who", value: name }] },
            },
          },
        },
      });
      await this.until(name, (workflow) => waitingSteps(workflow).length === 1);
    }
    await this.#client.call("WorkflowService_StopWorkflow", {
      params: { ...params, name: STORED.failed },
      body: { nodeFieldSelector: "displayName=wait", message: "said no" },
    });
    await this.resume(STORED.done);
    await this.until(STORED.done, ({ status }) => status?.phase === "Succeeded");
    await this.until(STORED.failed, ({ status }) => status?.phase === "Failed");
  }

  /** Phases by name. */
  async phases(): Promise<Record<string, string | undefined>> {
    const { items } = await this.#client.call("WorkflowService_ListWorkflows", {
      params: { namespace: NAMESPACE },
      query: { "listOptions.labelSelector": "made=by-hand" },
    });
    return Object.fromEntries(
      (items ?? []).map(({ metadata, status }) => [metadata.name, status?.phase]),
    );
  }

  /** Names of templates and cron workflows. */
  async manifests(): Promise<(string | undefined)[]> {
    const params = { namespace: NAMESPACE };
    const lists = await Promise.all([
      this.#client.call("WorkflowTemplateService_ListWorkflowTemplates", { params }),
      this.#client.call("CronWorkflowService_ListCronWorkflows", { params }),
    ]);
    return lists.flatMap(({ items }) => (items ?? []).map(({ metadata }) => metadata.name));
  }

  async resume(name: string): Promise<void> {
    await this.#client.call("WorkflowService_ResumeWorkflow", {
      params: { namespace: NAMESPACE, name },
      body: {},
    });
  }

  async retry(name: string): Promise<void> {
    await this.#client.call("WorkflowService_RetryWorkflow", {
      params: { namespace: NAMESPACE, name },
      body: {},
    });
  }

  /** The workflow once it is as wanted. @throws if that takes too long */
  async until(name: string, isSo: (workflow: Workflow) => boolean): Promise<Workflow> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const workflow = await this.#client.call("WorkflowService_GetWorkflow", {
        params: { namespace: NAMESPACE, name },
      });
      if (isSo(workflow)) return workflow;
      if (Date.now() > deadline) throw new Error(`${name} is ${JSON.stringify(workflow.status)}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/** Names of the steps that wait for a call. */
export function waitingSteps({ status }: Workflow): (string | undefined)[] {
  return Object.values(status?.nodes ?? {})
    .filter(({ type, phase }) => type === "Suspend" && phase === "Running")
    .map(({ displayName }) => displayName);
}

const SPEC = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "who", value: "nobody" }] },
  templates: [
    {
      name: "main",
      steps: [
        [{ name: "skipped", template: "wait", when: "'{{workflow.parameters.who}}' == 'nobody'" }],
        [{
          name: "wait",
          template: "wait",
          arguments: { parameters: [{ name: "who", value: "{{workflow.parameters.who}}" }] },
        }],
      ],
    },
    { name: "wait", inputs: { parameters: [{ name: "who", default: "" }] }, suspend: {} },
  ],
};

/** Lays the embedded store of a version into a folder. */
export function layOutSqlite(version: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(STORES, version, SQLITE_FILE), join(folder, SQLITE_FILE));
}

/** Lays the store of a version into an empty Redis. */
export async function layOutRedis(version: string, url: string): Promise<void> {
  const commands: string[][] = JSON.parse(readFileSync(join(STORES, version, REDIS_FILE), "utf8"));
  const client = await createClient({ url }).connect();
  try {
    for (const command of commands) {
      await client.sendCommand(command.map((text) => Buffer.from(text, "latin1")));
    }
  } finally {
    client.destroy();
  }
}

/** What Redis answers, its bytes as characters. */
type Reply = string | Reply[];
type Ask = (...command: string[]) => Promise<Reply>;

/** Commands that make a key of each type again from what it holds. */
const REBUILD: Record<string, (key: string, ask: Ask) => Promise<string[][]>> = {
  string: async (key, ask) => [["SET", key, String(await ask("GET", key))]],
  hash: async (key, ask) => [["HSET", key, ...listOf(await ask("HGETALL", key))]],
  set: async (key, ask) => [["SADD", key, ...listOf(await ask("SMEMBERS", key))]],
  list: async (key, ask) => [["RPUSH", key, ...listOf(await ask("LRANGE", key, "0", "-1"))]],
  zset: async (key, ask) => {
    const pairs = listOf(await ask("ZRANGE", key, "0", "-1", "WITHSCORES"));
    // Scores come after their members, and are given before them.
    return [[
      "ZADD",
      key,
      ...pairs.flatMap((text, at) => at % 2 === 0 ? [pairs[at + 1] ?? "", text] : []),
    ]];
  },
  stream: async (key, ask) => {
    const entries = await ask("XRANGE", key, "-", "+") as [id: string, fields: string[]][];
    const groups = (await ask("XINFO", "GROUPS", key) as Reply[][]).map(membersOf);
    const { "last-generated-id": last } = membersOf(await ask("XINFO", "STREAM", key) as Reply[]);
    // A group that is made on a stream that is not there makes it.
    return [
      ...groups.map((
        { name, "last-delivered-id": id },
      ) => ["XGROUP", "CREATE", key, `${name}`, `${id}`, "MKSTREAM"]),
      ...entries.map(([id, fields]) => ["XADD", key, id, ...fields]),
      ["XSETID", key, `${last}`],
    ];
  },
};

function listOf(reply: Reply): string[] {
  return [reply].flat().map(String);
}

/** What Redis answers as names and values in turns. */
function membersOf(reply: Reply[]): Record<string, Reply> {
  return Object.fromEntries(
    reply.flatMap((name, at) => at % 2 === 0 ? [[String(name), reply[at + 1] ?? ""]] : []),
  );
}

/**
 * Commands that rebuild what is in Redis, with their bytes as characters. What has a time to live is left out: it would be
 * gone by now.
 * @throws {Error} for a key of a type that has no commands here
 */
export async function exportRedis(url: string): Promise<string[][]> {
  // Its older protocol has lists only.
  const client = await createClient({ url, RESP: 2 }).connect();
  const typed = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const charactersOf = (given: unknown): Reply =>
    Array.isArray(given)
      ? given.map(charactersOf)
      : Buffer.isBuffer(given)
      ? given.toString("latin1")
      : String(given);
  const ask: Ask = async (...command) =>
    charactersOf(await typed.sendCommand(command.map((text) => Buffer.from(text, "latin1"))));
  try {
    const commands: string[][] = [];
    for (const key of listOf(await ask("KEYS", "*")).sort()) {
      if (await ask("PTTL", key) !== "-1") continue;
      const type = String(await ask("TYPE", key));
      const rebuild = REBUILD[type];
      if (rebuild === undefined) throw new Error(`${key} is a ${type}: say how to rebuild it`);
      commands.push(...await rebuild(key, ask));
    }
    return commands;
  } finally {
    client.destroy();
  }
}
