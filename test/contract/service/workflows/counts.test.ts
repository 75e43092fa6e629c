/** Counts of workflows over time, and lists by parameter: right over all workflows, not only over a page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMemoryStore } from "../../../../src/store/memory/store.ts";
import type { ActorChange } from "../../../../src/store/port.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { ScriptedExecutor } from "../../../support/scripted_executor.ts";
import {
  finishedJob,
  jobCreatedAt,
  jobName,
  JOBS,
  storeWorkflows,
} from "../../../support/stored_workflows.ts";

const COUNT = 2_500;
/** One workflow in so many has the parameter. */
const RARE = 400;

let instance: Instance;

interface Counts {
  from: string;
  spanSeconds: number;
  phases: Record<string, number[]>;
  examined?: number;
}

async function ask<Answer>(path: string, status = 200): Promise<Answer> {
  const response = await instance.fetch(new Request(`http://127.0.0.1/api/v1/${path}`));
  expect(response.status).toBe(status);
  return await response.json() as Answer;
}

const sum = (numbers: number[] = []) => numbers.reduce((a, b) => a + b, 0);
const sums = ({ phases }: Counts) =>
  Object.fromEntries(Object.entries(phases).map(([phase, counts]) => [phase, sum(counts)]));
const isFailed = (i: number) => i % 5 === 0;
const FAILED = COUNT / 5;

function job(i: number): ActorChange {
  const change = finishedJob(i, { phase: isFailed(i) ? "Failed" : "Succeeded" });
  const parameters = [{ name: "region", value: i % RARE === 0 ? "eu" : "us" }];
  const spec = { entrypoint: "main", arguments: { parameters }, templates: [] };
  const others = change.put.filter(({ key }) => key !== "s");
  return { ...change, put: [...others, { key: "s", text: JSON.stringify({ schema: 1, spec }) }] };
}

beforeAll(async () => {
  const store = openMemoryStore();
  await storeWorkflows(store, COUNT, job);
  instance = await startInstance({ store, gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

test("all workflows are counted by phase and time", async () => {
  const counts = await ask<Counts>("workflow-counts/?bars=50");
  expect(sums(counts)).toEqual({
    Pending: 0,
    Running: 0,
    Succeeded: COUNT - FAILED,
    Failed: FAILED,
    Error: 0,
  });
  expect(counts.examined).toBeUndefined();
  expect(Date.parse(counts.from)).toBe(jobCreatedAt(0));
  expect(counts.phases["Failed"]).toHaveLength(50);
  expect(Date.parse(counts.from) + 50_000 * counts.spanSeconds).toBeGreaterThan(Date.now() - 1_000);
  // All are from the first minutes of a year; the rest of it is empty.
  expect(counts.phases["Failed"]?.[0]).toBe(FAILED);
  // The namespace is all there is.
  expect(sums(await ask<Counts>(`workflow-counts/${JOBS}`))).toEqual(sums(counts));
});

test("from a time on, the bars say how many of each second", async () => {
  const after = new Date(jobCreatedAt(COUNT - 1) - 9_000).toISOString();
  const counts = await ask<Counts>(`workflow-counts/?createdAfter=${after}&bars=200`);
  expect(sum(counts.phases["Failed"]) + sum(counts.phases["Succeeded"])).toBe(200);
});

test("what no index knows is counted among the newest", async () => {
  const byLabel = encodeURIComponent("team=t7");
  const counts = await ask<Counts>(`workflow-counts/?listOptions.labelSelector=${byLabel}`);
  expect(sum(counts.phases["Succeeded"])).toBe(COUNT / 20);
  expect(counts.examined).toBeUndefined();
  const none = await ask<Counts>("workflow-counts/other");
  expect(Object.values(sums(none))).toEqual([0, 0, 0, 0, 0]);
});

test("where no index answers, the newest 10,000 are counted, and the answer says so", async () => {
  const store = openMemoryStore();
  const all = 10_400;
  await storeWorkflows(store, all, (i) => finishedJob(i));
  const large = await startInstance({ store, gatekeeper: { server: true, authenticators: [] } });
  const countsOf = async (query: string) => {
    const address = `http://127.0.0.1/api/v1/workflow-counts/?${query}`;
    return await (await large.fetch(new Request(address))).json() as Counts;
  };
  const named = await countsOf("nameFilter=Contains&listOptions.fieldSelector=metadata.name%3Djob");
  expect([named.examined, sums(named)["Succeeded"]]).toEqual([10_000, 10_000]);
  // The oldest ones, beyond the reach.
  const old = await countsOf(
    `nameFilter=Exact&listOptions.fieldSelector=metadata.name%3D${jobName(7)}`,
  );
  expect([old.examined, sums(old)["Succeeded"]]).toEqual([10_000, 0]);
  const exact = await countsOf("");
  expect([exact.examined, sums(exact)["Succeeded"]]).toEqual([undefined, all]);
  await large.stop();
});

test.each(["bars=0", "bars=201", "bars=x", "createdAfter=yesterday"])(
  "%s is refused",
  async (query) => {
    await ask(`workflow-counts/?${query}`, 400);
  },
);

test.each([3, 100])(
  "pages of %i with a parameter hold every workflow that was given it, once",
  async (limit) => {
    const found: string[] = [];
    let token = "";
    let pages = 0;
    do {
      const query =
        `parameter=region%3Deu&listOptions.limit=${limit}&listOptions.continue=${token}`;
      const { items, metadata } = await ask<{
        items: { metadata: { name: string } }[] | null;
        metadata: { continue?: string };
      }>(`workflows/?${query}`);
      expect(items?.length ?? 0).toBeLessThanOrEqual(limit);
      for (const { metadata: { name } } of items ?? []) found.push(name);
      token = metadata.continue ?? "";
    } while (token !== "" && ++pages < 2_000);
    const wanted = Array.from({ length: Math.ceil(COUNT / RARE) }, (_, at) => jobName(at * RARE));
    expect(found.sort()).toEqual(wanted.sort());
  },
);

test("a parameter without a value asks whether it was given", async () => {
  const { items } = await ask<{ items: unknown[] }>(
    "workflows/?parameter=region&listOptions.limit=7",
  );
  expect(items).toHaveLength(7);
  const none = await ask<{ items: null }>("workflows/?parameter=planet&listOptions.limit=2000");
  expect(none.items).toBeNull();
});

describe("what waits", () => {
  let waiting: Instance;
  const ASKED = 3;
  const other = "elsewhere";

  const get = async <Answer>(path: string): Promise<Answer> => {
    const response = await waiting.fetch(new Request(`http://127.0.0.1/api/v1/${path}`));
    return await response.json() as Answer;
  };
  const submit = async (name: string, namespace: string, spec: object) => {
    const body = JSON.stringify({ workflow: { metadata: { name }, spec } });
    const address = `http://127.0.0.1/api/v1/workflows/${namespace}`;
    const response = await waiting.fetch(new Request(address, { method: "POST", body }));
    expect(response.status).toBe(200);
  };
  const waitsOf = async (query: string) => {
    const counts = await get<Counts & { waiting?: number; waitingSpans?: number[] }>(
      `workflow-counts/${query}`,
    );
    expect(sum(counts.waitingSpans)).toBe(counts.waiting);
    return [sums(counts)["Running"], counts.waiting];
  };

  beforeAll(async () => {
    waiting = await startInstance({
      gatekeeper: { server: true, authenticators: [] },
      executors: [new ScriptedExecutor(() => undefined)],
    });
    const suspend = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
    for (let i = 0; i < ASKED; i++) await submit(`asks-${i}`, "here", suspend);
    await submit("asks", other, suspend);
    const slow = { name: "main", container: { image: "x", command: ["sleep", "600"] } };
    await submit("runs", "here", { entrypoint: "main", templates: [slow] });
    // Counts are given again for a while, so the list is asked until all have begun.
    let begun: { status?: { phase?: string; waitsSince?: string } }[] = [];
    for (let i = 0; i < 100 && begun.length < ASKED + 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { items } = await get<{ items: typeof begun }>("workflows/?waits=true");
      begun = items.filter(({ status }) => status?.phase === "Running");
    }
    expect(begun.filter(({ status }) => status?.waitsSince !== undefined)).toHaveLength(ASKED + 1);
  });
  afterAll(() => waiting.stop());

  test.each([
    ["?bars=2", [ASKED + 2, ASKED + 1]],
    ["here", [ASKED + 1, ASKED]],
    ["?createdAfter=2020-01-01T00:00:00Z", [ASKED + 2, ASKED + 1]],
    ["?nameFilter=Contains&listOptions.fieldSelector=metadata.name%3Dasks-", [ASKED, ASKED]],
    ["?listOptions.labelSelector=workflows.argoproj.io/phase%3DFailed", [0, 0]],
    ["?waiting=true", [ASKED + 1, ASKED + 1]],
    ["here?waiting=true", [ASKED, ASKED]],
  ])("is counted: %s", async (query, wanted) => {
    expect(await waitsOf(query)).toEqual(wanted);
  });
});
