/** Logs that are followed to their end, also when a stream breaks or a server is replaced meanwhile. */
import type { LogLine } from "./answer.ts";
import type { Client, Input } from "./client.ts";
import { ClientError } from "./transport.ts";

/** HTTP status of a request that is one too many at the moment. */
const TOO_MANY = 429;

/**
 * The lines of a log until its workflow has ended.
 * @throws {ClientError} also with status 0 when the stream ends earlier: a server that is stopped ends its streams
 */
export async function* linesToTheEnd(
  client: Client,
  input: Input<"WorkflowService_WorkflowLogs">,
): AsyncGenerator<LogLine> {
  yield* client.stream("WorkflowService_WorkflowLogs", input);
  if (!await hasEnded(client, input)) throw new ClientError("The log ended before its workflow", 0);
}

/** Tells whether a workflow has ended, is gone, or cannot be looked at. */
async function hasEnded(
  client: Client,
  { params, signal }: Input<"WorkflowService_WorkflowLogs">,
): Promise<boolean> {
  try {
    const { status } = await client.call("WorkflowService_GetWorkflow", {
      params,
      query: { fields: "status.finishedAt" },
      signal,
    });
    return typeof status?.finishedAt === "string";
  } catch (error) {
    const isRefused = error instanceof ClientError && error.status >= 400 && error.status < 500;
    // Who asks too often may look later.
    if (isRefused && error.status !== TOO_MANY) return true;
    throw error;
  }
}

/** Tells which lines are new where a log is read from its beginning again. */
export class NewLines {
  /** Lines of each pod so far. */
  readonly #known = new Map<string, number>();
  /** Those of the stream that is read now. */
  #read = new Map<string, number>();

  /** Call it whenever the log begins anew. */
  begin(): void {
    this.#read = new Map();
  }

  /** Notes a line. @returns whether it has not come before */
  add({ podName = "" }: LogLine): boolean {
    const count = (this.#read.get(podName) ?? 0) + 1;
    this.#read.set(podName, count);
    if (count <= (this.#known.get(podName) ?? 0)) return false;
    this.#known.set(podName, count);
    return true;
  }
}
