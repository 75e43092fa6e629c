import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { readFileStream } from "./file_stream.ts";

test("readFileStream() tells a reader who comes late that the file is gone, and nobody else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-file-"));
  try {
    const path = join(folder, "a");
    await writeFile(path, "text");
    expect(await text(readFileStream(path))).toBe("text");
    const stream = readFileStream(join(folder, "gone"));
    await new Promise((resolve) => stream.once("close", resolve));
    await expect(text(stream)).rejects.toThrow("ENOENT");
  } finally {
    await rm(folder, { recursive: true });
  }
});
