/** What the wrapper in a pod sends home: a tar of `result`, `p.<index>` per parameter, `a.<index>` per artifact. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unpackTar } from "modern-tar";
import type { Artifact, Outputs, Template } from "../spec/manifest.ts";
import { MAX_PARAMETER_BYTES, resultFrom, trimNewline } from "./capture.ts";
import { outputFiles } from "./kubernetes_pod.ts";
import { MESSAGE_PREFIX } from "./kubernetes_wrapper.ts";

/** Longest report: result, parameters and artifacts' locations. */
export const MAX_REPORT_BYTES = 16 * 1024 * 1024;

/** Small values that outlive a replica and are seen by all: a part of the store. */
export interface TaskMemory {
  putBlob(key: string, value: Uint8Array): Promise<void>;
  getBlob(key: string): Promise<Uint8Array | undefined>;
  removeBlobs(prefix: string): Promise<void>;
}

/** Key of what is remembered of a task. */
export function memoryKey(taskId: string, what: "created" | "outputs" | ""): string {
  return `task/${taskId}/${what}`;
}

/** Secret of one task, from the deployment's. */
export function taskToken(secret: string, taskId: string): string {
  return createHmac("sha256", secret).update(taskId).digest("base64url");
}

/** Compares without telling by time where they differ. */
export function isTaskToken(secret: string, taskId: string, token: string): boolean {
  const expected = Buffer.from(taskToken(secret, taskId));
  const given = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The report inside a termination message; undefined when it isn't ours, empty when it was sent by a call. */
export async function reportInMessage(message: string): Promise<Uint8Array | undefined> {
  if (!message.startsWith(MESSAGE_PREFIX)) return undefined;
  const packed = Buffer.from(message.slice(MESSAGE_PREFIX.length).trim(), "base64");
  if (packed.length === 0) return new Uint8Array();
  return await promisify(gunzip)(packed, { maxOutputLength: MAX_REPORT_BYTES });
}

/** Outputs from a report, and what is wrong with the first that could not be had. */
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
  const parameters = (template.outputs?.parameters ?? []).flatMap((parameter, index) => {
    const path = paths.get(index);
    if (path === undefined) return [parameter];
    const content = files.get(`p.${index}`);
    const fallback = parameter.valueFrom?.default ?? parameter.default;
    if (content !== undefined && content.length <= MAX_PARAMETER_BYTES) {
      return [{ ...parameter, value: trimNewline(Buffer.from(content).toString()) }];
    }
    if (content === undefined && fallback !== undefined) {
      return [{ ...parameter, value: trimNewline(fallback) }];
    }
    fault ??= `Cannot read output parameter "${parameter.name}": ${path} ${
      content === undefined
        ? "does not exist and there is no default"
        : `has more than ${MAX_PARAMETER_BYTES} bytes`
    }`;
    return [];
  });
  if (parameters.length > 0) outputs.parameters = parameters;
  const artifacts: Artifact[] = [];
  for (const [index, artifact] of (template.outputs?.artifacts ?? []).entries()) {
    if (artifact.path === undefined) {
      artifacts.push(artifact);
      continue;
    }
    const text = Buffer.from(files.get(`a.${index}`) ?? []).toString();
    if (text.startsWith("{")) artifacts.push(JSON.parse(text) as Artifact);
    else if (artifact.optional !== true) {
      fault ??=
        `Cannot save output artifact "${artifact.name}": ${artifact.path} no such file or directory`;
    }
  }
  if (artifacts.length > 0) outputs.artifacts = artifacts;
  return fault === undefined ? { outputs } : { outputs, fault };
}
