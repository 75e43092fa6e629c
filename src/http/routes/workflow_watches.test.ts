import { afterEach, beforeEach, expect, test } from "vitest";
import { startInstance } from "../../../test/support/api_server.ts";
import { turnsWhile } from "../../../test/support/turns_while.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterEach(() => instance.stop());

const WATCHERS = 300;

test("watchers that each show something else of a large workflow leave others their turns", async () => {
  const { service } = instance;
  const version = await service.store.query.version();
  const readers = await Promise.all(Array.from({ length: WATCHERS }, async (_, at) => {
    const fields = `result.object.metadata.name,x${at}`;
    const query = `listOptions.resourceVersion=${version}&fields=${fields}`;
    const url = `http://localhost/api/v1/workflow-events/default?${query}`;
    const { body } = await instance.fetch(new Request(url), {});
    if (body === null) throw new Error("There is no answer");
    return body.getReader();
  }));
  const shown = Promise.all(readers.map(async (reader) => {
    const { value } = await reader.read();
    return new TextDecoder().decode(value);
  }));
  while (service.watches.size < WATCHERS) await new Promise((resolve) => setTimeout(resolve, 5));
  await service.host.execute("default", "one", {
    type: "submit",
    workflow: {
      metadata: { name: "one", namespace: "default", uid: "one" },
      spec: {
        entrypoint: "main",
        arguments: { parameters: [{ name: "p", value: "x".repeat(20_000) }] },
        templates: [{ name: "main", suspend: {} }],
      },
    },
  });
  // Ten looks at the clock use up a turn.
  expect(await turnsWhile(shown)).toBeGreaterThan(WATCHERS / 20);
  expect(new Set(await shown)).toEqual(
    new Set(['{"result":{"object":{"metadata":{"name":"one"}}}}\n']),
  );
  for (const reader of readers) await reader.cancel();
});
