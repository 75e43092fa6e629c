/** Finished workflows as objects: with their nodes, wherever those are kept. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { END_PHASES } from "../../spec/manifest.ts";
import { metadataOf } from "../manifests.ts";

/** Largest text of the nodes of one workflow, unpacked. */
const MAX_NODES_BYTES = 128 * 2 ** 20;

const unpack = promisify(gunzip);

/** Where nodes are that did not fit into their object. */
export type NodesOf = (uid: string, version: string) => Promise<JsonObject | undefined>;

/** Tells whether a workflow has ended. */
export function isFinished(workflow: JsonObject): boolean {
  const { status } = workflow;
  return isJsonObject(status) && END_PHASES.some((phase) => phase === status["phase"]) &&
    typeof status["finishedAt"] === "string";
}

/**
 * A workflow with its nodes in `status.nodes`.
 *
 * @param nodesOf absent: nodes in the database are out of reach
 * @throws {Error} when the nodes are out of reach or cannot be read
 */
export async function wholeWorkflow(workflow: JsonObject, nodesOf?: NodesOf): Promise<JsonObject> {
  const status = isJsonObject(workflow["status"]) ? workflow["status"] : {};
  const { compressedNodes, offloadNodeStatusVersion: version, ...rest } = status;
  if (typeof compressedNodes === "string" && compressedNodes !== "") {
    const nodes = await nodesIn(compressedNodes);
    return { ...workflow, status: { ...rest, nodes } };
  }
  // The archive has all nodes, and still names the version.
  const hasNodes = isJsonObject(rest["nodes"]) && Object.keys(rest["nodes"]).length > 0;
  if (typeof version === "string" && version !== "" && !hasNodes) {
    if (nodesOf === undefined) {
      throw new Error("its nodes are in the database: name it with --archive");
    }
    const nodes = await nodesOf(String(metadataOf(workflow)["uid"] ?? ""), version);
    if (nodes === undefined) throw new Error("its nodes are no longer in the database");
    return { ...workflow, status: { ...rest, nodes } };
  }
  return { ...workflow, status: rest };
}

async function nodesIn(compressed: string): Promise<JsonObject> {
  let value: unknown;
  try {
    const packed = Buffer.from(compressed, "base64");
    const text = await unpack(packed, { maxOutputLength: MAX_NODES_BYTES });
    value = JSON.parse(text.toString());
  } catch (cause) {
    throw new Error(`status.compressedNodes cannot be read: ${errorText(cause)}`, { cause });
  }
  if (!isJsonObject(value)) throw new Error("status.compressedNodes holds no object");
  return value;
}
