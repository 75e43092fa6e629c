/** The log of a pod's container, as the API server streams it. */
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { podsPath } from "./pod_watch.ts";
import type { LogLine, LogQuery } from "../port.ts";

/**
 * Lines with their times. A container that is silent may be a sidecar that was started again after its failure, and then
 * waits for the end: what it wrote before is its log.
 *
 * @throws {KubeError} 400 while the container has not begun, 404 without the pod
 */
export async function* podLogs(
  client: KubeClient,
  pod: { namespace: string; podName: string },
  query: LogQuery,
): AsyncGenerator<LogLine> {
  let isSilent = true;
  for await (const line of linesOf(client, pod, query, {})) {
    isSilent = false;
    yield line;
  }
  if (!isSilent || query.container === "main" || query.signal.aborted) return;
  try {
    yield* linesOf(client, pod, { ...query, follow: false }, { previous: "true" });
  } catch (error) {
    // It was started once only.
    if (!(error instanceof KubeError && (error.status === 400 || error.status === 404))) {
      throw error;
    }
  }
}

async function* linesOf(
  client: KubeClient,
  { namespace, podName }: { namespace: string; podName: string },
  { container, follow, tailLines, sinceMs, signal }: LogQuery,
  more: Record<string, string>,
): AsyncGenerator<LogLine> {
  const lines = client.lines({
    path: `${podsPath(namespace)}/${podName}/log`,
    signal,
    query: {
      container,
      timestamps: "true",
      follow: String(follow),
      ...(tailLines !== undefined && { tailLines: String(tailLines) }),
      ...(sinceMs !== undefined && { sinceTime: new Date(sinceMs).toISOString() }),
      ...more,
    },
  });
  for await (const line of lines) {
    const blank = line.indexOf(" ");
    const at = Date.parse(blank < 0 ? line : line.slice(0, blank));
    // The API server takes whole seconds only.
    if (at >= (sinceMs ?? 0)) yield { at, text: blank < 0 ? "" : line.slice(blank + 1) };
  }
}
