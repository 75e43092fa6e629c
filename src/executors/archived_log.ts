/** Logs of ended containers as artifacts. */
import type { ArtifactStore } from "../artifacts/port.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { writeInside } from "../platform/files/inside.ts";
import { joinedTexts } from "../platform/line_splitter.ts";
import { type Place, placeText } from "../platform/files/place.ts";
import type { Artifact } from "../spec/manifest.ts";
import { outputScope } from "./artifact_scope.ts";
import type { LogLine } from "./port.ts";

/** Writes the texts of lines to a file. */
export async function writeLines(place: Place, lines: AsyncIterable<LogLine>): Promise<void> {
  await writeInside(place, joinedTexts(textsOf(lines)));
}

async function* textsOf(lines: AsyncIterable<LogLine>): AsyncGenerator<string> {
  for await (const { text } of lines) yield `${text}\n`;
}

/** Stores a log file as the artifact `<container>-logs`. */
export async function saveLog(
  artifacts: ArtifactStore,
  container: string,
  place: Place,
  task: TaskSpec,
): Promise<Artifact> {
  const artifact = { name: `${container}-logs`, path: placeText(place), archive: { none: {} } };
  const kept = await artifacts.save(artifact, place, task.artifactPrefix, outputScope(task));
  const { path: _path, archive: _archive, ...rest } = kept;
  return rest;
}
