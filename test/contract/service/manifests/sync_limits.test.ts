/** Semaphore limits that are not in a config map: off unless the server is told to accept them. */
import { afterEach, expect, test } from "vitest";
import { startInstance } from "../../../support/api_server.ts";
import { tokenCallers } from "../../../support/token_callers.ts";

const CALLERS = tokenCallers(
  ["flows", "maps"],
  `
rules:
  - { subjects: [flows], namespaces: [n], resources: [workflows], verbs: [create, get, update, delete] }
  - { subjects: [maps], namespaces: [n], apiGroups: [""], resources: [configmaps], verbs: [create, get, update] }
`,
);

type Instance = Awaited<ReturnType<typeof startInstance>>;
let instance: Instance;
afterEach(() => instance.stop());

async function start(syncApi: boolean): Promise<void> {
  instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    settings: { syncApi },
  });
}

async function send(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
) {
  const response = await instance.fetch(
    new Request(`http://app/api/v1/sync/n${path}`, {
      method,
      headers,
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

test("have a type that is a number or its name", async () => {
  await start(true);
  const into = "into Go struct field CreateSyncLimitRequest.type of type sync.SyncConfigType";
  const refusals: [unknown, string][] = [
    [2, "unsupported sync config type: 2"],
    [-1, "unsupported sync config type: -1"],
    [1.5, `json: cannot unmarshal number 1.5 ${into}`],
    [2 ** 31, `json: cannot unmarshal number 2147483648 ${into}`],
    ["1", `json: cannot unmarshal string ${into}`],
    ["", `json: cannot unmarshal string ${into}`],
    [[], `json: cannot unmarshal array ${into}`],
    [true, `json: cannot unmarshal bool ${into}`],
  ];
  for (const [type, message] of refusals) {
    expect(await send("POST", "", { type, cmName: "c", key: "k", limit: 1 })).toEqual({
      status: 400,
      body: { code: 3, message },
    });
  }
  for (
    const [type, message] of [
      ["2", "unsupported sync config type: 2"],
      ["0x2", "unsupported sync config type: 2"],
      ["x", 'strconv.ParseInt: parsing "x": invalid syntax'],
      ["", 'strconv.ParseInt: parsing "": invalid syntax'],
      ["2147483648", 'strconv.ParseInt: parsing "2147483648": value out of range'],
    ]
  ) {
    expect(await send("GET", `/k?cmName=c&type=${type}`)).toEqual({
      status: 400,
      body: { code: 3, message },
    });
  }
  for (const type of [0, null, "CONFIGMAP", 1, "DATABASE"]) {
    expect(await send("POST", "", { type, cmName: "c", key: `k${type}`, limit: 1 })).toMatchObject({
      status: 200,
    });
  }
});

test("of a config map have a key that Kubernetes takes", async () => {
  await start(true);
  for (const key of ["", "a b", "..a", ".", "a/b", "a".repeat(254)]) {
    expect(await send("POST", "", { cmName: "c", key, limit: 1 })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("a valid config key must consist of") },
    });
  }
  for (const key of ["a", ".a", "A_b-c.d"]) {
    expect(await send("POST", "", { cmName: "c", key, limit: 1 })).toMatchObject({ status: 200 });
  }
  expect(await send("POST", "", { type: 1, key: "a b", limit: 1 })).toMatchObject({ status: 200 });
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

test("of the database need rights to workflows, others rights to config maps", async () => {
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    settings: { authRequired: true, syncApi: true },
  });
  const asked = (subject: string, type: number, cmName: string) => {
    const headers = { authorization: CALLERS.tokenOf(subject) };
    const query = `?type=${type}&cmName=${cmName}`;
    return Promise.all([
      send("POST", "", { type, cmName, key: "k", limit: 1 }, headers),
      send("GET", `/k${query}`, undefined, headers),
      send("PUT", "/k", { type, cmName, limit: 2 }, headers),
      send("DELETE", `/k${query}`, undefined, headers),
    ]);
  };
  const refusals = (verbs: string[], what: string) =>
    verbs.map((verb) => ({
      status: 403,
      body: {
        code: 7,
        message: `Permission denied, you are not allowed to ${verb} ${what} in namespace "n".`,
      },
    }));
  expect(await asked("flows", 0, "c")).toEqual(
    refusals(["create", "get", "update", "update"], "configmaps"),
  );
  expect(await asked("maps", 1, "")).toEqual(
    refusals(["create", "get", "update", "delete"], "database sync limit"),
  );
  for (const [subject, type, cmName] of [["flows", 1, ""], ["maps", 0, "c"]] as const) {
    const headers = { authorization: CALLERS.tokenOf(subject) };
    expect(await send("POST", "", { type, cmName, key: "k", limit: 1 }, headers))
      .toMatchObject({ status: 200 });
    expect(await send("DELETE", `/k?type=${type}&cmName=${cmName}`, undefined, headers))
      .toMatchObject({ status: 200 });
  }
});

test("many can be added to one config map at once", async () => {
  await start(false);
  const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
  const add = (key: string) => send("POST", "", { cmName: "c", key, limit: 1 });
  const answers = await Promise.all(keys.map(add));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  for (const key of keys) expect((await send("GET", `/${key}?cmName=c`)).status).toBe(200);
});
