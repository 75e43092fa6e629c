/** What an ended pod leaves: outputs from its status or the store, and its logs as artifacts. */
import { rm } from "node:fs/promises";
import type { ArtifactStore } from "../../artifacts/port.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { makeTempFolder } from "../../platform/process/temp_folders.ts";
import type { Artifact, Outputs } from "../../spec/manifest.ts";
import { saveLog, writeLines } from "../archived_log.ts";
import { needsWrapper } from "./needs_wrapper.ts";
import { mainExit, mainNames } from "./outcome.ts";
import type { Pod } from "./outcome.ts";
import type { LogLine } from "../port.ts";
import { DAMAGED_REPORT, memoryKey, outputsFromReport, reportInMessage } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";

const EMPTY_TAR = new Uint8Array(1024);

/** Outputs, and what is wrong with the first that could not be had. Rejects while the store can't be read. */
export async function podOutputs(
  task: TaskSpec,
  pod: Pod,
  memory: TaskMemory,
  labelPrefix: string,
): Promise<{ outputs: Outputs; fault?: string }> {
  const exit = mainExit(pod);
  const own: Outputs = exit === undefined ? {} : { exitCode: String(exit.code) };
  if (!needsWrapper(task, labelPrefix)) return { outputs: own };
  const messages = (pod.status?.containerStatuses ?? []).map(({ state }) =>
    state?.terminated?.message ?? ""
  );
  for (const message of messages) {
    let inline: Uint8Array | undefined;
    try {
      inline = await reportInMessage(message);
    } catch {
      return { outputs: own, fault: DAMAGED_REPORT };
    }
    if (inline === undefined) continue;
    const report = inline.length > 0 ? inline : await memory.getBlob(memoryKey(task.id, "outputs"));
    if (report === undefined) return { outputs: own, fault: "outputs of the pod are lost" };
    const read = await outputsFromReport(report, task.template);
    return { ...read, outputs: { ...read.outputs, ...own } };
  }
  // Nothing was written: everything takes its default, or is missing.
  const read = await outputsFromReport(EMPTY_TAR, task.template);
  if (task.includeResult && exit?.code === 0) read.outputs.result = "";
  return { ...read, outputs: { ...read.outputs, ...own } };
}

/**
 * Saves the logs of the main containers as artifacts named `<container>-logs`. Rejects when one can't be read or saved.
 * @param linesOf The log of one container, to its end.
 */
export async function archivePodLogs(
  task: TaskSpec,
  artifacts: ArtifactStore,
  linesOf: (container: string) => AsyncIterable<LogLine>,
): Promise<Artifact[]> {
  const folder = await makeTempFolder("logs");
  const saved: Artifact[] = [];
  try {
    for (const name of mainNames(task)) {
      const place = { root: folder, path: `${name}.log` };
      await writeLines(place, linesOf(name));
      saved.push(await saveLog(artifacts, name, place, task));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return saved;
}
