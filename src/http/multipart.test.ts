import { expect, test } from "vitest";
import { turnsWhile } from "../../test/support/turns_while.ts";
import { systemClock } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import { readUpload } from "./multipart.ts";

const TYPE = 'multipart/form-data; charset=utf-8; boundary="--x"';

/** @param end what comes after the chunks. @default their end */
function form(
  chunks: string[],
  type = TYPE,
  end = (controller: ReadableStreamDefaultController<Uint8Array>) => controller.close(),
): Request {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
    },
    pull: end,
  });
  return new Request("http://x/", {
    method: "POST",
    body,
    headers: { "content-type": type },
    duplex: "half",
  } as RequestInit);
}

const waits = new Deadlines(systemClock, 5_000);
const limits = (maxBytes: number) => ({ maxBytes, timeoutMs: 5_000, waits });

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

const TEXT = [
  '----x\r\nContent-Disposition: form-data; name="note"\r\n\r\nsmall\r\n',
  '----x\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; filename="a\\"b.txt"; name="file"\r\n\r\n',
  "one\r\n----two\r\nthree\r\n----x--\r\n",
].join("");

test("readUpload() finds the file, wherever the chunks are cut", async () => {
  for (const size of [1, 2, 7, 64, TEXT.length]) {
    const chunks = TEXT.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    const { fileName, body } = await readUpload(form(chunks), limits(10_000));
    expect([size, fileName, await textOf(body)]).toEqual([
      size,
      'a"b.txt',
      "one\r\n----two\r\nthree",
    ]);
  }
});

test("readUpload() refuses anything but a form with a file, and fails when the form ends early or is too large", async () => {
  await expect(readUpload(form([TEXT], "text/plain"), limits(1_000))).rejects.toMatchObject({
    status: 400,
  });
  const other = TEXT.replace('name="file"', 'name="other"');
  await expect(readUpload(form([other]), limits(1_000))).rejects.toMatchObject({ status: 400 });
  const early = await readUpload(form([TEXT.slice(0, -8)]), limits(1_000));
  await expect(textOf(early.body)).rejects.toMatchObject({ status: 400 });
  const large = await readUpload(form([TEXT.slice(0, -20), "y".repeat(2_000)]), limits(1_000));
  await expect(textOf(large.body)).rejects.toMatchObject({ status: 413 });
});

test("a form that breaks off is no defect of the server", async () => {
  const broken = (text: string) =>
    form([text], TYPE, (controller) => controller.error(new TypeError("connection closed")));
  const problem = { name: "Problem", status: 503 };
  await expect(readUpload(broken(TEXT.slice(0, 20)), limits(1_000))).rejects.toMatchObject(problem);
  const { body } = await readUpload(broken(TEXT.slice(0, -8)), limits(1_000));
  await expect(textOf(body)).rejects.toMatchObject(problem);
});

test("a form that is there in thousands of pieces leaves others their turns", async () => {
  const text = "x".repeat(1_000);
  const pieces = [
    ...`----x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${text}\r\n----x--`,
  ];
  const reading = readUpload(form(pieces), limits(10_000)).then(({ body }) => textOf(body));
  expect(await turnsWhile(reading)).toBeGreaterThan(50);
  expect(await reading).toBe(text);
});
