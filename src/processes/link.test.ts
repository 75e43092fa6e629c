import { mkdtempSync, rmSync } from "node:fs";
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

/** Two processes, a and b; b answers as told. */
async function pair(take: Parameters<Link["serve"]>[0]): Promise<{ a: Link; b: Link }> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-link-"));
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
  const [a, b] = [new Link(), new Link()];
  cleanUp.push(() => a.close(), () => b.close());
  await b.listen(join(folder, "b"));
  b.serve(take);
  a.meet({ b: join(folder, "b") });
  await until(() => a.ask("b", null, () => {}));
  return { a, b };
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
  await until(() => !a.ask("b", 1, () => {}));
});
