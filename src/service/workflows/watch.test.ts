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
