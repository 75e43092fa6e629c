/** Autoscaling that is turned on in a running release: every replica stays. */
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import type { Release } from "./release.ts";
import { must } from "./transcript.ts";

/** Runs the step; returns what it saw. @throws {Error} if a replica goes */
export async function autoscalingOn(release: Release, client: KubeClient): Promise<string> {
  const { namespace, name } = release;
  const names = async () => (await release.replicas()).map(({ metadata }) => metadata.name).sort();
  await release.upgrade("replicas=3");
  const before = await names();
  await release.upgrade("autoscaling.enabled=true");
  const after = await names();
  must(
    before.length === 3 && after.join() === before.join(),
    `replicas ${before.join(", ")} became ${after.join(", ")}`,
  );
  await client.call({
    path: `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/${name}`,
  });
  await release.upgrade("autoscaling.enabled=false", "replicas=2");
  return "3 replicas stay";
}
