/** The dead letters of a subscription that does not exist, and of one that has none. */
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

async function ask(method: string, rest: string): Promise<{ status: number; answer: unknown }> {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1/subscriptions/default/${rest}`, {
      method,
      ...(method === "POST" ? { body: "{}" } : {}),
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
