import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { webStream } from "./web_stream.ts";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-web-stream-"));
  file = join(folder, "file");
  await writeFile(file, "x".repeat(200_000));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("webStream() hands on all bytes", async () => {
  const body = (await open(file)).createReadStream();
  expect((await new Response(webStream(body)).text()).length).toBe(200_000);
});

test.each([0, 1])(
  "webStream() lets go of a file whose reader leaves after %i pieces",
  async (pieces) => {
    const body = (await open(file)).createReadStream().on("error", () => {});
    const closed = new Promise<void>((resolve) => body.once("close", () => resolve()));
    const reader = webStream(body).getReader();
    for (let index = 0; index < pieces; index++) await reader.read();
    await reader.cancel();
    await closed;
    expect(body.destroyed).toBe(true);
  },
);
