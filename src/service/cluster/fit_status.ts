/** Fits a workflow's status into the size that the API server takes: nodes are compressed, and if need be left out. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Workflow } from "../../spec/manifest.ts";

/** etcd takes requests of up to 1.5 MiB, in which the spec and the metadata need room too. */
const MAX_BYTES = 1_000_000;

/** Characters of a message that are kept when nothing else fits. */
const MAX_MESSAGE = 10_000;

const compress = promisify(gzip);

/**
 * As much of the status as fits: with nodes, with `compressedNodes` (gzip in base64, which other clients read too), or
 * without nodes and stored templates.
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
  return defined({
    phase,
    startedAt,
    finishedAt,
    progress,
    message: typeof message === "string" ? message.slice(0, MAX_MESSAGE) : undefined,
  });
}
