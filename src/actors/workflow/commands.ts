/** Commands to a workflow, as they stand in a mailbox. */
import { isJsonObject, type Json } from "../../base/json.ts";
import { MAX_NODES_TO_VISIT } from "../../engine/cleanup/deletion.ts";
import type { LoadBounds } from "../../store/port.ts";
import { unknownCommand } from "../command_body.ts";
import type { WorkflowCommand } from "../port.ts";
import type { WorkflowKindOptions } from "./deletion.ts";

/** A workflow with more nodes, or more characters, is not loaded to be terminated. */
const MAX_NODES = 100_000;
const MAX_SIZE = 2 ** 28;
/** A workflow with more characters is deleted without reading its nodes. */
const MAX_SIZE_TO_VISIT = 2 ** 22;

/** Commands that bring a workflow along. */
const MAKERS: ReadonlySet<string> = new Set(["submit", "import", "restore", "delete-archived"]);

/** Reads a command. @throws {Problem} InvalidArgument when it is none: an entry of a mailbox may be damaged */
export function commandOf(body: Json): WorkflowCommand {
  if (!isJsonObject(body)) throw unknownCommand(body);
  const { type, request, use, workflow } = body;
  const isWhole = (type !== "control" && type !== "restore" || isJsonObject(request)) &&
    (type !== "callback" || isJsonObject(use)) &&
    (!MAKERS.has(String(type)) || isManifest(workflow));
  if (!isWhole) throw unknownCommand(body);
  return body as unknown as WorkflowCommand;
}

function isManifest(value: Json | undefined): boolean {
  return isJsonObject(value) && isJsonObject(value.metadata) && isJsonObject(value.spec);
}

/** How much of a workflow has to be loaded to delete or to terminate it. Undefined for commands that need all of it. */
export function enoughFor(
  body: Json,
  { maxNodes = MAX_NODES }: WorkflowKindOptions,
): LoadBounds | undefined {
  if (!isJsonObject(body)) return undefined;
  const { type, request } = body;
  if (type === "delete") {
    return { maxNodes: MAX_NODES_TO_VISIT, maxSize: MAX_SIZE_TO_VISIT };
  }
  const isTerminate = type === "control" && isJsonObject(request) && request.type === "terminate";
  return isTerminate ? { maxNodes, maxSize: MAX_SIZE } : undefined;
}
