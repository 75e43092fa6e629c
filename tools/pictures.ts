// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task pictures [--named TEXT] [--width PX] [--to FOLDER] [--png]`: takes pictures of all pages in both themes, on a real server in
 * Chromium. Without options it renews those of the documentation; with a width and a folder it takes others to look at.
 */
import { mkdir } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";
import { browserMissing } from "../test/support/argo_pages.ts";
import { IMAGES, takePictures, WIDTH } from "../test/support/ui_pictures.ts";

const { values } = parseArgs({
  options: {
    named: { type: "string", default: "" },
    width: { type: "string", default: String(WIDTH) },
    to: { type: "string", default: IMAGES },
    png: { type: "boolean", default: false },
  },
});
const missing = browserMissing();
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}
await mkdir(values.to, { recursive: true });
const files = await takePictures(values.to, {
  width: Number(values.width),
  named: values.named,
  format: values.png ? "png" : "webp",
});
for (const file of files) console.log(file);
