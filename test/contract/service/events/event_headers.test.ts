/** The headers of an event as its bindings see them, over real sockets, on both servers that a replica may use. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve, type Server } from "../../../../src/platform/serve.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";

const SERVERS: [string, number | undefined][] = [
  ["the server of the runtime", undefined],
  ["the one that does not wait for slow heads", 5_000],
];

describe.each(SERVERS)("%s", (_name, headerTimeoutMs) => {
  let instance: Instance;
  let server: Server;
  beforeAll(async () => {
    instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
    server = await serve(instance.fetch, "127.0.0.1", 0, headerTimeoutMs);
  });
  afterAll(async () => {
    await instance.stop();
    await server.close(2_000);
  });

  async function post(path: string, lines: string[]): Promise<string> {
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => (text += data));
    const head = ["Host: localhost", "Content-Length: 2", "Connection: close", ...lines];
    socket.write(`POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n{}`);
    await once(socket, "close");
    return text;
  }

  async function metadataOf(lines: string[]): Promise<Record<string, string[]>> {
    expect(await post("/api/v1/events/default/d", lines)).toMatch(/^HTTP\/1\.1 200/);
    const signal = AbortSignal.timeout(10_000);
    const [event] = await instance.service.store.events.take("w", 1, 60_000, 0, signal);
    if (event === undefined) throw new Error("nothing was queued");
    await instance.service.store.events.finish([{
      ...event,
      size: 0,
      state: "done",
      bindings: [],
    }]);
    return JSON.parse(event.text).metadata;
  }

  test.each<[string[], string[]]>([
    [["X-Kind: a", "X-Kind: b"], ["a", "b"]],
    [["X-Kind: a, b"], ["a, b"]],
    [["X-Kind: a,b", "x-kind: c, d", "X-KIND:e"], ["a,b", "c, d", "e"]],
    [["X-Kind: a, b", "X-Kinds: a", "X-Kinds: b"], ["a, b"]],
    [["X-Kind:  a \t", "X-Kind:\tb  "], ["a", "b"]],
    [["X-Kind: b", "X-Other: 1, 2", "X-Kind: a"], ["b", "a"]],
    [["X-Kind: same", "X-Kind: same"], ["same", "same"]],
    [["X-Kind: a", "X-Kind:"], ["a", ""]],
    [["X-Kind: one"], ["one"]],
    [["X-Kind: José", "X-Kind: 日本 ✓"], ["José", "日本 ✓"]],
  ])("%j is %j", async (lines, values) => {
    const metadata = await metadataOf(lines);
    expect(metadata["x-kind"]).toEqual(values);
    if (lines[1] === "X-Kinds: a") expect(metadata["x-kinds"]).toEqual(["a", "b"]);
    expect(metadata).not.toHaveProperty("host");
  });

  test("a binding sees them apart, also when it is only tried", async () => {
    await instance.seed([{
      kind: "WorkflowEventBinding",
      metadata: { name: "b", namespace: "default" },
      spec: {
        event: { selector: 'metadata["x-kind"] == ["a", "b"] && metadata["x-text"] == ["a, b"]' },
        resume: { workflow: '"w"', nodeFieldSelector: '"displayName=x"' },
      },
    }]);
    const path = "/api/v1/events/default/d?dryRun=true";
    const tried = await post(path, ["X-Kind: a", "X-Text: a, b", "X-Kind: b"]);
    expect(tried).toContain('"outcome":"resume"');
    expect(await post(path, ["X-Kind: a, b", "X-Text: a, b"])).toContain('"not-matched"');
  });
});
