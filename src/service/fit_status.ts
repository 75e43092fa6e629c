/** A workflow's status within the size that the API server takes: nodes are compressed, then left out. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { JsonObject } from "../base/json.ts";
import type { Workflow } from "../spec/manifest.ts";

/** etcd takes requests of 1.5 MiB; the spec and the metadata are in the same object. */
const MAX_BYTES = 1_000_000;

const compress = promisify(gzip);

/**
 * The status as far as it fits: with nodes, with `compressedNodes` (gzip, base64: as other clients read it), or without
 * nodes and stored templates.
 */
export async function fitStatus(
  { status }: Workflow,
  maxBytes: number = MAX_BYTES,
): Promise<JsonObject> {
  const whole = (status ?? {}) as unknown as JsonObject;
  if (Buffer.byteLength(JSON.stringify(whole)) <= maxBytes) return whole;
  const { nodes, ...rest } = whole;
  const packed = await compress(JSON.stringify(nodes ?? {}));
  const compressed = { ...rest, compressedNodes: packed.toString("base64") };
  if (Buffer.byteLength(JSON.stringify(compressed)) <= maxBytes) return compressed;
  const { storedTemplates: _templates, storedWorkflowTemplateSpec: _spec, ...bare } = rest;
  if (Buffer.byteLength(JSON.stringify(bare)) <= maxBytes) return bare;
  const { phase, startedAt, finishedAt, progress, message } = bare;
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(progress === undefined ? {} : { progress }),
    ...(typeof message === "string" ? { message: message.slice(0, 10_000) } : {}),
  };
}
