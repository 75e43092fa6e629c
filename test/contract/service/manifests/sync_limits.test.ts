/** Semaphore limits that are not in a config map: off unless the server is told to accept them. */
import { afterEach, expect, test } from "vitest";
import { startInstance } from "../../../support/api_server.ts";

type Instance = Awaited<ReturnType<typeof startInstance>>;
let instance: Instance;
afterEach(() => instance.stop());

async function start(syncApi: boolean): Promise<void> {
  instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    settings: { syncApi },
  });
}

async function send(method: string, path: string, body?: object) {
  const response = await instance.fetch(
    new Request(`http://app/api/v1/sync/n${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, body: await response.json() as unknown };
}

test("are refused by default", async () => {
  await start(false);
  expect(await send("POST", "", { type: 1, key: "k", limit: 2 })).toMatchObject({
    status: 400,
    body: { message: "unsupported sync config type: DATABASE" },
  });
});

test("are made, read, changed and removed; each once", async () => {
  await start(true);
  const missing = {
    status: 404,
    body: { message: 'Database sync limit not found in namespace "n".' },
  };
  expect(await send("GET", "/k?type=1")).toMatchObject(missing);
  expect(await send("PUT", "/k", { type: 1, limit: 2 })).toMatchObject(missing);
  expect(await send("DELETE", "/k?type=1")).toMatchObject(missing);
  const limit = { type: 1, namespace: "n", key: "k" };
  expect(await send("POST", "", { type: 1, key: "k", limit: 2 })).toEqual({
    status: 200,
    body: { ...limit, limit: 2 },
  });
  expect(await send("POST", "", { type: "DATABASE", key: "k", limit: 3 })).toMatchObject({
    status: 409,
    body: { message: 'Database sync limit already exists in namespace "n".' },
  });
  expect(await send("PUT", "/k", { type: 1, limit: 5 })).toMatchObject({ status: 200 });
  expect(await send("GET", "/k?type=1")).toEqual({ status: 200, body: { ...limit, limit: 5 } });
  expect(await send("DELETE", "/k?type=1")).toEqual({ status: 200, body: {} });
  expect(await send("GET", "/k?type=1")).toMatchObject(missing);
});
