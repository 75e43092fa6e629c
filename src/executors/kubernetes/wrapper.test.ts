/** The script around a command, run by the busybox of this machine, whose calls go to a server of the test. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RUN_SCRIPT, SHARED_DIR } from "./wrapper.ts";

const BUSYBOX = "/bin/busybox";
const isMissing = spawnSync(BUSYBOX, ["true"]).status !== 0;
/** More than a pipe and the buffers of a connection hold. */
const ARTIFACT_BYTES = 16_000_000;

describe.skipIf(isMissing)(`wrapper${isMissing ? ` (skipped: no ${BUSYBOX})` : ""}`, () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-wrapper-"));
    await symlink(BUSYBOX, join(folder, "busybox"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Listens, and hands on each connection with its number. */
  async function listen(onConnection: (socket: Socket, nth: number) => void) {
    let nth = 0;
    const server = createServer((socket) => {
      socket.on("error", () => {});
      onConnection(socket, ++nth);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    return { port, connections: () => nth, close: () => server.close() };
  }

  /** Runs `true` in the wrapper, with one output artifact. Gives the exit code and the termination message. */
  async function run(port: number) {
    const [artifact, message] = [join(folder, "artifact"), join(folder, "message")];
    await writeFile(artifact, new Uint8Array(ARTIFACT_BYTES));
    const script = RUN_SCRIPT.replaceAll(SHARED_DIR, folder);
    const child = spawn(BUSYBOX, ["sh", "-c", script, "run", "true"], {
      env: {
        PATH: "/bin:/usr/bin",
        SLUICE_NAME: "main",
        SLUICE_ARTIFACTS: `0\t${artifact}`,
        SLUICE_HOST: "127.0.0.1",
        SLUICE_PORT: String(port),
        SLUICE_PATH: "/here",
        SLUICE_MESSAGE_PATH: message,
      },
      stdio: "ignore",
    });
    const [code] = await once(child, "exit");
    return { code, message: await readFile(message, "utf8") };
  }

  function answer(socket: Socket): void {
    let count = 0;
    let expected = Infinity;
    let head = "";
    socket.on("data", (part: Uint8Array) => {
      count += part.length;
      if (expected === Infinity) {
        head += Buffer.from(part).toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        expected = end + 4 + Number(/Content-Length: (\d+)/.exec(head)?.[1]);
      }
      if (count >= expected) socket.end('HTTP/1.0 200 OK\r\n\r\n{"name":"a"}');
    });
  }

  test("an artifact is sent again when the server died while it took it", async () => {
    const server = await listen((socket, nth) => {
      if (nth === 1) socket.once("data", () => socket.resetAndDestroy());
      else answer(socket);
    });
    try {
      const { code, message } = await run(server.port);
      expect(code).toBe(0);
      expect(message).toMatch(/^sluice:./);
      expect(server.connections()).toBe(2);
    } finally {
      server.close();
    }
  });

  test("a refusal ends the step, also one that comes before all was sent", async () => {
    const server = await listen((socket) => {
      socket.once("data", () => socket.end("HTTP/1.0 413 Too Large\r\n\r\nit is too large"));
    });
    try {
      expect(await run(server.port)).toEqual({
        code: 65,
        message: "cannot send the outputs to the server: it is too large",
      });
    } finally {
      server.close();
    }
  });
});
