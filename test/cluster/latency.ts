/**
 * Two latencies: from a step becoming ready (the resume that makes it ready is answered) to its pod, and from the API
 * server's event of a pod's end to the moment when the server marks the pod as taken and reports the workflow's end. A
 * client outside measures them, so each figure includes more than the server's own part.
 */
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import { BOX_IMAGE } from "./images.ts";
import { PodEvents } from "./pod_events.ts";
import { CONTAINER_SECURITY, POD_SECURITY, type Release } from "./release.ts";
import { quantile } from "../support/quantile.ts";
import { must, until } from "./transcript.ts";

export interface LatencyBounds {
  /** p50, ms. */
  createdMs: number;
  /** p50, ms. */
  endSeenMs: number;
}

const LABEL = "latency";

/** Measures a number of workflows; returns the figures in words. @throws {Error} if one exceeds its bound */
export async function podLatency(
  release: Release,
  client: KubeClient,
  count: number,
  bounds: LatencyBounds,
): Promise<string> {
  const { namespace } = release;
  const pods = new PodEvents(client, namespace);
  await pods.start();
  const done = new Map<string, number>();
  const stop = new AbortController();
  const names = Array.from({ length: count }, (_, index) => `latency-${index}`);
  try {
    for (const name of names) await release.submit(gated(name));
    for (const name of names) {
      await until(`gate of ${name}`, 30, async () => {
        const { status } = await release.workflow(name);
        const nodes = Object.values(status?.nodes ?? {});
        return nodes.find(({ type, phase }) => type === "Suspend" && phase === "Running");
      });
    }
    void followEnds(release, done, stop.signal);
    const created: number[] = [];
    const answered: number[] = [];
    const seen: number[] = [];
    const told: number[] = [];
    for (const name of names) {
      const sent = performance.now();
      await release.call("PUT", `/api/v1/workflows/${namespace}/${name}/resume`, {});
      const answer = performance.now();
      const pod = await until(`pod of ${name}`, 30, () => Promise.resolve(pods.of(name)[0]));
      answered.push(answer - sent);
      created.push(Math.max(0, pod.created - answer));
    }
    for (const name of names) {
      const { ended, taken, end } = await until(`end of ${name}`, 60, () => {
        const { ended, taken } = pods.of(name)[0] ?? {};
        const end = done.get(name);
        const isComplete = ended !== undefined && taken !== undefined && end !== undefined;
        return Promise.resolve(isComplete ? { ended, taken, end } : undefined);
      });
      seen.push(taken - ended);
      told.push(end - ended);
    }
    const say = (numbers: number[]) =>
      `p50 ${quantile(numbers, 0.5).toFixed(0)} ms, p99 ${quantile(numbers, 0.99).toFixed(0)} ms`;
    const text = `${count} steps: resume answered (after ${say(answered)}) → pod there ${
      say(created)
    }; pod's end told by the API server → pod marked as taken ${
      say(seen)
    } → workflow told as done ${say(told)}`;
    must(quantile(created, 0.5) <= bounds.createdMs, `Pods come too late: ${text}`);
    must(quantile(seen, 0.5) <= bounds.endSeenMs, `Ends are seen too late: ${text}`);
    return text;
  } finally {
    stop.abort();
    pods.stop();
  }
}

/** A workflow with one pod that waits for a gate. */
function gated(name: string) {
  return {
    metadata: { name, labels: { [LABEL]: "1" } },
    spec: {
      entrypoint: "main",
      securityContext: POD_SECURITY,
      templates: [
        {
          name: "main",
          steps: [[{ name: "gate", template: "gate" }], [{ name: "work", template: "work" }]],
        },
        { name: "gate", suspend: {} },
        {
          name: "work",
          container: {
            image: BOX_IMAGE,
            command: ["/bin/true"],
            securityContext: CONTAINER_SECURITY,
          },
        },
      ],
    },
  };
}

/** Records when the service's watch reports each workflow as done. */
async function followEnds(
  release: Release,
  done: Map<string, number>,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({ "listOptions.labelSelector": LABEL });
  const response = await fetch(
    `${release.url}/api/v1/workflow-events/${release.namespace}?${query}`,
    {
      headers: { authorization: `Bearer ${release.token}` },
      signal,
    },
  );
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const part of response.body ?? []) {
      const now = performance.now();
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter((text) => text !== "")) {
        const { result } = JSON.parse(line) as {
          result?: { object?: { metadata: { name: string }; status?: { finishedAt?: string } } };
        };
        const { metadata, status } = result?.object ?? {};
        if (
          metadata !== undefined && typeof status?.finishedAt === "string" &&
          !done.has(metadata.name)
        ) {
          done.set(metadata.name, now);
        }
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
