/** Puts the executors of a deployment together: http and data in the replica, the rest as it was chosen. */
import { randomBytes } from "node:crypto";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { ConfigSource } from "../artifacts/config_source.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Naming } from "../spec/naming.ts";
import type { Metrics } from "../platform/metrics.ts";
import { createContainerExecutor } from "./local/container.ts";
import { DataExecutor } from "./data.ts";
import type { EvaluateJson } from "./data.ts";
import { HttpExecutor } from "./http/executor.ts";
import type { EvaluateCondition } from "./http/executor.ts";
import { KubeClient } from "../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../kubernetes/kube_config.ts";
import { KubernetesExecutor } from "./kubernetes/executor.ts";
import type { FindUnwanted } from "./kubernetes/orphan_pods.ts";
import type { Executor } from "./port.ts";
import { createProcessExecutor } from "./local/process.ts";
import { ResourceExecutor } from "./resource/executor.ts";
import { RoutingExecutor } from "./routing.ts";
import { createTaskCallback } from "./kubernetes/task_callback.ts";
import type { TaskMemory } from "./kubernetes/task_report.ts";

export interface OpenExecutorOptions {
  kind: "process" | "container" | "kubernetes" | "none";
  /** Folder of local tasks; all replicas on one machine share it. */
  dir: string;
  /** What templates may use of the machine in containers, as `--container-allow` names it. */
  containerAllow: string;
  /** Most bytes of one artifact. */
  maxArtifactBytes: number;
  config: ConfigSource;
  artifacts: ArtifactStore;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  /** The store's blobs. */
  memory: TaskMemory;
  evaluateCondition: EvaluateCondition;
  evaluateData: EvaluateJson;
  /** Needed for `kubernetes`. */
  kubernetes?: KubernetesSetting;
}

export interface KubernetesSetting {
  /** The process's variables: says where the API server is. */
  env: Record<string, string | undefined>;
  /** Marks this deployment's pods; the same on all replicas. */
  instance: string;
  /** Where pods may run; none: in all namespaces. */
  namespaces: readonly string[];
  /** Image with a static `/bin/busybox`; the server's own has it. */
  helperImage: string;
  /** `http://SERVICE.NAMESPACE:PORT`, as pods reach the server. */
  callbackUrl: string;
  /** Service account of pods whose workflow names none. */
  serviceAccount?: string;
  /** Starts the process for jq filters; empty: this runtime. */
  jqCommand?: readonly string[];
  /** API group of Workflow objects, and prefix of the labels of pods. */
  naming: Naming;
  /** Finds pods to remove; absent: none is. */
  findUnwanted?: FindUnwanted;
}

export interface OpenedExecutor {
  executor: Executor;
  /** Answers pods' calls below `/api/v1/tasks/`; they carry their own tokens, so no other authentication goes before. */
  callback?: (request: Request) => Promise<Response>;
}

/** Opens what was chosen. @throws {Problem} FailedPrecondition when this machine can't */
export async function openExecutor(options: OpenExecutorOptions): Promise<OpenedExecutor> {
  const { kind, dir, config, artifacts, clock, evaluateCondition, evaluateData } = options;
  const executors: Executor[] = [
    new HttpExecutor({ config, clock, evaluate: evaluateCondition }),
    new DataExecutor(clock, artifacts, evaluateData),
  ];
  const { maxArtifactBytes, containerAllow } = options;
  const local = { dir, config, clock, artifacts, maxArtifactBytes };
  if (kind === "process") executors.push(createProcessExecutor(local));
  if (kind === "container") {
    executors.push(await createContainerExecutor({ ...local, allow: containerAllow }));
  }
  if (kind !== "kubernetes") return { executor: new RoutingExecutor(kind, executors) };
  const { cluster, callback } = await openKubernetes(options);
  return { executor: new RoutingExecutor(kind, [...executors, ...cluster]), callback };
}

async function openKubernetes(
  options: OpenExecutorOptions,
): Promise<{ cluster: Executor[]; callback: (request: Request) => Promise<Response> }> {
  const { artifacts, clock, log, metrics, memory, maxArtifactBytes, kubernetes } = options;
  if (kubernetes === undefined) throw new Error("kubernetes needs its setting");
  const { env, findUnwanted, naming, ...setting } = kubernetes;
  const { labelPrefix } = naming;
  const client = new KubeClient(await loadKubeConfig(env));
  const secret = await sharedSecret(memory, clock);
  const { serviceAccount, jqCommand } = setting;
  const shared = { client, clock, log, metrics, memory, secret, artifacts };
  const pods = new KubernetesExecutor({ ...setting, ...shared, labelPrefix });
  if (findUnwanted !== undefined) pods.sweepOrphans(findUnwanted);
  return {
    cluster: [
      new ResourceExecutor({
        client,
        clock,
        memory,
        artifacts,
        group: naming.apiGroup,
        ...(serviceAccount !== undefined && { serviceAccount }),
        ...(jqCommand !== undefined && { jqCommand }),
      }),
      pods,
    ],
    callback: createTaskCallback({
      client,
      artifacts,
      memory,
      secret,
      log,
      labelPrefix,
      maxArtifactBytes,
    }),
  };
}

const SECRET_KEY = "executor/callback-secret";

/** The deployment's secret for call backs, made by the first replica. */
async function sharedSecret(memory: TaskMemory, clock: Clock): Promise<string> {
  const known = await memory.getBlob(SECRET_KEY);
  if (known !== undefined) return Buffer.from(known).toString();
  await memory.putBlob(SECRET_KEY, Buffer.from(randomBytes(32).toString("base64url")));
  // Replicas that start at the same moment all write; the last one's counts, for all of them.
  await clock.sleep(2_000);
  return Buffer.from(await memory.getBlob(SECRET_KEY) ?? []).toString();
}
