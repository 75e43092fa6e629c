/**
 * Many asynchronous jobs at once. For each, a pod triggers the job and names it, and a suspended step waits for that
 * name, which resumes it. One is first stopped as failed and retried: only the wait is repeated.
 */
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import type { NodeStatus } from "../../src/spec/manifest.ts";
import { BOX_IMAGE } from "./images.ts";
import { PodEvents } from "./pod_events.ts";
import { CONTAINER_SECURITY, POD_SECURITY, type Release } from "./release.ts";
import { must, until } from "./transcript.ts";

/** Runs the step; returns what it saw. @throws {Error} if something went wrong */
export async function asyncJobs(
  release: Release,
  client: KubeClient,
  count: number,
): Promise<string> {
  const pods = new PodEvents(client, release.namespace);
  await pods.start();
  const path = `/api/v1/workflows/${release.namespace}`;
  const names = Array.from({ length: count }, (_, index) => `job-${index}`);
  const nodeOf = async (name: string, displayName: string, phase: string) => {
    const { status } = await release.workflow(name);
    const nodes: NodeStatus[] = Object.values(status?.nodes ?? {});
    return nodes.find((node) => node.displayName === displayName && node.phase === phase);
  };
  try {
    await Promise.all(names.map((name) => release.submit(job(name))));
    const resume = (name: string) =>
      release.call("PUT", `${path}/${name}/resume`, {
        nodeFieldSelector: `inputs.parameters.uuid.value=uuid-of-${name}`,
      });
    for (const name of names) {
      await until(`wait of ${name}`, 90, () => nodeOf(name, "wait", "Running"));
    }
    const [failing = "", ...others] = names;
    await release.call("PUT", `${path}/${failing}/stop`, {
      nodeFieldSelector: `inputs.parameters.uuid.value=uuid-of-${failing}`,
      message: "the job failed",
    });
    const failed = await release.ended(failing, 30);
    must(failed.status?.phase === "Failed", `stopped job is ${failed.status?.phase}`);
    await release.call("PUT", `${path}/${failing}/retry`, {});
    await until("wait that is tried again", 30, () => nodeOf(failing, "wait", "Running"));
    await Promise.all([failing, ...others].map(resume));
    for (const name of names) {
      const { status } = await release.ended(name, 60);
      must(status?.phase === "Succeeded", `${name} is ${status?.phase}: ${status?.message ?? ""}`);
      must(pods.of(name).length === 1, `${name} triggered ${pods.of(name).length} times`);
    }
    return `${count} jobs triggered by a pod each, suspended, resumed by their id; one stopped as failed, tried again from the wait: ${count} Succeeded, ${count} pods`;
  } finally {
    pods.stop();
  }
}

/** A pod that tells the job's name, and a step that waits for it. */
export function job(name: string) {
  return {
    metadata: { name },
    spec: {
      entrypoint: "main",
      securityContext: POD_SECURITY,
      templates: [
        {
          name: "main",
          steps: [
            [{ name: "trigger", template: "trigger" }],
            [{
              name: "wait",
              template: "wait",
              arguments: {
                parameters: [{ name: "uuid", value: "{{steps.trigger.outputs.result}}" }],
              },
            }],
          ],
        },
        {
          name: "trigger",
          container: {
            image: BOX_IMAGE,
            command: ["/bin/echo", `uuid-of-${name}`],
            securityContext: CONTAINER_SECURITY,
          },
        },
        { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
      ],
    },
  };
}
