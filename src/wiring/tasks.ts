/** Opens what runs the steps of workflows: executors, and the artifact store that they use. */
import { join } from "node:path";
import process from "node:process";
import { createArtifactStore } from "../artifacts/artifact_store.ts";
import { endLeftGit } from "../artifacts/git_process.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import { type OpenedExecutor, openExecutor } from "../executors/open_executor.ts";
import { evaluateHttpCondition, evaluateTransformation } from "../expr/templates/contexts.ts";
import { CONFIG_TABLE } from "../platform/config.ts";
import { removeDeadFolders } from "../platform/process/temp_folders.ts";
import { createStoredConfig } from "../service/manifests/stored_config.ts";
import type { WorkflowSource } from "../service/workflows/source.ts";
import { createUnwantedPods } from "../service/workflows/unwanted_pods.ts";
import { listOf, namingOf, type ServerContext } from "./context.ts";
import { workFolder } from "./setting.ts";
import type { Storage } from "./storage.ts";

/** Executors and artifacts; `http` and `data` templates run in this process, the others as `--executor` says. */
export async function openTasks(
  { config, settings, log, metrics }: ServerContext,
  { store, clock }: Storage,
  workflows: WorkflowSource,
): Promise<OpenedExecutor & { artifacts: ArtifactStore }> {
  const source = createStoredConfig(store);
  await removeDeadFolders({ git: endLeftGit });
  const artifacts = createArtifactStore({
    repository: settings.repository,
    keys: config.artifactKeys,
    config: source,
    allowLocalGit: config.executor === "process",
    maxBytes: config.maxArtifactBytes,
    isOfReplica: config.store.startsWith("redis") && config.artifacts === "",
  });
  const { namespace, instance, helperImage, callbackUrl, workflowServiceAccount } = config;
  const run = { now: () => clock.now() };
  const opened = await openExecutor({
    kind: config.executor,
    dir: join(workFolder(config), "tasks"),
    containerAllow: config.containerAllow,
    maxArtifactBytes: config.maxArtifactBytes,
    config: source,
    artifacts,
    clock,
    log,
    metrics,
    memory: store.blobs,
    evaluateCondition: (expression, { request, response }) =>
      evaluateHttpCondition(expression, request as never, response as never, run),
    evaluateData: (expression, { data }) => evaluateTransformation(expression, data ?? null, run),
    kubernetes: {
      env: process.env,
      instance,
      helperImage,
      callbackUrl,
      namespaces: listOf(namespace),
      naming: namingOf(config),
      // Two deployments with the default's name would take each other's pods for orphans.
      ...(instance !== CONFIG_TABLE.instance.default &&
        { findUnwanted: createUnwantedPods(workflows) }),
      jqCommand: config.jqCommand.split(" ").filter((word) => word !== ""),
      ...(workflowServiceAccount !== "" && { serviceAccount: workflowServiceAccount }),
    },
  });
  return { ...opened, artifacts };
}
