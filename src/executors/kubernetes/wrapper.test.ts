/** The script around a command, run by the busybox of this machine, whose calls go to a server of the test. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { INIT_SCRIPT, RUN_SCRIPT, SHARED_DIR } from "./wrapper.ts";

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

  /** Runs a script without its pauses. Gives the exit code and the termination message. */
  async function runScript(script: string, args: string[], port: number, env: NodeJS.ProcessEnv) {
    const message = join(folder, "message");
    await writeFile(message, "");
    const here = script.replaceAll(SHARED_DIR, folder)
      .replaceAll("/dev/termination-log", message)
      .replaceAll(/\$_?s?[bB] sleep/g, ":")
      .replaceAll("timeout 3600", "timeout 2");
    const child = spawn(BUSYBOX, ["sh", "-c", here, "run", ...args], {
      env: {
        PATH: "/bin:/usr/bin",
        SLUICE_HOST: "127.0.0.1",
        SLUICE_PORT: String(port),
        SLUICE_PATH: "/here",
        SLUICE_TASK: "t",
        SLUICE_TOKEN: "k",
        ...env,
      },
      stdio: "ignore",
    });
    const [code] = await once(child, "exit");
    return { code, message: await readFile(message, "utf8") };
  }

  /** Runs `true` with one output artifact. */
  async function run(port: number, bytes = 1_000) {
    const artifact = join(folder, "artifact");
    await writeFile(artifact, new Uint8Array(bytes));
    const env = { SLUICE_NAME: "main", SLUICE_ARTIFACTS: `0\t${artifact}` };
    return await runScript(RUN_SCRIPT, ["true"], port, env);
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
      const { code, message } = await run(server.port, ARTIFACT_BYTES);
      expect(code).toBe(0);
      expect(message).toMatch(/^sluice:./);
      expect(server.connections()).toBe(2);
    } finally {
      server.close();
    }
  });

  test("an artifact is sent again when the server never answers", async () => {
    const server = await listen((socket, nth) => {
      if (nth === 1) socket.resume();
      else answer(socket);
    });
    try {
      expect(await run(server.port)).toMatchObject({ code: 0 });
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
      expect(await run(server.port, ARTIFACT_BYTES)).toEqual({
        code: 65,
        message: "cannot send the outputs to the server: it is too large",
      });
    } finally {
      server.close();
    }
  });

  test.each([
    ["no server answers", ""],
    ["the server can't reach its store", "HTTP/1.0 503 Unavailable\r\n\r\n"],
  ])("outputs are kept for long while %s", async (_title, said) => {
    const server = await listen((socket, nth) => {
      if (nth > 60) answer(socket);
      else socket.once("data", () => socket.end(said));
    });
    try {
      expect(await run(server.port)).toMatchObject({ code: 0 });
      expect(server.connections()).toBe(61);
    } finally {
      server.close();
    }
  });

  test("a fault of the server that stays ends the step", async () => {
    const server = await listen((socket) =>
      socket.once("data", () => socket.end("HTTP/1.0 500 Error\r\n\r\nno"))
    );
    try {
      expect(await run(server.port)).toMatchObject({ code: 65 });
      expect(server.connections()).toBe(30);
    } finally {
      server.close();
    }
  });

  test("an input is asked for as long while no server answers", async () => {
    await writeFile(join(folder, "x"), "content");
    const packed = spawnSync(BUSYBOX, ["tar", "-C", folder, "-c", "x"]).stdout;
    const head = `HTTP/1.0 200 OK\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const server = await listen((socket, nth) =>
      socket.once("data", () => {
        if (nth > 60) socket.end(Buffer.concat([Buffer.from(head), packed]));
        else socket.destroy();
      })
    );
    const inputs = join(folder, "inputs");
    try {
      const env = { SLUICE_INPUTS: `0\t${inputs}\tfalse\tx` };
      const script = INIT_SCRIPT.replace("$B cp $B $D/busybox", ":");
      expect(await runScript(script, [], server.port, env)).toEqual({ code: 0, message: "" });
      expect(await readFile(join(inputs, "x"), "utf8")).toBe("content");
    } finally {
      server.close();
    }
  });
});
