import { afterEach, beforeEach, expect, test } from "vitest";
import { startInstance } from "../../../test/support/api_server.ts";
import { unrestrictedCaller } from "../../auth/caller.ts";
import { watchWorkflows } from "./watch.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterEach(() => instance.stop());

test("of large workflows a watch holds few before the first of them is taken, and it shows all", async () => {
  const count = 12;
  const value = "x".repeat(300_000);
  await instance.seed(
    Array.from({ length: count }, (_, at) => ({
      kind: "Workflow",
      metadata: { name: `w${at}`, namespace: "default" },
      spec: {
        entrypoint: "main",
        arguments: { parameters: [{ name: "p", value }] },
        templates: [{ name: "main", suspend: {} }],
      },
    })),
  );
  const { service } = instance;
  let read = 0;
  const query = new Proxy(service.store.query, {
    get(target, name) {
      if (name !== "list") {
        const member = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      }
      return async (...given: Parameters<typeof target.list>) => {
        const page = await target.list(...given);
        read += page.items.length;
        return page;
      };
    },
  });
  const { history: _history, ...others } = service;
  const deps = { ...others, store: { ...service.store, query } };
  const stop = new AbortController();
  const request = { namespace: "default" };
  const events = await watchWorkflows(deps, unrestrictedCaller(), request, stop.signal);
  let shown = 0;
  for await (const some of events) {
    if (shown === 0) expect(read).toBeLessThanOrEqual(3);
    shown += some.length;
    if (shown === count) break;
  }
  stop.abort();
  expect(shown).toBe(count);
});

/** The types of what a watch shows until it ends, or has shown so many; what happens meanwhile begins after the first. */
async function seen(request: object, most: number, act: () => Promise<unknown>): Promise<string[]> {
  const stop = new AbortController();
  const asked = { namespace: "default", ...request };
  const events = await watchWorkflows(instance.service, unrestrictedCaller(), asked, stop.signal);
  const types: string[] = [];
  let acted = "resourceVersion" in request ? act() : undefined;
  for await (const some of events) {
    for (const { type } of some) types.push(type);
    acted ??= act();
    if (types.length >= most) break;
  }
  stop.abort();
  await acted;
  return types;
}

function submit(name: string) {
  const creationTimestamp = "2030-01-01T00:00:00Z";
  const labels = { shown: "yes" };
  const metadata = { name, namespace: "default", uid: name, creationTimestamp, labels };
  const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
  const command = { type: "submit", workflow: { metadata, spec } } as const;
  return instance.service.host.execute("default", name, command);
}

const remove = (name: string) => instance.service.host.execute("default", name, { type: "delete" });

test("a watch of one workflow from the beginning ends when that is deleted", async () => {
  await submit("one");
  const request = { fieldSelector: "metadata.name=one" };
  const types = await seen(request, Infinity, () => remove("one"));
  expect(types[0]).toBe("ADDED");
  expect(types.at(-1)).toBe("DELETED");
  await expect(seen(request, Infinity, () => Promise.resolve())).rejects.toThrow("not found");
});

test("a watch of one workflow ends also when that is deleted before its first event", async () => {
  await submit("one");
  const asked = { namespace: "default", fieldSelector: "metadata.name=one" };
  const { signal } = new AbortController();
  const events = await watchWorkflows(instance.service, unrestrictedCaller(), asked, signal);
  await remove("one");
  const types: string[] = [];
  for await (const some of events) for (const { type } of some) types.push(type);
  expect(types).toEqual(["DELETED"]);
});

test("a version with zeros before it is that version", async () => {
  const resourceVersion = `000${await instance.service.store.query.version()}`;
  const types = await seen({ resourceVersion }, 1, () => submit("one"));
  expect(types).toEqual(["ADDED"]);
  await submit("two");
  expect(await seen({ resourceVersion: "00" }, 2, () => Promise.resolve())).toHaveLength(2);
});

test.each([
  ["of a label", { labelSelector: "shown=yes" }],
  ["that is resumed", { fieldSelector: "metadata.name=one", resourceVersion: "1" }],
])("a watch %s goes on after a deletion", async (_, request) => {
  await submit("one");
  if ("resourceVersion" in request) {
    request.resourceVersion = await instance.service.store.query.version();
  }
  const types = await seen(request, 4, async () => {
    await remove("one");
    await submit("one");
    for (let at = 0; at < 4; at++) await submit(`more-${at}`);
    await remove("one");
    await submit("one");
  });
  expect(types.lastIndexOf("ADDED")).toBeGreaterThan(types.indexOf("DELETED"));
});
