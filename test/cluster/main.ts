// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task e2e:cluster [--only STEP,…] [--event-seconds N] [--pods N] [--from COMMIT] [--transcript FILE]`: everything
 * that only a real cluster shows, in one run. It covers the contracts of the executor and of objects, `helm install` and
 * `helm test`, latencies, asynchronous jobs, many pods while replicas are killed, events while replicas go and an upgrade
 * rolls, autoscaling, `sluice doctor`, an upgrade from an earlier commit and back, the tutorial as it is written, and what
 * is left after `helm uninstall`. `cluster.ts` says how it finds or starts a cluster. It needs helm, k6 (or Go to build them),
 * kubectl for the tutorial, redis-server and a static busybox. It exits with status 1 if a check fails.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { asyncJobs } from "./async_jobs.ts";
import { autoscalingOn } from "./autoscaling.ts";
import { type Cluster, openCluster, run } from "./cluster.ts";
import { doctorFindsRights } from "./doctor.ts";
import { eventsWhileReplicasGo } from "./events.ts";
import { fanOut } from "./fan_out.ts";
import { architecture, writeBoxImage, writeRedisImage } from "./images.ts";
import { podLatency } from "./latency.ts";
import { needProgram } from "./programs.ts";
import { Release } from "./release.ts";
import { must, Transcript, until } from "./transcript.ts";
import { tutorial } from "./tutorial.ts";
import { filesByValues } from "./values.ts";
import { upgradeAndBack } from "./versions.ts";

const STEPS = [
  "contract",
  "kinds",
  "migrate",
  "test",
  "latency",
  "jobs",
  "pods",
  "events",
  "autoscaling",
  "values",
  "doctor",
  "upgrade",
  "tutorial",
];
/**
 * Bounds on a quiet machine, p50. Here they may double, and grow further with the number of programs that want each
 * core.
 */
const BOUNDS = { createdMs: 50, endSeenMs: 100 };
const IMAGE = "sluice:0.1.0";
const REDIS_IMAGE = "docker.io/library/redis:7.4";
/** What the tutorial's steps run in. */
const BUSYBOX_IMAGE = "docker.io/library/busybox:1.37";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: STEPS.join(",") },
    "event-seconds": { type: "string", default: "60" },
    "event-rate": { type: "string", default: "30" },
    pods: { type: "string", default: "100" },
    from: { type: "string", default: "HEAD^" },
    transcript: { type: "string" },
  },
});
const wanted = new Set(options.only.split(","));
const unknown = [...wanted].filter((step) => !STEPS.includes(step));
if (unknown.length > 0) {
  console.error(`No step ${unknown.join(", ")}; there are ${STEPS.join(", ")}`);
  process.exit(2);
}

/** Builds the images and loads them into the nodes. */
function loadImages(cluster: Cluster): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-images-"));
  try {
    const [own, redis, box, busybox] = ["sluice.tar", "redis.tar", "box.tar", "busybox.tar"].map(
      (name) => join(folder, name),
    );
    const told = run([
      process.execPath,
      "run",
      "-A",
      "tools/image.ts",
      own ?? "",
      IMAGE,
      "--arch",
      architecture(),
    ]);
    writeRedisImage(redis ?? "", REDIS_IMAGE);
    writeBoxImage(box ?? "");
    writeBoxImage(busybox ?? "", BUSYBOX_IMAGE);
    cluster.load([own ?? "", redis ?? "", box ?? "", busybox ?? ""]);
    return told.trim().replace(/^.*?: /, "");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs files of a folder of tests against this cluster, limited to the tests that need one. */
function suites(
  { kubeconfig }: Cluster,
  files: readonly string[],
  titles: string,
  project: "contract" | "e2e" = "contract",
): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    "run",
    "-A",
    "npm:vitest",
    "run",
    "--project",
    `${project}*`,
    ...files.map((file) => `test/${project}/${file}.test.ts`),
    "-t",
    titles,
  ], {
    env: { ...process.env, SLUICE_TEST_KUBECONFIG: kubeconfig, NO_COLOR: "1" },
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  must(status === 0, `${stdout}${stderr}`.slice(-6_000));
  return /Tests\s+(\d+ passed)/.exec(stdout)?.[1] ?? "passed";
}

/** Claims need a provisioner. */
async function installValues({ client }: Cluster): Promise<string[]> {
  const { items } = await client.call<{ items: unknown[] }>({
    path: "/apis/storage.k8s.io/v1/storageclasses",
  });
  const kept = items.length > 0
    ? "redis.persistence.retain=false"
    : "redis.persistence.enabled=false";
  return [kept, "service.type=NodePort"];
}

async function main(): Promise<void> {
  const transcript = new Transcript();
  needProgram("helm");
  needProgram("k6");
  const cluster = await openCluster(process.env);
  const { client } = cluster;
  transcript.seen("cluster", `Kubernetes ${cluster.version}, ${cpus().length} cores`);
  const step = async (name: string, title: string, act: () => string | Promise<string>) => {
    if (wanted.has(name)) await transcript.step(title, act);
  };
  const release = new Release(cluster);
  try {
    await transcript.step("image built and imported", () => loadImages(cluster));
    await step("contract", "contract of the executors", () =>
      suites(
        cluster,
        [
          "executors/executor",
          "executors/resource/resource_executor",
          "executors/kubernetes/volume_claims",
          "executors/kubernetes/orphan_pods",
          "executors/kubernetes/other_containers",
        ],
        "executor kubernetes|resource templates|volume claims|orphan|other containers",
      ));
    await step(
      "kinds",
      "manifests and Workflow objects in the cluster",
      () =>
        suites(
          cluster,
          [
            "kubernetes/cluster_manifests",
            "service/cluster/workflow_objects",
            "service/events/pod_events",
          ],
          "on a real cluster",
        ),
    );
    await step(
      "migrate",
      "sixty objects of an installation of Argo Workflows brought along",
      () => suites(cluster, ["migrate"], "from a cluster", "e2e"),
    );
    const values = await installValues(cluster);
    await release.prepare();
    await transcript.step(
      "`helm install --wait`, namespace enforces `restricted`",
      async () => {
        await release.install(values);
        return `${(await release.replicas()).length} replicas and Redis ready`;
      },
    );
    await step("test", "`helm test`", () => {
      release.helm("test", release.name, "--timeout", "3m");
      return "trigger pod, suspend, resume by its id, Succeeded, deleted";
    });
    await step("latency", "latencies", async () => {
      const load = (loadavg()[0] ?? 0) / cpus().length;
      const slack = Math.max(2, load);
      const { createdMs, endSeenMs } = BOUNDS;
      const bounds = { createdMs: createdMs * slack, endSeenMs: endSeenMs * slack };
      const told = await podLatency(release, client, 20, bounds);
      return `${told} (${load.toFixed(1)} programs wanted each core)`;
    });
    await step("jobs", "asynchronous jobs", () => asyncJobs(release, client, 10));
    await step(
      "pods",
      "many pods, both replicas killed in turn",
      () => fanOut(release, client, Number(options.pods), transcript),
    );
    await step(
      "events",
      "events: two replicas deleted in turn, one killed, one upgrade",
      () =>
        eventsWhileReplicasGo(release, {
          rate: Number(options["event-rate"]),
          seconds: Number(options["event-seconds"]),
        }, transcript),
    );
    await step("autoscaling", "autoscaling turned on", () => autoscalingOn(release, client));
    await step("values", "files and settings by values", () => filesByValues(release, client));
    await step("doctor", "`sluice doctor`", () => doctorFindsRights(release, client));
    await transcript.step("`sluice delete --all`, `helm uninstall`", () => uninstall(release));
    await step(
      "upgrade",
      "upgrade from an earlier commit, and back",
      () =>
        upgradeAndBack(cluster, { revision: options.from, values }, {
          rate: Number(options["event-rate"]),
          seconds: Number(options["event-seconds"]),
        }, transcript),
    );
    await step("tutorial", "docs/tutorials/kubernetes.md as written", () => tutorial(cluster));
  } catch (error) {
    for (const { metadata } of await release.replicas().catch(() => [])) {
      const path = `/api/v1/namespaces/${release.namespace}/pods/${metadata.name}/log`;
      console.error(`--- ${metadata.name}`);
      try {
        for await (const line of client.lines({ path, query: { tailLines: "30" } })) {
          console.error(line);
        }
      } catch (trouble) {
        console.error(String(trouble));
      }
    }
    release.helm("uninstall", release.name, "--ignore-not-found");
    throw error;
  } finally {
    await release.remove().catch((error) => console.error(String(error)));
    cluster.close();
  }
  if (options.transcript !== undefined) writeFileSync(options.transcript, transcript.table());
  console.log(`\n${transcript.table()}\nall as it must be`);
}

/** Removes workflows with their pods, then the release; nothing may be left. */
async function uninstall(release: Release): Promise<string> {
  const { status, out } = await release.sluice(["delete", "--all"]);
  must(status === 0, `sluice delete --all: ${out}`);
  // The servers remove the pods after the answer, and the next command removes the servers.
  await until(
    "end of the workflows' pods",
    60,
    async () => await release.taskPods() === 0 ? true : undefined,
  );
  release.helm("uninstall", release.name, "--wait", "--timeout", "2m");
  let left: string[] = [];
  await until("end of the pods", 60, async () => {
    // Helm keeps the pod of its test, for the log.
    left = (await release.remains()).filter((name) => name !== `pods/${release.name}-test`);
    return left.some((name) => name.startsWith("pods/")) ? undefined : true;
  }).catch(() => {});
  must(left.length === 0, `Left behind: ${left.join(", ")}`);
  return "no pod, secret, claim, role or kind is left";
}

await main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
