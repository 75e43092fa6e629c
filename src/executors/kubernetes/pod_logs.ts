/** The log of a pod's container, as the API server streams it. */
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { ANSWER_MS, type KubeClient, type KubeError } from "../../kubernetes/kube_client.ts";
import { podsPath } from "./pod_watch.ts";
import type { LogLine, LogQuery } from "../port.ts";

/** What stands before each line. */
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[-+]\d\d:\d\d))(?: |$)/;

/**
 * Lines with their times.
 *
 * @throws {KubeError} 400 while the container has not begun, 404 without the pod
 */
export async function* podLogs(
  client: KubeClient,
  { namespace, podName }: { namespace: string; podName: string },
  { container, follow, tailLines, sinceMs, signal }: LogQuery,
): AsyncGenerator<LogLine> {
  const lines = client.lines({
    path: `${podsPath(namespace)}/${podName}/log`,
    signal,
    // One that is followed begins with its first line.
    ...(!follow && { pausesAtMostMs: ANSWER_MS }),
    query: {
      container,
      timestamps: "true",
      follow: String(follow),
      ...(tailLines !== undefined && { tailLines: String(tailLines) }),
      ...(sinceMs !== undefined && { sinceTime: new Date(sinceMs).toISOString() }),
    },
  });
  let at = 0;
  for await (const line of lines) {
    const [stamp, time = ""] = STAMP.exec(line) ?? [""];
    // One without a time is the next piece of a very long line.
    if (stamp !== "") at = Date.parse(time);
    // The API server takes whole seconds only.
    if (at >= (sinceMs ?? 0)) yield { at, text: line.slice(stamp.length) };
  }
}

/** What a reader is told when the cluster does not give the log: it, or the pod's node, can't be reached, or refuses it. */
export function logTrouble(
  { namespace, podName }: { namespace: string; podName: string },
  error: KubeError,
): Error {
  if (error.isTransient) {
    return unavailable(`the log of pod "${podName}" can't be read now: ${error.message}`);
  }
  if (error.status !== 403) return error;
  return new Problem(
    ProblemCode.PermissionDenied,
    `the server may not read logs in namespace "${namespace}"; its role in the cluster must allow get of pods/log: ${error.message}`,
  );
}
