/** Requests about dead letters that name a wrong subscription, or do not say which letters they mean. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  await instance.seed([{
    kind: "Subscription",
    metadata: { name: "quiet", namespace: "default" },
    spec: { url: "https://example.com/hook" },
  }]);
});
afterAll(() => instance.stop());

function ask(method: string, rest: string) {
  return send(method, `subscriptions/default/${rest}`, {});
}

async function send(
  method: string,
  path: string,
  body: object,
): Promise<{ status: number; answer: unknown }> {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1/${path}`, {
      method,
      ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
    }),
  );
  return { status: response.status, answer: await response.json() };
}

test.each([["GET", ""], ["POST", "/replay"]])("%s …/dead-letters%s", async (method, path) => {
  expect(await ask(method, `nosuch/dead-letters${path}`)).toEqual({
    status: 404,
    answer: { code: 5, message: 'subscriptions.argoproj.io "nosuch" not found' },
  });
  expect((await ask(method, `quiet/dead-letters${path}`)).status).toBe(200);
});

test.each([
  ["subscriptions/default/quiet/dead-letters/replay", { id: ["a"] }, 'unknown field "id"'],
  ["subscriptions/default/quiet/dead-letters/replay", { ids: [] }, "ids is empty: name dead"],
  ["event-deliveries/default/replay", { bindin: "build" }, 'unknown field "bindin"'],
  ["callback-keys", { acceptEarlyer: "0s" }, 'unknown field "acceptEarlyer"'],
])("%s refuses %j, which would be about everything", async (path, body, message) => {
  expect(await send("POST", path, body)).toMatchObject({
    status: 400,
    answer: { code: 3, message: expect.stringContaining(message) },
  });
});
