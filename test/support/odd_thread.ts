/** A thread for tests of threads: it answers, fails, never ends, or ends itself, as it is told. */
import process from "node:process";
import { parentPort } from "node:worker_threads";

parentPort?.on("message", (text: string) => {
  if (text === "fail") throw new Error("it fails");
  if (text === "end") process.exit(0);
  while (text === "never end");
  parentPort?.postMessage(`answer to ${text}`);
});
