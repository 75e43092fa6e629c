import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import type { Json } from "../base/json.ts";
import { Link } from "./link.ts";

const cleanUp: (() => void)[] = [];

afterEach(() => {
  for (const run of cleanUp.splice(0).reverse()) run();
});

/** Where a process may listen. */
function freePath(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-link-"));
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "b");
}

function newLink(): Link {
  const link = new Link();
  cleanUp.push(() => link.close());
  return link;
}

const isConnected = (link: Link) => link.ask("b", null, () => {});

/** Two processes, a and b; b answers as told. */
async function pair(
  take: Parameters<Link["serve"]>[0],
): Promise<{ a: Link; b: Link; path: string }> {
  const [a, b, path] = [newLink(), newLink(), freePath()];
  await b.listen(path);
  b.serve(take);
  a.meet({ b: path });
  await until(() => isConnected(a));
  return { a, b, path };
}

/** Ends of connections that something listening at a path has taken; it neither reads nor answers. */
async function silentListener(path: string): Promise<Socket[]> {
  const taken: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => void taken.push(socket));
  cleanUp.push(() => {
    for (const socket of taken) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return taken;
}

test("a question is answered, whatever is in it and in which order answers come", async () => {
  const later: (() => void)[] = [];
  const { a } = await pair((question, answer) => {
    if (later.length % 2 === 0) later.push(() => answer(question));
    else answer(question);
    setTimeout(() => later.splice(0).forEach((run) => run()), 10);
  });
  const texts = ["plain", "line\nbreak", "ü€😀".repeat(20_000), ...Array(200).fill("x")];
  const answers = await Promise.all(
    texts.map((text) =>
      new Promise<Json | undefined>((resolve) => expect(a.ask("b", { text }, resolve)).toBe(true))
    ),
  );
  expect(answers).toEqual(texts.map((text) => ({ text })));
});

test("nobody can be asked who is not connected", async () => {
  const { a } = await pair(() => {});
  expect(a.ask("c", 1, () => {})).toBe(false);
  a.meet({ c: "/nowhere/socket" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(a.ask("c", 1, () => {})).toBe(false);
});

test("who asks over a connection that breaks is told so, and is refused from then on", async () => {
  let asked = 0;
  const { a } = await pair(() => asked++);
  const answer = new Promise<Json | undefined>((resolve) => a.ask("b", 1, resolve));
  await until(() => asked === 2);
  a.close();
  expect(await answer).toBeUndefined();
  expect(a.ask("b", 1, () => {})).toBe(false);
});

test("a connection that breaks is made again, unless its process has ended", async () => {
  const path = freePath();
  const taken = await silentListener(path);
  const a = newLink();
  a.meet({ b: path });
  await until(() => taken.length === 1 && isConnected(a));
  taken[0]?.destroy();
  await until(() => !isConnected(a));
  await until(() => taken.length === 2 && isConnected(a));
  a.gone("b");
  taken[1]?.destroy();
  await until(() => !isConnected(a));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(taken).toHaveLength(2);
});

test("a neighbour that does not listen yet is found when it does", async () => {
  const [a, path] = [newLink(), freePath()];
  a.meet({ b: path });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isConnected(a)).toBe(false);
  await silentListener(path);
  await until(() => isConnected(a));
});

test("after its end nobody is asked, and connections on their way and of neighbours end too", async () => {
  const path = freePath();
  const taken = await silentListener(path);
  const early = newLink();
  early.meet({ b: path });
  early.close();
  await until(() => taken.length === 1);
  taken[0]?.resume();
  await until(() => taken[0]?.destroyed === true);
  expect(isConnected(early)).toBe(false);
  const { a, b } = await pair(() => {});
  b.close();
  await until(() => !isConnected(a));
});

test("a neighbour that takes nothing is not asked without end", async () => {
  const path = freePath();
  const taken = await silentListener(path);
  const a = newLink();
  a.meet({ b: path });
  await until(() => isConnected(a));
  const text = "x".repeat(1024 * 1024);
  let heard = 0;
  let asked = 0;
  while (asked < 200 && a.ask("b", text, () => heard++)) {
    asked++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(asked).toBeGreaterThan(50);
  expect(asked).toBeLessThan(100);
  taken[0]?.destroy();
  await until(() => heard === asked);
});

test("a neighbour that answers nothing is not asked without end", async () => {
  const { a } = await pair(() => {});
  let asked = 0;
  while (asked < 20_000 && a.ask("b", asked, () => {})) asked++;
  expect(asked).toBeGreaterThan(9_000);
  expect(asked).toBeLessThan(10_000);
});

test("answers are not kept without end for who does not take them: the connection ends", async () => {
  const text = "x".repeat(1024 * 1024);
  let answered = 0;
  const { path } = await pair((_, answer) => {
    answered++;
    answer(text);
  });
  const before = answered;
  const socket = connect(path);
  cleanUp.push(() => void socket.destroy());
  let isOver = false;
  socket.once("close", () => isOver = true).on("error", () => {}).pause();
  for (let id = 1; id <= 200; id++) socket.write(`[${id},0,null]\n`);
  await until(() => answered > before + 64);
  socket.resume();
  await until(() => isOver);
  expect(socket.bytesRead).toBeLessThan(100 * text.length);
});
