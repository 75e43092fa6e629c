import { afterEach, beforeEach, expect, test } from "vitest";
import { startInstance } from "../../../test/support/api_server.ts";
import { turnsWhile } from "../../../test/support/turns_while.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterEach(() => instance.stop());

const WATCHERS = 300;

/** Watchers after a version, each with other fields. */
async function openWatches(version: string) {
  return await Promise.all(Array.from({ length: WATCHERS }, async (_, at) => {
    const fields = `result.object.metadata.name,x${at}`;
    const query = `listOptions.resourceVersion=${version}&fields=${fields}`;
    const url = `http://localhost/api/v1/workflow-events/default?${query}`;
    const { body } = await instance.fetch(new Request(url), {});
    if (body === null) throw new Error("There is no answer");
    return body.getReader();
  }));
}

/** What each of them sees, until so many lines. */
function linesOf(readers: Awaited<ReturnType<typeof openWatches>>, count: number) {
  return Promise.all(readers.map(async (reader) => {
    let text = "";
    while (text.split("\n").length <= count) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    return text;
  }));
}

function submit(name: string, value: string) {
  return instance.service.host.execute("default", name, {
    type: "submit",
    workflow: {
      metadata: { name, namespace: "default", uid: name },
      spec: {
        entrypoint: "main",
        arguments: { parameters: [{ name: "p", value }] },
        templates: [{ name: "main", suspend: {} }],
      },
    },
  });
}

test("watchers that each show something else of a large workflow leave others their turns", async () => {
  const { service } = instance;
  const readers = await openWatches(await service.store.query.version());
  const shown = linesOf(readers, 1);
  while (service.watches.size < WATCHERS) await new Promise((resolve) => setTimeout(resolve, 5));
  await submit("one", "x".repeat(20_000));
  // Ten looks at the clock use up a turn.
  expect(await turnsWhile(shown)).toBeGreaterThan(WATCHERS / 20);
  const line = '{"result":{"object":{"metadata":{"name":"one"}}}}\n';
  expect(new Set(await shown)).toEqual(new Set([line]));
  for (const reader of readers) await reader.cancel();
});

test("watchers that come back together leave others their turns, and miss nothing", async () => {
  // From the version of an empty store on, what exists would come first.
  await submit("first", "small");
  const version = await instance.service.store.query.version();
  const names = Array.from({ length: 12 }, (_, at) => `w${at}`);
  for (const name of names) await submit(name, "small");
  const readers = await openWatches(version);
  const shown = linesOf(readers, names.length);
  expect(await turnsWhile(shown)).toBeGreaterThan(WATCHERS * names.length / 20);
  const lines = names.map((name) => `{"result":{"object":{"metadata":{"name":"${name}"}}}}\n`);
  expect(new Set(await shown)).toEqual(new Set([lines.join("")]));
  for (const reader of readers) await reader.cancel();
});
