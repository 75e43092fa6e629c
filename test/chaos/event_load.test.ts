/** The client of the load: it must not send a request twice, or the ledger would blame the service. */
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { call, callOnce } from "../support/event_ledger.ts";

const WHOLE = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/** Answers each path but those that break off; gives the requests. */
async function startFlaky(): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server: Server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const [, path = ""] = String(data).split(" ");
      seen.push(path);
      if (path === "/dies") socket.destroy();
      else if (path === "/half") socket.end(WHOLE.slice(0, -1));
      else socket.write(WHOLE);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test("a request on a connection of its own is sent once, whatever becomes of it", async () => {
  const { url, seen } = await startFlaky();
  // Leaves a connection that others might take.
  expect(await call(url, "GET", "/kept")).toMatchObject({ status: 200, body: {} });
  expect(await callOnce(url, "POST", "/whole", {})).toMatchObject({ status: 200, body: {} });
  await expect(callOnce(url, "POST", "/dies", {})).rejects.toThrow();
  await expect(callOnce(url, "POST", "/half", {})).rejects.toThrow();
  expect(seen).toEqual(["/kept", "/whole", "/dies", "/half"]);
});
