/** The thread that checks large manifests, see `check.ts`. */
import { parentPort } from "node:worker_threads";
import { answerCheck } from "./check.ts";

parentPort?.on("message", (text: string) => parentPort?.postMessage(answerCheck(text)));
