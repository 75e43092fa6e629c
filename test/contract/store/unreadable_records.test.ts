/**
 * Damaged records in the store: each affects nothing but itself. Lists show it, a read says what is wrong, it can be
 * deleted, and then its name is free. On real servers with stores that outlive them; the bytes are damaged between two
 * runs.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient, RESP_TYPES } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedisServer } from "../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { until } from "../../support/until.ts";

/** Damages a text; undefined removes it. */
type Damage = (text: Buffer) => Buffer | undefined;

const DAMAGES: Record<string, Damage> = {
  gone: () => undefined,
  empty: () => Buffer.from(""),
  half: (text) => text.subarray(0, text.length / 2),
  "a byte that is no UTF-8": (text) => changed(text, text.length >> 1, 0xff),
  "a byte less": (text) => text.subarray(1),
  "a quotation mark more": (text) => changed(text, text.indexOf('"') + 1, 0x22),
  null: () => Buffer.from("null"),
  list: () => Buffer.from("[]"),
  number: () => Buffer.from("17"),
  "empty object": () => Buffer.from("{}"),
  "only a schema": () => Buffer.from('{"schema":2}'),
  "a newer schema": () => Buffer.from('{"schema":99,"metadata":{}}'),
  "members of other types": () => Buffer.from('{"schema":2,"metadata":7,"spec":[],"id":{}}'),
  "members that are null": () => Buffer.from('{"schema":2,"metadata":null,"spec":null,"id":null}'),
};

function changed(text: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(text);
  if (copy.length > 0) copy[Math.max(0, Math.min(at, copy.length - 1))] = byte;
  return copy;
}

/** Where a part of an actor or a manifest is stored. `node` is any one of its nodes, `index` its index entry. */
type Place = "h" | "s" | "a" | "node" | "index" | "version";
const PLACES: readonly Place[] = ["h", "s", "a", "node", "index", "version"];

interface Backend {
  flag: string;
  damage(actor: string, place: Place, damage: Damage): Promise<void>;
  damageManifest(kind: string, namespace: string, name: string, damage: Damage): Promise<void>;
  /** What is left of actors whose id has this prefix. */
  tracesOf(actor: string): Promise<string[]>;
  stop(): Promise<unknown>;
}

const BACKENDS: Record<string, () => Promise<Backend>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), "sluice-unreadable-"));
    const file = join(folder, "sluice.db");
    const open = <T>(use: (database: DatabaseSync) => T): T => {
      const database = new DatabaseSync(file);
      try {
        return use(database);
      } finally {
        database.close();
      }
    };
    const text = (value: unknown) => Buffer.from(String(value));
    return {
      flag: `sqlite:${folder}`,
      damage: (actor, place, damage) =>
        Promise.resolve(open((database) => {
          const row = database.prepare("SELECT * FROM actor WHERE id = ?").get(actor) ?? {};
          if (place === "version") return;
          if (place === "index") {
            const sql = "UPDATE actor SET index_entry = CAST(? AS TEXT) WHERE id = ?";
            const after = damage(text(row["index_entry"])) ?? Buffer.from("");
            database.prepare(sql).run(after, actor);
            return;
          }
          const like = place === "node" ? "n:%" : place;
          const part = database.prepare(
            `SELECT actor, key, coalesce(part.text, shared.text) AS text
             FROM part LEFT JOIN shared ON shared.row = part.shared
             WHERE actor = ? AND key LIKE ? LIMIT 1`,
          ).get(row["row"] ?? 0, like);
          if (part === undefined) return;
          const after = damage(text(part["text"]));
          const where = "WHERE actor = ? AND key = ?";
          const own = [part["actor"] ?? 0, part["key"] ?? ""] as const;
          if (after === undefined) database.prepare(`DELETE FROM part ${where}`).run(...own);
          else {
            const sql = `UPDATE part SET text = CAST(? AS TEXT) ${where}`;
            database.prepare(sql).run(after, ...own);
          }
        })),
      damageManifest: (kind, namespace, name, damage) =>
        Promise.resolve(open((database) => {
          const where = "WHERE kind = ? AND namespace = ? AND name = ?";
          const row = database.prepare(`SELECT * FROM manifest ${where}`).get(
            kind,
            namespace,
            name,
          );
          const after = damage(text(row?.["text"])) ?? Buffer.from("");
          database.prepare(`UPDATE manifest SET text = CAST(? AS TEXT) ${where}`)
            .run(after, kind, namespace, name);
        })),
      tracesOf: (actor) =>
        Promise.resolve(open((database) => {
          const ids = database.prepare("SELECT id FROM actor WHERE id LIKE ?").all(`%${actor}%`);
          const terms = database.prepare("SELECT id FROM term WHERE id LIKE ?").all(`%${actor}%`);
          const parts = database.prepare(
            "SELECT key AS id FROM part WHERE actor NOT IN (SELECT row FROM actor)",
          ).all();
          return [...ids, ...terms, ...parts].map(({ id }) => String(id));
        })),
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  },

  async redis() {
    const redis = await startRedisServer();
    const client = createClient({ url: redis.url })
      .withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    await client.connect();
    const keys = async (pattern: string) => (await client.keys(pattern)).map(String);
    const put = async (key: string, field: string | Buffer, after: Buffer | undefined) => {
      if (after === undefined) await client.hDel(key, field);
      else await client.hSet(key, field, after);
    };
    return {
      flag: redis.url,
      async damage(actor, place, damage) {
        const [key = ""] = await keys(`*:a:${actor}`);
        const fields = (await client.hKeys(key)).map(String);
        const field = place === "node"
          ? fields.find((one) => one.startsWith("n:"))
          : { h: "h", s: "s", a: "a", index: "@i", version: "@v" }[place];
        if (field === undefined) return;
        await put(key, field, damage(Buffer.from(await client.hGet(key, field) ?? "")));
      },
      async damageManifest(kind, namespace, name, damage) {
        const [key = ""] = await keys(`*k:${kind}`);
        const place = `${namespace}\0${name}`;
        await put(
          key,
          place,
          damage(Buffer.from(await client.hGet(key, place) ?? "")) ??
            Buffer.from(""),
        );
      },
      async tracesOf(actor) {
        const found = [...await keys(`*:a:${actor}*`), ...await keys("*}:g:*")];
        for (const key of await keys("*:x:*")) {
          const members = (await client.zRange(key, 0, -1)).map(String);
          // An object whose labels nobody can read any more may stay filed under them.
          const isLabel = key.includes(":x:l:");
          found.push(...members.filter((one) => !isLabel && one.startsWith(actor)));
        }
        return found;
      },
      async stop() {
        client.destroy();
        await redis.stop();
      },
    };
  },
};

const SUSPENDED = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "p", value: "v" }] },
  templates: [
    { name: "main", steps: [[{ name: "one", template: "wait" }]] },
    { name: "wait", suspend: {} },
  ],
};
const KINDS = [
  ["workflow-templates", "WorkflowTemplate", "template", SUSPENDED],
  ["workflow-event-bindings", "WorkflowEventBinding", "binding", {
    event: { selector: "true" },
    submit: { workflowTemplateRef: { name: "good" } },
  }],
  ["cron-workflows", "CronWorkflow", "cronWorkflow", {
    schedules: ["0 0 1 1 *"],
    workflowSpec: SUSPENDED,
  }],
] as const;

const slug = (text: string) => text.toLowerCase().replace(/[^a-z]+/g, "-").replace(/-$/, "");

describe.each(Object.entries(BACKENDS))("on %s", (_name, open) => {
  let backend: Backend;
  let server: ServerProcess;
  const damaged: { name: string; place: Place; damage: Damage }[] = PLACES.flatMap((place) =>
    Object.entries(DAMAGES).map(([title, damage]) => ({
      name: `w-${place}-${slug(title)}`,
      place,
      damage,
    }))
  );
  const archived = damaged.filter(({ place }) => place === "h" || place === "index");
  const archivedUids = new Map<string, string>();

  const start = () =>
    startServer([`--store=${backend.flag}`, "--archive-deleted", "--archive-ttl=1d"]);

  beforeAll(async () => {
    backend = await open();
    server = await start();
    const make = (name: string) =>
      call("POST", "/workflows/default", {
        workflow: { metadata: { name, labels: { team: "a" } }, spec: SUSPENDED },
      });
    for (const name of ["good", ...damaged.map(({ name }) => name)]) await make(name);
    for (const { name } of archived) {
      const { metadata } = (await make(`x${name}`)).json;
      archivedUids.set(name, metadata.uid);
      await call("PUT", `/workflows/default/x${name}/terminate`, {});
    }
    for (const { name } of archived) {
      await until(async () =>
        (await call("GET", `/workflows/default/x${name}`)).json.status.finishedAt
      );
      await call("DELETE", `/workflows/default/x${name}`);
      await until(async () =>
        (await call("GET", `/archived-workflows/${archivedUids.get(name)}`)).status === 200
      );
    }
    for (const [path, , member, spec] of KINDS) {
      for (const name of ["good", ...Object.keys(DAMAGES).map(slug)]) {
        const made = await call("POST", `/${path}/default`, {
          [member]: { metadata: { name, namespace: "default" }, spec },
        });
        expect(made.status, JSON.stringify(made.json)).toBe(200);
      }
    }
    await server.stop();
    for (const { name, place, damage } of damaged) {
      await backend.damage(`wf/default/${name}`, place, damage);
    }
    for (const { name, place, damage } of archived) {
      const actor = `wf/default/x${name}@${archivedUids.get(name)}`;
      await backend.damage(actor, place, damage);
    }
    for (const [, kind] of KINDS) {
      for (const [title, damage] of Object.entries(DAMAGES)) {
        await backend.damageManifest(kind, "default", slug(title), damage);
      }
    }
    server = await start();
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await backend?.stop();
  });

  // deno-lint-ignore no-explicit-any -- answers of any shape
  async function call(method: string, path: string, body?: unknown): Promise<any> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
    const text = await response.text();
    try {
      return { status: response.status, json: JSON.parse(text) };
    } catch {
      throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
    }
  }

  // deno-lint-ignore no-explicit-any -- answers of any shape
  const byName = (items: any[] | null) =>
    // deno-lint-ignore no-explicit-any -- answers of any shape
    new Map((items ?? []).map((item: any) => [item.metadata.name as string, item]));

  test("a list shows them all, those that cannot be read in phase Error with a message", async () => {
    const { status, json } = await call("GET", "/workflows/default");
    expect(status, JSON.stringify(json)).toBe(200);
    const items = byName(json.items);
    expect(items.get("good").status).toMatchObject({ phase: "Running" });
    let unreadable = 0;
    for (const { name } of damaged) {
      const item = items.get(name);
      expect(item, name).toBeDefined();
      expect(item.metadata.namespace).toBe("default");
      if (item.status.phase === "Running") continue;
      unreadable++;
      expect(item.status, name).toMatchObject({
        phase: "Error",
        message: expect.stringMatching(/cannot be read.*deleted/),
      });
    }
    expect(unreadable).toBeGreaterThan(30);
    for (
      const query of [
        "listOptions.labelSelector=team=a",
        "fields=items.metadata.name,items.status.phase",
        "listOptions.limit=7",
        "listOptions.fieldSelector=metadata.name=good",
        "nameFilter=Prefix&listOptions.fieldSelector=metadata.name=w-",
      ]
    ) {
      const page = await call("GET", `/workflows/default?${query}`);
      expect(page.status, `${query} ${JSON.stringify(page.json).slice(0, 200)}`).toBe(200);
    }
    expect((await call("GET", "/workflows/")).status).toBe(200);
  });

  test("a read shows what is known of one, a request about it says what can be done", async () => {
    for (const { name } of damaged) {
      const { status, json } = await call("GET", `/workflows/default/${name}`);
      expect(status, name).toBe(200);
      expect(json.metadata).toMatchObject({ name, namespace: "default" });
      if (json.status.phase === "Running") continue;
      expect(json.status.message, name).toMatch(/cannot be read.*deleted/);
      for (const action of ["suspend", "retry"]) {
        const refused = await call("PUT", `/workflows/default/${name}/${action}`, {});
        expect(refused.status, `${action} ${name} ${JSON.stringify(refused.json)}`).toBe(400);
        expect(refused.json.message).toMatch(/read/);
      }
      // A copy is possible if the spec is intact.
      const copy = await call("PUT", `/workflows/default/${name}/resubmit`, {});
      expect([200, 400], JSON.stringify(copy.json)).toContain(copy.status);
      if (copy.status !== 200) continue;
      const made = `/workflows/default/${copy.json.metadata.name}`;
      expect((await call("DELETE", made)).status).toBe(200);
    }
  });

  test("a watch shows what is there, and goes on", async () => {
    const stop = AbortSignal.timeout(30_000);
    const watch = await fetch(`${server.url}/api/v1/workflow-events/default`, { signal: stop });
    const seen = new Set<string>();
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of watch.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const { result, error } = JSON.parse(line);
        expect(error).toBeUndefined();
        seen.add(`${result.type} ${result.object.metadata.name}`);
      }
      if (seen.has("MODIFIED good")) break;
      if (seen.size === damaged.length + 1) {
        await call("PUT", "/workflows/default/good/suspend", {});
      }
    }
    for (const { name } of damaged) expect(seen).toContain(`ADDED ${name}`);
  });

  test("manifests: a list shows them, a read says what is wrong, they can be deleted", async () => {
    for (const [path, kind] of KINDS) {
      const { status, json } = await call("GET", `/${path}/default`);
      expect(status, kind).toBe(200);
      const items = byName(json.items);
      expect(items.get("good").metadata.annotations?.["workflows.argoproj.io/unreadable"])
        .toBeUndefined();
      for (const name of Object.keys(DAMAGES).map(slug)) {
        expect(items.has(name), `${kind} ${name}`).toBe(true);
        const read = await call("GET", `/${path}/default/${name}`);
        expect([200, 400], `${kind} ${name} ${JSON.stringify(read.json)}`).toContain(read.status);
        if (read.status === 400) {
          expect(read.json.message).toMatch(/cannot be read/);
          const { annotations } = items.get(name).metadata;
          expect(annotations["workflows.argoproj.io/unreadable"]).toMatch(/cannot be read/);
        }
        const gone = await call("DELETE", `/${path}/default/${name}`);
        expect(gone.status, `${kind} ${name} ${JSON.stringify(gone.json)}`).toBe(200);
        expect((await call("GET", `/${path}/default/${name}`)).status).toBe(404);
      }
    }
  });

  test("the archive: they are listed, read and deleted", async () => {
    const { status, json } = await call("GET", "/archived-workflows?namespace=default");
    expect(status, JSON.stringify(json)).toBe(200);
    expect(byName(json.items).size).toBeGreaterThan(5);
    for (const { name } of archived) {
      const path = `/archived-workflows/${archivedUids.get(name)}`;
      const read = await call("GET", path);
      expect([200, 404], `${name} ${JSON.stringify(read.json)}`).toContain(read.status);
      const gone = await call("DELETE", path);
      expect([200, 404], `${name} ${JSON.stringify(gone.json)}`).toContain(gone.status);
      expect((await call("GET", path)).status).toBe(404);
    }
  });

  test("they can be deleted, and their names are free", async () => {
    for (const { name } of damaged) {
      const gone = await call("DELETE", `/workflows/default/${name}`);
      expect(gone.status, `${name} ${JSON.stringify(gone.json)}`).toBe(200);
    }
    const { json } = await call("GET", "/workflows/default?listOptions.labelSelector=team=a");
    const left = (json.items ?? []).map(
      // deno-lint-ignore no-explicit-any -- answers of any shape
      ({ metadata }: any) => metadata.name,
    );
    expect(left.filter((name: string) => name.startsWith("w-"))).toEqual([]);
    for (const { name } of damaged) {
      const made = await call("POST", "/workflows/default", {
        workflow: { metadata: { name }, spec: SUSPENDED },
      });
      expect(made.status, `${name} ${JSON.stringify(made.json)}`).toBe(200);
    }
    const { json: again } = await call("GET", "/workflows/default");
    expect(byName(again.items).size).toBeGreaterThan(damaged.length);
    for (const { name } of damaged) {
      expect((await call("DELETE", `/workflows/default/${name}`)).status).toBe(200);
    }
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/sluice_unreadable_records_total\{kind="workflow"\} [1-9]/);
    await server.stop();
    expect(await backend.tracesOf("wf/default/w-")).toEqual([]);
    server = await start();
  }, 60_000);
});
