/** Who holds and who waits for locks, as the API tells it: over real workflows, for callers with and without rights. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { tokenCallers } from "../../../support/token_callers.ts";

const CALLERS = tokenCallers(
  ["admin", "near"],
  `
rules:
  - { subjects: [admin], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
  - { subjects: [near], namespaces: [near], resources: [workflows], verbs: [list] }
`,
);

interface User {
  namespace?: string;
  workflow?: string;
  nodeId?: string;
  since?: string;
  priority: number;
}
interface Page {
  metadata: { continue?: string };
  items: {
    id: string;
    limit: number;
    holderCount: number;
    waitingCount: number;
    holders: User[];
    waiting: User[];
  }[];
}

let instance: Instance;
beforeEach(async () => {
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    executors: [],
  });
});
afterEach(() => instance.stop());

async function call<Answer>(method: string, path: string, body?: object, as = "admin") {
  const response = await instance.fetch(
    new Request(`http://app/api/v1/${path}`, {
      method,
      headers: { authorization: CALLERS.tokenOf(as) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, body: await response.json() as Answer };
}

const locks = async (path: string, as?: string) =>
  (await call<Page>("GET", `locks/${path}`, undefined, as)).body;

async function submit(namespace: string, name: string, synchronization: object, priority = 0) {
  const spec = {
    entrypoint: "main",
    priority,
    synchronization,
    templates: [{ name: "main", suspend: {} }],
  };
  const made = await call("POST", `workflows/${namespace}`, {
    workflow: { metadata: { name }, spec },
  });
  expect(made.status).toBe(200);
}

const mutex = (name: string, namespace?: string) => ({
  mutexes: [{ name, ...(namespace !== undefined && { namespace }) }],
});

test("a lock names its holder, and those who wait in the order in which they get it", async () => {
  expect(await locks("near")).toEqual({ metadata: {}, items: [] });
  await submit("near", "first", mutex("m"));
  await submit("near", "second", mutex("m"));
  await submit("near", "urgent", mutex("m"), 5);
  await expect.poll(async () => (await locks("near")).items[0]?.waitingCount, { timeout: 10_000 })
    .toBe(2);
  const [lock] = (await locks("near", "near")).items;
  expect(lock).toMatchObject({
    id: "near/Mutex/m",
    kind: "mutex",
    namespace: "near",
    name: "m",
    limit: 1,
    holderCount: 1,
    holders: [{ namespace: "near", workflow: "first", priority: 0 }],
    waiting: [{ workflow: "urgent", priority: 5 }, { workflow: "second", priority: 0 }],
  });
  const since = Date.parse(lock?.holders[0]?.since ?? "");
  expect(Math.abs(Date.now() - since)).toBeLessThan(20_000);
  await call("PUT", "workflows/near/first/terminate", {});
  await expect.poll(async () => (await locks("near")).items[0]?.holders[0], { timeout: 10_000 })
    .toMatchObject({ workflow: "urgent" });
});

test("a semaphore has the size that its limit has now", async () => {
  await call("POST", "sync/near", { cmName: "sizes", key: "builds", limit: 1 });
  const semaphore = { semaphores: [{ configMapKeyRef: { name: "sizes", key: "builds" } }] };
  await submit("near", "one", semaphore);
  await expect.poll(async () => (await locks("near")).items[0]?.holderCount, { timeout: 10_000 })
    .toBe(1);
  await call("PUT", "sync/near/builds", { cmName: "sizes", limit: 3 });
  expect((await locks("near")).items).toMatchObject([{
    id: "near/ConfigMap/sizes/builds",
    kind: "semaphore",
    name: "builds",
    type: "CONFIGMAP",
    cmName: "sizes",
    limit: 3,
  }]);
});

test("pages follow the order of ids, and end", async () => {
  await submit("far", "w", { mutexes: ["a", "c", "b"].map((name) => ({ name })) });
  await expect.poll(async () => (await locks("far")).items.length, { timeout: 10_000 }).toBe(3);
  const seen: string[] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const page: Page = await locks(`far?limit=2&continue=${encodeURIComponent(next)}`);
    seen.push(...page.items.map(({ id }) => id));
    next = page.metadata.continue;
  }
  expect(seen).toEqual(["far/Mutex/a", "far/Mutex/b", "far/Mutex/c"]);
});

test("users in namespaces that the caller may not see are counted, not named", async () => {
  await submit("far", "secret", mutex("shared", "near"));
  await submit("near", "mine", mutex("shared"));
  await expect.poll(async () => (await locks("near")).items[0]?.waitingCount, { timeout: 10_000 })
    .toBe(1);
  const [lock] = (await locks("near", "near")).items;
  expect(lock?.holders).toEqual([{ priority: 0, since: expect.any(String) }]);
  expect(lock?.waiting).toMatchObject([{ workflow: "mine" }]);
  expect(JSON.stringify(lock)).not.toContain("secret");
  expect((await call("GET", "locks/", undefined, "near")).status).toBe(403);
  expect((await call("GET", "locks/far", undefined, "near")).status).toBe(403);
});
