/** Runs many pods at once and kills both replicas one after the other meanwhile. */
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import { BOX_IMAGE } from "./images.ts";
import { PodEvents } from "./pod_events.ts";
import { CONTAINER_SECURITY, POD_SECURITY, type Release } from "./release.ts";
import { must, type Transcript, until } from "./transcript.ts";

/** Seconds that each pod's command takes. */
const WORK_SECONDS = 20;

/** Runs the step; returns the count in words. @throws {Error} if a step failed or ran in more than one pod */
export async function fanOut(
  release: Release,
  client: KubeClient,
  count: number,
  transcript: Transcript,
): Promise<string> {
  const pods = new PodEvents(client, release.namespace);
  await pods.start();
  try {
    const { metadata } = await release.submit({
      metadata: { generateName: "fan-out-" },
      spec: {
        entrypoint: "main",
        securityContext: POD_SECURITY,
        templates: [
          {
            name: "main",
            steps: [[{ name: "work", template: "work", withSequence: { count: String(count) } }]],
          },
          {
            name: "work",
            container: {
              image: BOX_IMAGE,
              command: ["/bin/sleep", String(WORK_SECONDS)],
              securityContext: CONTAINER_SECURITY,
              resources: { requests: { cpu: "1m", memory: "8Mi" } },
            },
          },
        ],
      },
    });
    const name = String(metadata.name);
    await until(`${count / 2} pods that run`, 120, () => {
      const running = pods.of(name).filter((pod) => pod.running !== undefined);
      return Promise.resolve(running.length >= count / 2 ? true : undefined);
    });
    for (const [index, replica] of (await release.replicas()).entries()) {
      const ended = pods.of(name).filter((pod) => pod.ended !== undefined).length;
      const before = pods.of(name).length;
      transcript.say(`  replica ${index + 1} killed: ${before} pods made, ${ended} of them ended`);
      await release.deletePod(replica.metadata.name, true);
      await release.ready();
    }
    const { status } = await release.ended(name, 180);
    const steps = Object.values(status?.nodes ?? {}).filter(({ type }) => type === "Pod");
    const succeeded = steps.filter(({ phase }) => phase === "Succeeded");
    const made = pods.of(name);
    must(
      status?.phase === "Succeeded",
      `The workflow is ${status?.phase}: ${status?.message ?? ""}`,
    );
    must(succeeded.length === count, `${succeeded.length} of ${count} steps succeeded`);
    must(made.length === count, `${made.length} pods for ${count} steps`);
    must(made.every(({ restarts }) => restarts === 0), "a container ran twice");
    return `Succeeded, ${succeeded.length} of ${count} steps, ${made.length} pods, each ran once`;
  } finally {
    pods.stop();
  }
}
