/** The process that runs jq filters, see `jq.ts`. jq has no file, network or variable of it: it is WebAssembly. */
import process from "node:process";
import { createInterface } from "node:readline";
import { JqError, loadJq } from "jq-wasm";
import { errorText } from "../../base/error_text.ts";
import type { Json } from "../../base/json.ts";
import { toJsonText } from "../../expr/values/go_text.ts";
import { fromJson } from "../../expr/values/values.ts";
import type { JqAnswer, JqMessage } from "./jq.ts";

/** Most memory that a filter may use. */
const MAX_MEMORY_MIB = 64;
/** As long as an output parameter may be, characters. */
const MAX_TEXT = 1024 * 1024;
const PAGE_BYTES = 65_536;

let isOutOfMemory = false;
const grow = WebAssembly.Memory.prototype.grow;
// The library has no option for it. A refusal is what jq sees where a machine has no more.
WebAssembly.Memory.prototype.grow = function (pages) {
  isOutOfMemory = this.buffer.byteLength + pages * PAGE_BYTES > MAX_MEMORY_MIB * 1024 * 1024;
  if (isOutOfMemory) throw new RangeError("out of memory");
  return grow.call(this, pages);
};

const lines = createInterface({ input: process.stdin });
// One after the other: the next line comes after the answer.
lines.on("line", async (line) => {
  const text = line === "" ? "" : JSON.stringify(await answer(JSON.parse(line)));
  process.stdout.write(`${text}\n`);
});
lines.on("close", () => process.exit());

async function answer({ filter, object }: JqMessage): Promise<JqAnswer> {
  isOutOfMemory = false;
  try {
    // One of its own for each filter: what another one left in memory is none of its business.
    const jq = await loadJq();
    // The reference passes through objects by the order of their keys.
    const input = toJsonText(fromJson(object));
    const results = jq.json<Json>(input, filter, ["--"]);
    const text = results.map(lineOf).join("\n").trim();
    if (text.length > MAX_TEXT) {
      return { reason: `the result is longer than ${MAX_TEXT} characters` };
    }
    return { text };
  } catch (error) {
    if (error instanceof JqError) return { reason: reasonIn(error.stderr) };
    if (isOutOfMemory) return { reason: `the jq filter needs more than ${MAX_MEMORY_MIB} MiB` };
    return { reason: `jq failed: ${errorText(error)}` };
  }
}

/** A result as the reference writes it: with sorted keys, and what HTML would read escaped. */
function lineOf(result: Json): string {
  return typeof result === "string" ? result : toJsonText(fromJson(result));
}

/** What jq says of an error, without its own name and where it read the object from. */
function reasonIn(stderr: string): string {
  const [, reason] = /^jq: error(?: \(at [^)]*\))?:? (.*?):?$/m.exec(stderr) ?? [];
  return reason ?? stderr;
}
