import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock } from "../platform/clock.ts";
import { createArtifactStore } from "./artifact_store.ts";
import { parseRepository } from "./repository_setting.ts";

let server: Server;
let status = 200;
let isSilent = false;
beforeAll(async () => {
  server = createServer((_, response) => {
    if (isSilent) return;
    response.writeHead(status, { "content-type": "application/xml" });
    response.end("<Error><Code>Some</Code><Message>as it says</Message></Error>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => void server.close());

const nothing = () => Promise.resolve(undefined);
const artifact = { name: "a", s3: { key: "n/k" } };

const storeAt = (port: number) =>
  createArtifactStore({
    repository: parseRepository(`s3://key:secret@127.0.0.1:${port}/bucket?insecure=true`),
    config: { configMap: nothing, secret: nothing },
  });

/** What a caller is told of a list and a removal. */
async function failures(port: number): Promise<unknown[]> {
  const store = storeAt(port);
  const calls = [
    store.list(artifact, { namespace: "n" }),
    store.remove(artifact, { namespace: "n" }),
  ];
  return await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
}

test("a bucket that takes requests and does not answer is given up", async () => {
  const { port } = server.address() as AddressInfo;
  isSilent = true;
  vi.spyOn(systemClock, "after").mockImplementation((_, run) => {
    const timer = setTimeout(run, 100);
    return () => clearTimeout(timer);
  });
  const store = storeAt(port);
  const body = Readable.from([Buffer.from("a")], { objectMode: false });
  const late = `127.0.0.1:${port} did not answer within 600 s`;
  await expect(store.list(artifact, { namespace: "n" })).rejects.toThrow(late);
  await expect(store.write(artifact, body, { namespace: "n" })).rejects.toThrow(late);
  vi.restoreAllMocks();
  server.closeAllConnections();
  isSilent = false;
});

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
