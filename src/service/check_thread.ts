/** The thread on which large manifests are checked, see `manifest_check.ts`. */
import { parentPort } from "node:worker_threads";
import { answerCheck } from "./manifest_check.ts";

parentPort?.on("message", (text: string) => parentPort?.postMessage(answerCheck(text)));
