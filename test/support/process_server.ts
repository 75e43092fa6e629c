/** A program that starts one task on the process executor and waits to be killed: `process_server.ts DIR TASK_JSON`. */
import process from "node:process";
import { createProcessExecutor } from "../../src/executors/local/process.ts";
import { systemClock } from "../../src/platform/clock.ts";

const [dir = "", task = "{}"] = process.argv.slice(2);
const none = () => Promise.resolve(undefined);
const executor = createProcessExecutor({
  dir,
  clock: systemClock,
  config: { configMap: none, secret: none },
});
await executor.start(JSON.parse(task), (fact) => process.stdout.write(`${fact.type}\n`));
setInterval(() => {}, 1_000);
