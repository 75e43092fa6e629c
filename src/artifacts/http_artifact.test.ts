import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../platform/clock.ts";
import { readUrl, writeUrl } from "./http_artifact.ts";

let server: Server;
let answer: RequestListener;
let base: string;
beforeEach(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
});

const names = { tokenURLSecret: "url", clientIDSecret: "id", clientSecretSecret: "secret" };
const secret = (name: unknown) => Promise.resolve(name === "url" ? `${base}/token` : `my ${name}`);
const readWithToken = () => readUrl({ url: `${base}/file`, auth: { oauth2: names } }, secret);

/** Minutes pass in a moment. */
function hurry(): void {
  vi.spyOn(systemClock, "after").mockImplementation((_, run) => {
    const timer = setTimeout(run, 200);
    return () => clearTimeout(timer);
  });
}

test("a token is asked for with a form and sent with the request", async () => {
  const asked: unknown[] = [];
  answer = async (request, response) => {
    const { method, url, headers } = request;
    const body = (await request.setEncoding("utf8").toArray()).join("");
    asked.push([method, url, headers["content-type"], headers["authorization"], body]);
    response.end(JSON.stringify({ access_token: "t" }));
  };
  const found = await readWithToken();
  found?.body.destroy();
  const form = "grant_type=client_credentials&client_id=my+id&client_secret=my+secret";
  const type = "application/x-www-form-urlencoded;charset=UTF-8";
  expect(asked).toEqual([
    ["POST", "/token", type, undefined, form],
    ["GET", "/file", undefined, "Bearer t", ""],
  ]);
});

test("a token's answer that never ends is given up", async () => {
  hurry();
  answer = (_, response) => void response.write("{");
  await expect(readWithToken()).rejects.toThrow(`${base} did not answer within 60 s`);
});

test("a token's answer without bound is not kept", async () => {
  answer = (_, response) => void response.end(Buffer.alloc(2 << 20, " "));
  await expect(readWithToken()).rejects.toThrow("more than 1048576 bytes");
});

test("a download whose server falls silent is given up, and its connection is closed", async () => {
  hurry();
  let isClosed = false;
  answer = (request, response) => {
    request.socket.once("close", () => isClosed = true);
    response.writeHead(200, { "content-length": "1000" }).write("a");
  };
  const found = await readUrl({ url: `${base}/file` }, secret);
  await expect(found?.body.toArray()).rejects.toThrow(`${base} sent nothing for 300 s`);
  await vi.waitFor(() => expect(isClosed).toBe(true));
});

test("a download that breaks off is not taken for whole", async () => {
  answer = (_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("a");
    setTimeout(() => response.destroy(), 50);
  };
  const found = await readUrl({ url: `${base}/file` }, secret);
  await expect(found?.body.toArray()).rejects.toThrow();
});

test.each(["takes nothing", "takes all and says nothing"])(
  "an upload to a server that %s is given up, and its source is closed",
  async (how) => {
    hurry();
    answer = (request) => void (how === "takes nothing" ? request.pause() : request.resume());
    const size = how === "takes nothing" ? 1_000 : 2;
    const body = Readable.from(
      (function* () {
        for (let i = 0; i < size; i++) yield Buffer.alloc(65_536);
      })(),
      { objectMode: false },
    );
    await expect(writeUrl({ url: `${base}/put` }, body, secret)).rejects.toThrow("within 300 s");
    await vi.waitFor(() => expect(body.destroyed).toBe(true));
  },
);

test("an upload whose source is slow is not given up", async () => {
  hurry();
  const got: Buffer[] = [];
  answer = async (request, response) => {
    for await (const part of request) got.push(part as Buffer);
    response.end();
  };
  const body = Readable.from(
    (async function* () {
      yield Buffer.from("a");
      await new Promise((resolve) => setTimeout(resolve, 500));
      yield Buffer.from("b");
    })(),
    { objectMode: false },
  );
  await writeUrl({ url: `${base}/put` }, body, secret);
  expect(Buffer.concat(got).toString()).toBe("ab");
});
