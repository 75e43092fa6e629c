/**
 * What the wrapper in a pod sends home: a tar of `result`, `p.<index>` per parameter, `n.<index>` for one whose path is no
 * file, `a.<index>` per artifact.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unpackTar } from "modern-tar";
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { findLocation, keyedLocation } from "../../spec/artifact_location.ts";
import type { Artifact, Outputs, Template } from "../../spec/manifest.ts";
import { MAX_PARAMETER_BYTES, resultFrom, trimNewline } from "../capture.ts";
import { outputFiles } from "./callback_facts.ts";
import { MESSAGE_PREFIX } from "./wrapper.ts";

/** Longest report: result, parameters and artifacts' locations. */
export const MAX_REPORT_BYTES = 16 * 1024 * 1024;

/** Small values that outlive a replica and are seen by all: a part of the store. */
export interface TaskMemory {
  putBlob(key: string, value: Uint8Array): Promise<void>;
  getBlob(key: string): Promise<Uint8Array | undefined>;
  removeBlobs(prefix: string): Promise<void>;
}

/** Key of what is remembered of a task. */
export function memoryKey(taskId: string, what: "created" | "deleting" | "outputs" | ""): string {
  return `task/${taskId}/${what}`;
}

/** What is said of a report that can't be read, whoever wrote it. */
export const DAMAGED_REPORT = "the pod's report of its outputs can't be read";

/**
 * The report inside a termination message; undefined when it isn't ours, empty when it was sent by a call.
 * @throws {Error} when it can't be unpacked
 */
export async function reportInMessage(message: string): Promise<Uint8Array | undefined> {
  if (!message.startsWith(MESSAGE_PREFIX)) return undefined;
  const packed = Buffer.from(message.slice(MESSAGE_PREFIX.length).trim(), "base64");
  if (packed.length === 0) return new Uint8Array();
  return await promisify(gunzip)(packed, { maxOutputLength: MAX_REPORT_BYTES });
}

/**
 * Outputs from a report, and what is wrong with the first that could not be had. The report is the pod's word: of it count
 * only values and keys for what the template declares.
 */
export async function outputsFromReport(
  report: Uint8Array,
  template: Template,
): Promise<{ outputs: Outputs; fault?: string }> {
  const files = new Map<string, Uint8Array>();
  for (const { header, data } of await unpackTar(new Uint8Array(report))) {
    if (data !== undefined) files.set(header.name.replace(/^\.\//, ""), data);
  }
  const outputs: Outputs = {};
  let fault: string | undefined;
  const result = files.get("result");
  if (result !== undefined) outputs.result = resultFrom(result);
  const paths = new Map(outputFiles(template.outputs?.parameters));
  // One that could not be read is reported without a value.
  const parameters = (template.outputs?.parameters ?? []).map((parameter, index) => {
    const path = paths.get(index);
    if (path === undefined) return parameter;
    const content = files.get(`p.${index}`);
    const fallback = parameter.valueFrom?.default ?? parameter.default;
    if (content !== undefined && content.length <= MAX_PARAMETER_BYTES) {
      return { ...parameter, value: trimNewline(Buffer.from(content).toString()) };
    }
    const isOdd = files.has(`n.${index}`);
    if (content === undefined && !isOdd && fallback !== undefined) {
      return { ...parameter, value: trimNewline(fallback) };
    }
    const whyNot = isOdd
      ? "is not a file"
      : content === undefined
      ? "does not exist and there is no default"
      : `has more than ${MAX_PARAMETER_BYTES} bytes`;
    fault ??= `Cannot read output parameter "${parameter.name}": ${path} ${whyNot}`;
    return parameter;
  });
  if (parameters.length > 0) outputs.parameters = parameters;
  const artifacts: Artifact[] = [];
  for (const [index, artifact] of (template.outputs?.artifacts ?? []).entries()) {
    if (artifact.path === undefined) {
      artifacts.push(artifact);
      continue;
    }
    const saved = savedArtifact(artifact, template, files.get(`a.${index}`));
    if (saved !== undefined) artifacts.push(saved);
    else if (artifact.optional !== true) {
      fault ??=
        `Cannot save output artifact "${artifact.name}": ${artifact.path} no such file or directory`;
    }
  }
  if (artifacts.length > 0) outputs.artifacts = artifacts;
  return fault === undefined ? { outputs } : { outputs, fault };
}

/** The declared artifact, with the key that its bytes got when it names none; undefined when it was not saved. */
function savedArtifact(
  artifact: Artifact,
  { archiveLocation }: Template,
  answer: Uint8Array | undefined,
): Artifact | undefined {
  const key = keyIn(Buffer.from(answer ?? []).toString());
  if (key === undefined) return undefined;
  if (findLocation(artifact) !== undefined) return artifact;
  const place = keyedLocation(archiveLocation ?? {});
  const bucket = place?.kind === "s3" && place.isFull ? place.members : {};
  return { ...artifact, s3: { ...bucket, key } };
}

/** The key in a server's answer to a saved artifact, "" when it has none; undefined when it is no such answer. */
function keyIn(text: string): string | undefined {
  const saved = parseOrUndefined(text);
  if (!isJsonObject(saved)) return undefined;
  const key = isJsonObject(saved["s3"]) ? saved["s3"]["key"] : undefined;
  return typeof key === "string" ? key : "";
}
