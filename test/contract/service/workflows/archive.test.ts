/** The archive of a real server, on each store that outlives it: deleted workflows stay until their time is over. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedisServer } from "../../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

const STORES: Record<string, () => Promise<{ flag: string; stop(): Promise<unknown> }>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), "sluice-archive-"));
    return { flag: `sqlite:${folder}`, stop: () => rm(folder, { recursive: true, force: true }) };
  },
  async redis() {
    const redis = await startRedisServer();
    return { flag: redis.url, stop: () => redis.stop() };
  },
};

const LISTS = ["/workflows/default", "/archived-workflows"];

/** Whether finished workflows move into an archive of their own at once. */
const CASES = Object.entries(STORES).flatMap(([name, open]) => [
  { name, open, isBeside: false },
  { name: `${name} with an archive beside it`, open, isBeside: true },
]);

describe.each(CASES)("on $name", ({ open, isBeside }) => {
  let store: Awaited<ReturnType<typeof open>>;
  let server: ServerProcess;
  let folder: string;

  beforeAll(async () => {
    store = await open();
    folder = await mkdtemp(join(tmpdir(), "sluice-archive-work-"));
    server = await start("1d");
  });
  const start = (ttl: string) =>
    startServer([
      `--store=${store.flag}`,
      `--work-dir=${folder}`,
      "--executor=process",
      "--archive-deleted",
      `--archive-ttl=${ttl}`,
      "--archive-selector=keep!=no",
      ...(isBeside
        ? [`--archive-store=sqlite:${folder}/archive`, "--keep-finished=1s", "--keep-failed=1s"]
        : []),
    ]);
  afterAll(async () => {
    await server?.stop();
    await store?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  // deno-lint-ignore no-explicit-any -- answers of any shape
  async function call(method: string, path: string, body?: unknown, headers = {}): Promise<any> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, ...init });
    return { status: response.status, ...(await response.json()) };
  }

  async function finished(name: string, command: string, more: object = {}): Promise<string> {
    const { labels = {}, ...spec } = more as { labels?: Record<string, string> };
    const made = await call("POST", "/workflows/default", {
      workflow: {
        metadata: { name, labels: { team: "a", ...labels } },
        spec: {
          entrypoint: "main",
          templates: [{ name: "main", container: { image: "x", command: [command] } }],
          ...spec,
        },
      },
    });
    expect(made.status).toMatchObject({ startedAt: null });
    await until(async () =>
      (await call("GET", `/archived-workflows/${made.metadata.uid}`)).metadata
    );
    return made.metadata.uid;
  }

  const names = (list: { items: { metadata: { name: string } }[] | null }) =>
    (list.items ?? []).map(({ metadata }) => metadata.name);

  test("pages of a name or a parameter neither skip nor repeat workflows that exist or were deleted", async () => {
    const make = async (namespace: string, template: object): Promise<string> => {
      const { metadata } = await call("POST", `/workflows/${namespace}`, {
        workflow: {
          metadata: { name: "namesake" },
          spec: {
            entrypoint: "main",
            arguments: { parameters: [{ name: "same", value: "yes" }] },
            templates: [{ name: "main", ...template }],
          },
        },
      });
      return metadata.uid;
    };
    const all: string[] = [];
    for (const namespace of ["one", "two", "one"]) {
      const uid = await make(namespace, { container: { image: "x", command: ["true"] } });
      const isKept = async () => (await call("GET", `/archived-workflows/${uid}`)).metadata;
      await until(isKept);
      await call("DELETE", `/workflows/${namespace}/namesake`);
      await until(isKept);
      all.push(uid);
    }
    for (const namespace of ["three", "one", "two"]) {
      all.push(await make(namespace, { suspend: {} }));
    }
    for (
      const filter of ["listOptions.fieldSelector=metadata.name=namesake", "parameter=same=yes"]
    ) {
      for (const limit of [1, 2, 3, 4]) {
        const seen: string[] = [];
        for (let token: string | undefined = ""; token !== undefined && seen.length < 99;) {
          const path = `/workflows/?${filter}&listOptions.limit=${limit}`;
          const { items, metadata } = await call("GET", `${path}&listOptions.continue=${token}`);
          for (const one of items ?? []) seen.push(one.metadata.uid);
          token = metadata.continue;
        }
        expect(seen.toSorted()).toEqual(all.toSorted());
      }
    }
    const ended = "/archived-workflows?listOptions.fieldSelector=metadata.name=namesake";
    for (const limit of [1, 2, 3]) {
      const seen: string[] = [];
      for (let token: string | undefined = ""; token !== undefined && seen.length < 99;) {
        const path = `${ended},ext.showRemainingItemCount=true&listOptions.limit=${limit}`;
        const { items, metadata } = await call("GET", `${path}&listOptions.continue=${token}`);
        expect(items.length).toBeLessThanOrEqual(limit);
        for (const one of items) seen.push(one.metadata.uid);
        token = metadata.continue;
        if (!isBeside) expect(metadata.remainingItemCount).toBe(3 - seen.length);
      }
      expect(seen.toSorted()).toEqual(all.slice(0, 3).toSorted());
    }
    const whole = `/workflows/?listOptions.fieldSelector=metadata.name=namesake`;
    const skipped = await call("GET", `${whole}&listOptions.limit=3&listOptions.continue=2`);
    expect(names(skipped).length).toBe(3);
    expect(skipped.metadata.continue).toBeUndefined();
  });

  test("a deleted workflow is found by name and uid, listed in rows, and comes back by a retry", async () => {
    const uid = await finished("first", "false");
    const selected = "listOptions.fieldSelector=metadata.name=first";
    for (const list of LISTS) {
      expect(names(await call("GET", `${list}?${selected}`))).toEqual(["first"]);
    }
    const live = await call("GET", "/workflows/default/first");
    expect(live.metadata.labels["workflows.argoproj.io/workflow-archiving-status"]).toBe(
      "Archived",
    );
    const kept =
      "listOptions.labelSelector=workflows.argoproj.io/workflow-archiving-status=Archived";
    expect(names(await call("GET", `/workflows/default?${kept}`))).toEqual(["first"]);
    const timesOf = async () => {
      const { status } = await call("GET", "/workflows/default/first?exactTimes=true");
      return [status, ...Object.values<typeof status>(status.nodes)].map((one) => [
        one.startedAt,
        one.finishedAt,
      ]);
    };
    const times = await timesOf();
    expect(times.flat().every((time) => /\.\d{3}Z$/.test(time))).toBe(true);
    expect(await call("DELETE", "/workflows/default/first")).toEqual({ status: 200 });
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    expect(await timesOf()).toEqual(times);
    const part = "nameFilter=Contains&listOptions.fieldSelector=metadata.name%3D-";
    for (const list of LISTS) expect(names(await call("GET", `${list}?${part}`))).toEqual([]);
    const got = await call("GET", "/workflows/default/first");
    expect(got.metadata).toMatchObject({
      name: "first",
      uid,
      labels: { "workflows.argoproj.io/workflow-archiving-status": "Persisted" },
    });
    expect(Object.values(got.status)).toContain("Failed");
    const [row] = (await call("GET", "/workflows/default?listOptions.labelSelector=team=a")).items;
    expect(row).toMatchObject({ metadata: { name: "first" }, spec: { arguments: {} } });
    expect(row.spec.templates).toBeUndefined();
    const byName = "/archived-workflows?namespace=default&namePrefix=first&nameFilter=Exact";
    expect(names(await call("GET", byName))).toEqual(["first"]);
    expect(names(await call("GET", "/archived-workflows?namePrefix=fir"))).toEqual(["first"]);
    for (const list of LISTS) {
      expect(names(await call("GET", `${list}?${selected}`))).toEqual(["first"]);
      expect(names(await call("GET", `${list}?${selected}&listOptions.limit=1`))).toEqual([
        "first",
      ]);
    }
    expect((await call("GET", "/archived-workflows-label-keys")).items).not.toContain(
      "workflows.argoproj.io/archived-name",
    );
    expect((await call("DELETE", "/workflows/default/first")).code).toBe(5);
    expect((await call("GET", `/workflows/default/first@${uid}`)).code).toBe(5);
    const watch = await fetch(
      `${server.url}/api/v1/workflow-events/default?listOptions.fieldSelector=metadata.name=first` +
        "&listOptions.timeoutSeconds=1",
    );
    const frames = (await watch.text()).trim().split("\n");
    expect(frames).toHaveLength(1);
    expect(JSON.parse(frames[0] ?? "").result.object.status.finishedAt).not.toBeNull();
    const again = await call("PUT", `/archived-workflows/${uid}/retry`, { namespace: "default" });
    expect(again.metadata).toMatchObject({ name: "first", uid });
    expect(again.metadata.labels["workflows.argoproj.io/workflow-archiving-status"])
      .toBeUndefined();
    expect(names(await call("GET", "/workflows/default"))).toEqual(["first"]);
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    await call("DELETE", `/archived-workflows/${uid}`);
    expect(await call("GET", `/archived-workflows/${uid}`)).toMatchObject({ code: 5 });
  });

  test("a retry is refused while there is a newer one, and when nothing failed; a deletion is for good", async () => {
    const old = await finished("twice", "true");
    await call("DELETE", "/workflows/default/twice");
    await finished("twice", "true");
    await until(async () => names(await call("GET", "/workflows/default")).length === 2);
    expect(await call("PUT", `/archived-workflows/${old}/retry`, {})).toMatchObject({
      code: 6,
      message: "Workflow twice is still there: retry it instead of its archived copy",
    });
    await call("DELETE", "/workflows/default/twice");
    expect(await call("PUT", `/archived-workflows/${old}/retry`, {})).toMatchObject({ code: 3 });
    await until(async () => names(await call("GET", "/workflows/default")).length === 2);
    const made = await call("PUT", `/archived-workflows/${old}/resubmit`, { namespace: "default" });
    expect(made.metadata.name).toMatch(/^twice-/);
    expect(await call("DELETE", `/archived-workflows/${old}`)).toEqual({ status: 200 });
    expect((await call("GET", `/archived-workflows/${old}`)).code).toBe(5);
  });

  test("a deleted workflow is resubmitted by its name, and a newer one does not hide it", async () => {
    const old = await finished("again", "true");
    await call("DELETE", "/workflows/default/again");
    await until(async () => (await call("GET", "/workflows/default/again")).metadata);
    const made = await call("PUT", "/workflows/default/again/resubmit", {});
    expect(made.metadata.labels).toMatchObject({
      "workflows.argoproj.io/resubmitted-from-workflow": "again",
    });
    expect(made.metadata.labels).not.toHaveProperty([
      "workflows.argoproj.io/workflow-archiving-status",
    ]);
    const waiting = { templates: [{ name: "main", suspend: {} }] };
    const newer = await call("POST", "/workflows/default", {
      workflow: { metadata: { name: "again" }, spec: { entrypoint: "main", ...waiting } },
    });
    const byName = "/archived-workflows/?namespace=default&name=again";
    expect((await call("GET", byName)).metadata).toMatchObject({ uid: old });
    expect((await call("GET", "/workflows/default/again")).metadata.uid).toBe(newer.metadata.uid);
    await call("PUT", "/workflows/default/again/terminate", {});
    await until(async () => (await call("GET", byName)).metadata?.uid === newer.metadata.uid);
    for (const uid of [old, newer.metadata.uid, made.metadata.uid]) {
      await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
      expect(await call("DELETE", `/archived-workflows/${uid}`)).toEqual({ status: 200 });
    }
  });

  test.runIf(isBeside)(
    "a newer workflow does not hide one of its name that has moved",
    async () => {
      const old = await finished("moved", "true");
      const waiting = { templates: [{ name: "main", suspend: {} }] };
      const workflow = { metadata: { name: "moved" }, spec: { entrypoint: "main", ...waiting } };
      // The name is free again when it has moved.
      await until(async () => (await call("POST", "/workflows/default", { workflow })).metadata);
      const byName = "/archived-workflows/?namespace=default&name=moved";
      expect((await call("GET", byName)).metadata).toMatchObject({ name: "moved", uid: old });
      expect(await call("DELETE", byName)).toEqual({ status: 200 });
      expect((await call("GET", byName)).code).toBe(5);
      const { metadata } = await call("GET", "/workflows/default/moved");
      expect(metadata.uid).not.toBe(old);
      await call("PUT", "/workflows/default/moved/terminate", {});
      await until(async () => (await call("GET", `/archived-workflows/${metadata.uid}`)).metadata);
      await call("DELETE", `/archived-workflows/${metadata.uid}`);
    },
  );

  test("a deletion and a retry keep the exact times of steps, also when the workflow has moved", async () => {
    const step = (name: string) => [{ name, template: name }];
    const container = (command: string) => ({ container: { image: "x", command: [command] } });
    const uid = await finished("timed", "true", {
      templates: [
        { name: "main", steps: [step("good"), step("bad")] },
        { name: "good", ...container("true") },
        { name: "bad", ...container("false") },
      ],
    });
    const timesOf = async () => {
      const { status } = await call("GET", "/workflows/default/timed?exactTimes=true");
      // deno-lint-ignore no-explicit-any -- answers of any shape
      const nodes = Object.values<any>(status?.nodes ?? {});
      const node = nodes.find(({ displayName }) => displayName === "good");
      return [node?.startedAt, node?.finishedAt];
    };
    const times = await timesOf();
    for (const time of times) expect(time).toMatch(/\.\d{3}Z$/);
    const retry = async () => {
      const path = `/archived-workflows/${uid}/retry`;
      expect((await call("PUT", path, { namespace: "default" })).metadata).toMatchObject({ uid });
      expect(await timesOf()).toEqual(times);
      await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    };
    // It moves a second after its end, where there is an archive beside the store.
    const settle = () => new Promise((resolve) => setTimeout(resolve, isBeside ? 2_500 : 0));
    await settle();
    await retry();
    await settle();
    expect(await call("DELETE", "/workflows/default/timed")).toEqual({ status: 200 });
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    expect(await timesOf()).toEqual(times);
    await retry();
    await call("DELETE", `/archived-workflows/${uid}`);
  });

  test("a retry is refused while one that an earlier retry brought back has not ended", async () => {
    const waiting = { templates: [{ name: "main", suspend: {} }] };
    const { metadata: { uid } } = await call("POST", "/workflows/default", {
      workflow: { metadata: { name: "back" }, spec: { entrypoint: "main", ...waiting } },
    });
    await call("PUT", "/workflows/default/back/stop", { nodeFieldSelector: "displayName=back" });
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    await call("DELETE", "/workflows/default/back");
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    const retry = () => call("PUT", `/archived-workflows/${uid}/retry`, { namespace: "default" });
    expect(await retry()).toMatchObject({ metadata: { name: "back", uid } });
    expect(await retry()).toMatchObject({
      code: 6,
      message: "Workflow back is still there: retry it instead of its archived copy",
    });
    await call("PUT", "/workflows/default/back/terminate", {});
    await until(async () => (await call("GET", `/archived-workflows/${uid}`)).metadata);
    await call("DELETE", `/archived-workflows/${uid}`);
  });

  test("a repeat of a retry or resubmission with its key has the same answer and no effect", async () => {
    const waiting = { templates: [{ name: "main", suspend: {} }] };
    const { metadata: { uid } } = await call("POST", "/workflows/default", {
      workflow: { metadata: { name: "keyed" }, spec: { entrypoint: "main", ...waiting } },
    });
    await call("PUT", "/workflows/default/keyed/stop", { nodeFieldSelector: "displayName=keyed" });
    const isArchived = async () => (await call("GET", `/archived-workflows/${uid}`)).metadata;
    await until(isArchived);
    const path = `/archived-workflows/${uid}`;
    const again = (verb: string, key: string) =>
      call("PUT", `${path}/${verb}`, { namespace: "default" }, { "idempotency-key": key });

    const copies = [await again("resubmit", "r"), await again("resubmit", "r")];
    expect(copies[1]).toEqual(copies[0]);
    const { name } = copies[0].metadata;
    expect(name).toMatch(/^keyed-/);
    await call("PUT", `/workflows/default/${name}/terminate`);

    for (const [round, remove] of [false, true].entries()) {
      if (remove) await call("DELETE", "/workflows/default/keyed");
      await until(isArchived);
      const retried = await again("retry", `key ${round}`);
      expect(retried).toMatchObject({ metadata: { name: "keyed", uid } });
      expect(await again("retry", `key ${round}`)).toEqual(retried);
      expect(await again("retry", "another key")).toMatchObject({ code: 6 });
      await call("PUT", "/workflows/default/keyed/terminate");
      await until(isArchived);
      expect(await again("retry", `key ${round}`)).toEqual(retried);
      expect((await call("GET", path)).status).toMatchObject({ phase: "Failed" });
    }
    await call("DELETE", path);
  });

  test("a resubmission is made in the namespace that it names", async () => {
    const uid = await finished("moving", "true");
    const again = (namespace: string) =>
      call("PUT", `/archived-workflows/${uid}/resubmit`, { namespace });
    expect((await again("other")).metadata).toMatchObject({ namespace: "other" });
    expect((await again("")).metadata).toMatchObject({ namespace: "default" });
    expect(await again("No/where")).toMatchObject({ status: 400 });
    await call("DELETE", `/archived-workflows/${uid}`);
  });

  test("what is deleted in both places at once is gone from both", async () => {
    const uids: string[] = [];
    for (let round = 0; round < 10; round++) {
      const uid = await finished(`both-${round}`, "true");
      const [live, archived] = await Promise.all([
        call("DELETE", `/workflows/default/both-${round}`),
        call("DELETE", `/archived-workflows/${uid}?namespace=default`),
      ]);
      // The second deletion for good finds nothing.
      expect([200, 404]).toContain(live.code === 5 ? 404 : live.status);
      expect(archived).toEqual({ status: 200 });
      uids.push(uid);
    }
    // One that was just moving is seen until its move has ended, and never again.
    for (const last of [false, true]) {
      for (const [round, uid] of uids.entries()) {
        const isGone = async () => (await call("GET", `/archived-workflows/${uid}`)).code === 5;
        if (last) expect(await isGone(), uid).toBe(true);
        else await until(isGone);
        expect((await call("GET", `/workflows/default/both-${round}`)).code).toBe(5);
      }
      // Longer than the mover rests.
      if (!last) await new Promise((resolve) => setTimeout(resolve, 3_000));
    }
  });

  test("a ttlStrategy deletes into the archive, where time ends all; the selector keeps some out", async () => {
    const uid = await finished("short", "true", { ttlStrategy: { secondsAfterCompletion: 0 } });
    const isThere = async () => (await call("GET", `/archived-workflows/${uid}`)).metadata;
    await until(async () =>
      (await isThere())?.labels["workflows.argoproj.io/workflow-archiving-status"] === "Persisted"
    );
    const { metadata } = await call("POST", "/workflows/default", {
      workflow: {
        metadata: { name: "out", labels: { keep: "no" } },
        spec: {
          entrypoint: "main",
          templates: [{ name: "main", container: { image: "x", command: ["true"] } }],
        },
      },
    });
    await until(async () =>
      (await call("GET", "/workflows/default/out")).metadata
        .labels["workflows.argoproj.io/completed"] === "true"
    );
    expect((await call("GET", "/workflows/default/out")).metadata.labels)
      .not.toHaveProperty("workflows.argoproj.io/workflow-archiving-status");
    expect((await call("GET", `/archived-workflows/${metadata.uid}`)).code).toBe(5);
    await call("DELETE", "/workflows/default/out");
    expect((await call("GET", "/workflows/default/out")).code).toBe(5);
    await server.stop();
    server = await start("1s");
    await until(async () => await isThere() === undefined);
    expect(names(await call("GET", "/workflows/default"))).not.toContain("short");
  });
});
