/**
 * Requests of the reference's pages about things that this service does not have: they get empty answers, not errors.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startInstance } from "../../support/api_server.ts";

let server: Awaited<ReturnType<typeof startInstance>>;
beforeAll(async () => {
  server = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    settings: { userNamespace: "team" },
  });
});
afterAll(() => server.stop());

async function ask(path: string, method = "GET"): Promise<{ status: number; body: unknown }> {
  const body = method === "POST" || method === "PUT" ? "{}" : null;
  const response = await server.fetch(new Request(`http://127.0.0.1${path}`, { method, body }));
  return { status: response.status, body: await response.json() };
}

test.each(["event-sources", "sensors"])(
  "%s: empty lists, quiet streams, refused writes",
  async (kind) => {
    expect(await ask(`/api/v1/${kind}/default`)).toEqual({
      status: 200,
      body: { metadata: {}, items: [] },
    });
    for (const wrong of ["labelSelector=a%20b", "fieldSelector=x"]) {
      const { status } = await ask(`/api/v1/${kind}/default?listOptions.${wrong}`);
      expect(status).toBe(400);
    }
    expect((await ask(`/api/v1/${kind}/default/x`)).status).toBe(404);
    for (
      const [method, path] of [["POST", ""], ["PUT", "/x"], ["DELETE", "/x"]] as const
    ) {
      const { status, body } = await ask(`/api/v1/${kind}/default${path}`, method);
      expect(status).toBe(501);
      expect(body).toMatchObject({ message: expect.stringContaining("/api/v1/events/default/") });
    }
    for (const path of ["", "/logs"]) {
      const url =
        `http://127.0.0.1/api/v1/stream/${kind}/default${path}?listOptions.timeoutSeconds=1`;
      const response = await server.fetch(new Request(url));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe("");
    }
  },
);

test("userinfo names the namespace in which pages begin", async () => {
  expect(await ask("/api/v1/userinfo")).toEqual({
    status: 200,
    body: { serviceAccountNamespace: "team" },
  });
});
