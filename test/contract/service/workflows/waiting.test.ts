/** Lists and watches of workflows with a step that waits, and exact times, on stores that tell changes in different ways. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../../src/spec/manifest.ts";
import { openMemoryStore } from "../../../../src/store/memory/store.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

const STORES: [string, () => Store | Promise<Store>][] = [
  ["memory", () => openMemoryStore()],
  ["Redis", () => openRedisStore({ url: redis.url })],
];
/** One wait after the other. */
const TWICE = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [[{ name: "one", template: "wait" }], [{ name: "two", template: "wait" }]],
    },
    { name: "wait", suspend: {} },
  ],
};
const WHOLE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const EXACT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface List {
  items: Workflow[] | null;
  metadata: { continue?: string; resourceVersion: string };
}

/** Starts and ends of a workflow and its nodes. */
function timesOf({ status }: Workflow): string[] {
  return [status, ...Object.values(status?.nodes ?? {})]
    .flatMap((one) => [one?.startedAt, one?.finishedAt])
    .filter((time): time is string => typeof time === "string");
}

describe.each(STORES)("on %s", (_, open) => {
  let instance: Instance;

  const send = (method: string, path: string, body?: object) =>
    instance.fetch(
      new Request(`http://127.0.0.1/api/v1/${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  async function ask<Answer>(path: string): Promise<Answer> {
    const response = await send("GET", path);
    expect(response.status).toBe(200);
    return await response.json() as Answer;
  }
  const create = (namespace: string, name: string, spec: object) =>
    send("POST", `workflows/${namespace}`, { workflow: { metadata: { name }, spec } });
  const resume = (namespace: string, name: string) =>
    send("PUT", `workflows/${namespace}/${name}/resume`, {});
  const namesOf = ({ items }: List) => (items ?? []).map(({ metadata }) => metadata.name);
  const waiting = (namespace = "", more = "") =>
    ask<List>(`workflows/${namespace}?waiting=true&fields=metadata,items.metadata.name${more}`);

  /** Reads so many events of a watch. */
  async function watch(query: string, count: number, act: () => Promise<void>): Promise<string[]> {
    const fields = "result.type,result.object.metadata.name,result.object.status.nodes";
    const response = await send("GET", `workflow-events/a?${query}&fields=${fields}`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const acting = act();
    while (text.split("\n").length <= count) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      text += part.value;
    }
    await acting;
    await reader?.cancel();
    return text.trim().split("\n");
  }

  beforeAll(async () => {
    instance = await startInstance({
      store: await open(),
      gatekeeper: { server: true, authenticators: [] },
      executors: [],
    });
  });
  afterAll(() => instance?.stop());

  test("a workflow is listed while one of its steps waits, the longest wait first", async () => {
    for (const [namespace, name] of ["a x1", "a x2", "a x3", "b y1"].map((one) => one.split(" "))) {
      const before = namesOf(await waiting()).length;
      await create(namespace ?? "", name ?? "", TWICE);
      await expect.poll(async () => namesOf(await waiting())).toHaveLength(before + 1);
      // Those that begin to wait in the same millisecond have no order that tells.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await waiting("b")).items).toHaveLength(1);
    // It waits anew, for its second step.
    await resume("a", "x1");
    await expect.poll(async () => namesOf(await waiting())).toEqual(["x2", "x3", "y1", "x1"]);
    const first = await waiting("", "&listOptions.limit=3");
    expect(namesOf(first)).toEqual(["x2", "x3", "y1"]);
    const token = `&listOptions.limit=3&listOptions.continue=${first.metadata.continue}`;
    expect(namesOf(await waiting("", token))).toEqual(["x1"]);
    await resume("a", "x1");
    await expect.poll(async () => namesOf(await waiting())).toEqual(["x2", "x3", "y1"]);
  });

  test("a watch shows a workflow as long as one of its steps waits", async () => {
    const { metadata } = await waiting("a");
    const query = `waiting=true&listOptions.resourceVersion=${metadata.resourceVersion}`;
    const events = await watch(query, 4, async () => {
      await create("a", "quick", { entrypoint: "main", templates: [{ name: "main", steps: [] }] });
      await create("a", "z", TWICE);
      await expect.poll(async () => namesOf(await waiting("a"))).toContain("z");
      await resume("a", "z");
      await resume("a", "x2");
      await send("DELETE", "workflows/a/x3");
    });
    const told = events.map((line) => JSON.parse(line).result)
      .map(({ type, object }) => `${type} ${object.metadata.name}`);
    expect(told.filter((one) => one.endsWith(" quick"))).toEqual([]);
    expect(told.find((one) => one.endsWith(" z"))).toMatch(/^(ADDED|MODIFIED) z$/);
  });

  test("a watch tells when the last wait of a workflow is over", async () => {
    await create("a", "last", { entrypoint: "main", templates: [{ name: "main", suspend: {} }] });
    await expect.poll(async () => namesOf(await waiting("a"))).toContain("last");
    const { metadata } = await waiting("a");
    const query = `waiting=true&listOptions.resourceVersion=${metadata.resourceVersion}`;
    const [event] = await watch(query, 1, async () => void await resume("a", "last"));
    const { result } = JSON.parse(event ?? "");
    expect([result.type, result.object.metadata.name]).toEqual(["DELETED", "last"]);
  });

  test("lists and watches say since when a step waits, if they are asked, also without nodes", async () => {
    await create("c", "idle", TWICE);
    await expect.poll(async () => namesOf(await waiting("c"))).toEqual(["idle"]);
    const since = async (query: string) => {
      const { items } = await ask<List>(`workflows/c?${query}`);
      return items?.[0]?.status;
    };
    const nodes = (await since(""))?.nodes ?? {};
    const begun = Object.values(nodes).find(({ type }) => type === "Suspend")?.startedAt ?? "";
    expect((await since("fields=-items.status.nodes"))?.waitsSince).toBeUndefined();
    const told = await since("waits=true&fields=items.status.waitsSince,items.status.phase");
    expect(told?.phase).toBe("Running");
    expect(told?.waitsSince).toMatch(EXACT);
    expect(told?.waitsSince?.slice(0, 19)).toBe(begun.slice(0, 19));

    const head = await ask<Workflow>(
      "workflows/c/idle?waits=true&fields=status.phase,status.waitsSince",
    );
    expect(head.status?.waitsSince).toBe(told?.waitsSince);
    expect((await ask<Workflow>("workflows/c/idle")).status).not.toHaveProperty("waitsSince");

    const { metadata } = await ask<List>("workflows/c");
    const changes = async (query: string, version = metadata.resourceVersion) => {
      const path = `workflow-events/c?listOptions.resourceVersion=${version}&${query}`;
      const response = await send("GET", path);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      return async () => {
        const { value = "" } = await reader?.read() ?? {};
        await reader?.cancel();
        return value.trim().split("\n").map((line) =>
          (JSON.parse(line).result.object as Workflow).status?.waitsSince
        );
      };
    };
    const fields = "fields=result.object.status.waitsSince";
    const first = await (await changes(`waits=true&${fields}`, "0"))();
    expect(first).toEqual([told?.waitsSince]);
    const watches = [
      await changes(`waits=true&${fields}`),
      await changes("waits=true"),
      await changes(""),
      await changes(fields),
    ];
    await resume("c", "idle");
    const [lean, whole, ...unasked] = await Promise.all(watches.map((read) => read()));
    expect(whole).toEqual(lean);
    expect(lean?.at(-1)).toMatch(EXACT);
    expect(lean?.at(-1)).not.toBe(told?.waitsSince);
    expect(unasked.flat().filter((one) => one !== undefined)).toEqual([]);
    await resume("c", "idle");
    await expect.poll(async () => (await since("waits=true"))?.phase).toBe("Succeeded");
    expect((await since("waits=true"))?.waitsSince).toBeUndefined();
  });

  test("times are whole seconds, unless exact ones are asked for", async () => {
    const one = "workflows/b/y1";
    for (const path of [one, "workflows/b", "workflows/b?waiting=true"]) {
      const exact = `${path}${path.includes("?") ? "&" : "?"}exactTimes=true`;
      for (const [asked, form] of [[path, WHOLE], [exact, EXACT]] as const) {
        const answer = await ask<Workflow & List>(asked);
        const [workflow] = answer.items ?? [answer];
        const times = workflow === undefined ? [] : timesOf(workflow);
        expect([asked, times.length]).toEqual([asked, 4]);
        for (const time of times) expect(time).toMatch(form);
      }
      // They are the same times.
      const [whole] = (await ask<List>("workflows/b")).items ?? [];
      const fine = await ask<Workflow>(`${one}?exactTimes=true`);
      expect(timesOf(fine).map((time) => `${time.slice(0, 19)}Z`)).toEqual(
        whole && timesOf(whole),
      );
    }
    const head = await ask<Workflow>(`${one}?exactTimes=true&fields=status.startedAt`);
    expect(head.status?.startedAt).toMatch(EXACT);
  });

  test("each watcher of a change gets the times that it asked for", async () => {
    const { metadata } = await ask<List>("workflows/b");
    const from = `listOptions.resourceVersion=${metadata.resourceVersion}`;
    const paths = [
      "",
      "&exactTimes=true",
      "&fields=result.object.status",
      "&exactTimes=true" +
      "&fields=result.object.status",
    ];
    const watches = await Promise.all(
      paths.map((query) => send("GET", `workflow-events/b?${from}${query}`)),
    );
    await resume("b", "y1");
    const late = send("GET", `workflow-events/b?${from}&exactTimes=true`);
    for (const [at, response] of [...watches, await late].entries()) {
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (!text.includes("\n")) text += (await reader?.read())?.value ?? "";
      await reader?.cancel();
      const { result } = JSON.parse(text.slice(0, text.indexOf("\n")));
      const times = timesOf(result.object);
      expect(times.length).toBeGreaterThan(2);
      for (const time of times) {
        expect([at, time]).toEqual([
          at,
          expect.stringMatching(
            at === 0 || at === 2 ? WHOLE : EXACT,
          ),
        ]);
      }
    }
  });
});
