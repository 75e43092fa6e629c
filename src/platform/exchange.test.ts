import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exchange } from "./exchange.ts";

/** Answers `/ok`, begins an answer to `/part`, and says nothing to anything else. */
const server = createServer((incoming, response) => {
  if (incoming.url === "/ok") response.end("fine");
  else if (incoming.url === "/part") response.write("par");
});
let base: string;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function get(path: string, signal?: AbortSignal): Promise<string> {
  const response = await exchange(request(base + path), undefined, signal);
  let text = "";
  for await (const part of response as AsyncIterable<Uint8Array>) text += String(part);
  return text;
}

test.each(["/silent", "/part"])(
  "a request to %s ends when its signal aborts, also on a connection that was used before",
  async (path) => {
    for (let round = 0; round < 10; round++) {
      expect(await get("/ok")).toBe("fine");
      const stop = new AbortController();
      const arrived = once(server, "request");
      const asked = get(path, stop.signal);
      await arrived;
      stop.abort();
      await expect(asked).rejects.toThrow();
    }
  },
);

test("a signal that has aborted before sends nothing", async () => {
  await expect(get("/ok", AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});
