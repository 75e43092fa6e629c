import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createArtifactStore } from "./artifact_store.ts";
import { parseRepository } from "./repository_setting.ts";

let server: Server;
let status = 200;
beforeAll(async () => {
  server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "application/xml" });
    response.end("<Error><Code>Some</Code><Message>as it says</Message></Error>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void server.close());

const nothing = () => Promise.resolve(undefined);
const artifact = { name: "a", s3: { key: "n/k" } };

/** What a caller is told of a list and a removal. */
async function failures(port: number): Promise<unknown[]> {
  const store = createArtifactStore({
    repository: parseRepository(`s3://key:secret@127.0.0.1:${port}/bucket?insecure=true`),
    config: { configMap: nothing, secret: nothing },
  });
  const calls = [
    store.list(artifact, { namespace: "n" }),
    store.remove(artifact, { namespace: "n" }),
  ];
  return await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
}

test("a bucket that is away, or can't answer now, is Unavailable; a refusal is not", async () => {
  const { port } = server.address() as AddressInfo;
  const passing = expect.objectContaining({ status: 503, retryAfterSeconds: 1 });
  for (status of [500, 503]) expect(await failures(port)).toEqual([passing, passing]);
  status = 403;
  const refused = expect.objectContaining({
    status: 500,
    message: expect.stringContaining("as it says"),
  });
  expect(await failures(port)).toEqual([refused, refused]);
  await new Promise((resolve) => server.close(resolve));
  expect(await failures(port)).toEqual([passing, passing]);
});
