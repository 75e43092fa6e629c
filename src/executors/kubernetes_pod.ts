/**
 * Pure: a task as a Pod manifest. The pod has the name that the engine gives it, so creating it twice is creating it once.
 * A container whose outputs are wanted is wrapped (see `kubernetes_wrapper.ts`); a pod that wants none has neither wrapper
 * nor init container, since those cost a second of start.
 */
import { isJsonObject } from "../base/json.ts";
import type { JsonObject } from "../base/json.ts";
import { durationMs } from "../engine/expressions.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Artifact, Container, Parameter, Template } from "../spec/manifest.ts";
import type { ImageCommand } from "./image_config.ts";
import { planContainers } from "./container_plan.ts";
import type { PlannedContainer } from "./container_plan.ts";
import {
  INIT_SCRIPT,
  PROGRESS_FILE,
  RUN_SCRIPT,
  SCRIPTS_DIR,
  SHARED_DIR,
} from "./kubernetes_wrapper.ts";
import { applyPodPatch } from "./pod_patch.ts";
import { factsSignature, taskToken } from "./task_tokens.ts";
import { avoidHosts, copiedMembers, podDeadline } from "./pod_settings.ts";

/** Label of all pods of one deployment. */
export const INSTANCE_LABEL = "sluice.dev/instance";
/** Label with the uid of the pod's workflow. */
export const WORKFLOW_UID_LABEL = "sluice.dev/workflow-uid";
/** Annotation with the task's id. */
export const TASK_ANNOTATION = "sluice.dev/task";
/** Annotation with a pod's progress `N/M`: what it writes itself, or what its wrapper sends. */
export function progressAnnotation(labelPrefix: string): string {
  return `${labelPrefix}progress`;
}
/** Annotation with what a call back needs to know: `CallbackFacts` as JSON. */
export const CALLBACK_ANNOTATION = "sluice.dev/outputs";
/** Annotation with the server's signature under that. */
export const SIGNATURE_ANNOTATION = "sluice.dev/outputs-signature";
/** Header with the id of the task that a call back is for. */
export const TASK_HEADER = "X-Sluice-Task";

export interface PodOptions {
  /** Prefix of labels and annotations. */
  labelPrefix: string;
  /** Marks the pods of one deployment. */
  instance: string;
  /** Image with a static `/bin/busybox`, for the wrapper. */
  helperImage: string;
  helperPullPolicy?: string;
  /** Base URL of the server as pods reach it; plain http, since the wrapper speaks no TLS. */
  callbackUrl: string;
  /** The deployment's secret, from which the task's token follows. */
  secret: string;
  /** Used where the workflow names none. */
  serviceAccount?: string;
  /** What images run, for those of {@link imagesWithoutCommand}. */
  commands?: ReadonlyMap<string, ImageCommand>;
  /** Epoch ms. */
  now: number;
}

/** What a replica that is called back must know of a task it may never have seen. */
export interface CallbackFacts {
  inputs: Artifact[];
  outputs: Artifact[];
  prefix: string;
  repositoryRef?: { configMap?: string; key?: string };
  archiveLocation?: JsonObject;
  formerKeys?: string[];
  names: Record<string, string>;
}

/** Names of annotations that become files. */
const SCRIPT_FILES = {
  run: "sluice.dev/run",
  init: "sluice.dev/init",
  script: "sluice.dev/script",
};

/** Init container of our own; `init` may be a user's. */
const HELPER_NAME = "sluice-init";
/** Volumes of our own. */
const SHARED_VOLUME = { name: "var-run-argo", emptyDir: {} };
const INPUTS_VOLUME = { name: "input-artifacts", emptyDir: {} };
const INPUTS_DIR = "/argo/inputs/artifacts";

/** Makes the pod. @throws {Error} when the template can't be a pod, with the reason */
export function podFor(task: TaskSpec, options: PodOptions): JsonObject {
  const { template } = task;
  const plan = planContainers(template);
  const mains = plan.filter(({ role }) => role === "main");
  const wrapped = needsWrapper(task, options.labelPrefix);
  const parts = new PodParts(task, options, wrapped);
  const spec: JsonObject = {
    restartPolicy: "Never",
    ...copiedMembers(task),
    ...podDeadline(task, options.now),
    containers: mains.map((container) => parts.main(container, mains)),
  };
  const init = [
    ...(wrapped ? [parts.helper(mains)] : []),
    ...plan.filter(({ role }) => role === "init").map((container) => parts.plain(container)),
    // Kubernetes ends these itself when the main containers have ended.
    ...plan.filter(({ role }) => role === "sidecar").map((container) => ({
      ...parts.plain(container),
      restartPolicy: "Always",
    })),
  ];
  if (init.length > 0) spec["initContainers"] = init;
  if (options.serviceAccount !== undefined && spec["serviceAccountName"] === undefined) {
    spec["serviceAccountName"] = options.serviceAccount;
  }
  avoidHosts(spec, task.avoidHosts ?? []);
  const volumes = parts.volumes();
  if (volumes.length > 0) spec["volumes"] = volumes;
  const pod: JsonObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: task.podName,
      namespace: task.namespace,
      labels: labels(task, options),
      annotations: { ...annotations(task, options), ...parts.annotations },
    },
    spec,
  };
  return applyPodPatch(applyPodPatch(pod, task.podSpec.podSpecPatch), template.podSpecPatch);
}

/** True when something but the exit code is wanted of the task, or brought to it. */
export function needsWrapper({ template, includeResult }: TaskSpec, labelPrefix: string): boolean {
  const { inputs, outputs, containerSet } = template;
  return includeResult || containerSet !== undefined || tellsProgress(template, labelPrefix) ||
    (inputs?.artifacts ?? []).some(hasPath) || (outputs?.artifacts ?? []).some(hasPath) ||
    (outputs?.parameters ?? []).some((parameter) => parameter.valueFrom?.path !== undefined);
}

/** Images whose own command must be known to make the pod. */
export function imagesWithoutCommand(task: TaskSpec, labelPrefix: string): string[] {
  if (!needsWrapper(task, labelPrefix)) return [];
  const mains = planContainers(task.template).filter(({ role }) => role === "main");
  return [
    ...new Set(
      mains.filter(({ spec }) => (spec.command ?? []).length === 0).map(({ spec }) =>
        spec.image ?? ""
      ),
    ),
  ];
}

/** True for a template that says so by the progress annotation, or whose command or script names the variable. */
function tellsProgress(
  { metadata, container, script }: Template,
  labelPrefix: string,
): boolean {
  if (metadata?.annotations?.[progressAnnotation(labelPrefix)] !== undefined) return true;
  const { command = [], args = [] } = container ?? script ?? {};
  return [...command, ...args, script?.source ?? ""].some((text) =>
    text.includes("ARGO_PROGRESS_FILE")
  );
}

function hasPath(artifact: Artifact): boolean {
  return artifact.path !== undefined;
}

/** Outputs by their place in the template: both sides of a call back count alike. */
export function outputFiles(parameters: readonly Parameter[] = []): [number, string][] {
  return parameters.flatMap((parameter, index) =>
    parameter.valueFrom?.path === undefined ? [] : [[index, parameter.valueFrom.path]]
  );
}

class PodParts {
  readonly annotations: Record<string, string> = {};
  readonly #task: TaskSpec;
  readonly #options: PodOptions;
  readonly #wrapped: boolean;
  readonly #files = new Map<string, string>();

  constructor(task: TaskSpec, options: PodOptions, wrapped: boolean) {
    this.#task = task;
    this.#options = options;
    this.#wrapped = wrapped;
    if (!wrapped) return;
    this.#file("run", SCRIPT_FILES.run, RUN_SCRIPT);
    this.#file("init", SCRIPT_FILES.init, INIT_SCRIPT);
    const facts = JSON.stringify(callbackFacts(task));
    this.annotations[CALLBACK_ANNOTATION] = facts;
    this.annotations[SIGNATURE_ANNOTATION] = factsSignature(options.secret, task.id, facts);
  }

  #file(name: string, annotation: string, text: string): string {
    this.annotations[annotation] = text;
    this.#files.set(name, annotation);
    return `${SCRIPTS_DIR}/${name}`;
  }

  /** Where and as whom the pod calls back. */
  #callback(): Record<string, string> {
    const { id, namespace, podName } = this.#task;
    const { callbackUrl, secret } = this.#options;
    const { protocol, hostname, port, pathname } = new URL(callbackUrl);
    if (protocol !== "http:") return {};
    return {
      SLUICE_HOST: hostname,
      SLUICE_PORT: port === "" ? "80" : port,
      SLUICE_PATH: `${pathname.replace(/\/+$/, "")}/api/v1/tasks/${namespace}/${podName}`,
      SLUICE_TASK: id,
      SLUICE_TOKEN: taskToken(secret, id),
    };
  }

  plain(container: PlannedContainer): JsonObject {
    const { mirrorVolumeMounts: _mirror, ...spec } = container.spec;
    return {
      ...(spec as JsonObject),
      name: container.name,
      env: this.#environment(container, []),
    };
  }

  main(container: PlannedContainer, mains: readonly PlannedContainer[]): JsonObject {
    const { dependencies: _dependencies, ...spec } = container.spec;
    const made: JsonObject = { ...(spec as JsonObject), name: container.name };
    const mounts: JsonObject[] = [...(container.spec.volumeMounts ?? [])];
    let args = container.spec.args ?? [];
    if (container.source !== undefined) {
      args = [
        ...args,
        this.#file("script", SCRIPT_FILES.script, container.source),
      ];
    }
    const own: JsonObject[] = [];
    if (this.#wrapped) {
      let command = container.spec.command ?? [];
      if (command.length === 0) {
        const known = this.#options.commands?.get(container.spec.image ?? "");
        command = known?.entrypoint ?? [];
        if (args.length === 0) args = known?.cmd ?? [];
        if (command.length + args.length === 0) {
          throw new Error(
            `Container ${container.name} has outputs or input artifacts, so it needs a command; image "${
              container.spec.image ?? ""
            }" has none of its own`,
          );
        }
      }
      made["command"] = [`${SHARED_DIR}/busybox`, "sh", `${SCRIPTS_DIR}/run`];
      made["args"] = [...command, ...args];
      mounts.push({ name: SHARED_VOLUME.name, mountPath: SHARED_DIR });
      mounts.push(...this.#inputMounts(container));
      own.push(...this.#wrapperVariables(container, mains));
    } else if (args.length > 0) made["args"] = args;
    if (this.#wrapped || container.source !== undefined) {
      mounts.push({ name: "argo-staging", mountPath: SCRIPTS_DIR, readOnly: true });
    }
    if (mounts.length > 0) made["volumeMounts"] = mounts;
    made["env"] = this.#environment(container, own);
    return made;
  }

  #wrapperVariables(
    container: PlannedContainer,
    mains: readonly PlannedContainer[],
  ): JsonObject[] {
    const { template, includeResult } = this.#task;
    const counts = container.name === "main" || mains.length === 1;
    const retry = template.containerSet?.retryStrategy;
    const lines = (list: readonly [number, string][]) =>
      list.map(([index, path]) => `${index}\t${path}`).join("\n");
    const artifacts = (template.outputs?.artifacts ?? []).flatMap((artifact, index) =>
      artifact.path === undefined ? [] : [[index, artifact.path] as [number, string]]
    );
    const path = container.spec["terminationMessagePath"];
    return variables({
      SLUICE_NAME: container.name,
      SLUICE_AFTER: container.dependencies.join(" "),
      SLUICE_RETRIES: retry === undefined ? "" : String(retry.retries ?? 0),
      SLUICE_RETRY_WAIT: retry?.duration === undefined
        ? ""
        : String(durationMs(retry.duration) / 1000),
      SLUICE_KEEP_STDOUT: counts && includeResult ? "1" : "",
      SLUICE_FILES: counts ? lines(outputFiles(template.outputs?.parameters)) : "",
      SLUICE_ARTIFACTS: counts ? lines(artifacts) : "",
      ARGO_PROGRESS_FILE: counts ? PROGRESS_FILE : "",
      SLUICE_MESSAGE_PATH: typeof path === "string" ? path : "",
      ...this.#callback(),
    });
  }

  #inputMounts(container: PlannedContainer): JsonObject[] {
    return inputsOf(this.#task)
      .filter(({ path }) => volumeMountOf(container.spec, path) === undefined)
      .map(({ artifact, path }) => ({
        name: INPUTS_VOLUME.name,
        mountPath: path,
        subPath: artifact.name,
      }));
  }

  /** Brings busybox and the input artifacts. */
  helper(mains: readonly PlannedContainer[]): JsonObject {
    const main = mains.find(({ name }) => name === "main") ?? mains[0];
    const inputs = inputsOf(this.#task);
    const mounts: JsonObject[] = [
      { name: SHARED_VOLUME.name, mountPath: SHARED_DIR },
      { name: "argo-staging", mountPath: SCRIPTS_DIR, readOnly: true },
    ];
    const lines = inputs.map(({ artifact, path, index }) => {
      const mount = main && volumeMountOf(main.spec, path);
      // An archive holds one entry with the artifact's name, or with the path's last part inside a volume.
      const folder = mount === undefined
        ? INPUTS_DIR
        : `/mainctrfs${path.slice(0, path.lastIndexOf("/"))}`;
      return `${index}\t${folder}\t${artifact.optional === true}`;
    });
    if (inputs.length > 0) mounts.push({ name: INPUTS_VOLUME.name, mountPath: INPUTS_DIR });
    if (lines.some((line) => line.includes("\t/mainctrfs"))) {
      for (const mount of main?.spec.volumeMounts ?? []) {
        mounts.push({ ...mount, mountPath: `/mainctrfs${String(mount["mountPath"])}` });
      }
    }
    return {
      name: HELPER_NAME,
      image: this.#options.helperImage,
      ...(this.#options.helperPullPolicy !== undefined && {
        imagePullPolicy: this.#options.helperPullPolicy,
      }),
      command: ["/bin/busybox", "sh", `${SCRIPTS_DIR}/init`],
      env: variables({
        SLUICE_INPUTS: lines.join("\n"),
        ...this.#callback(),
      }),
      volumeMounts: mounts,
      resources: {
        requests: { cpu: "10m", memory: "16Mi" },
        limits: { cpu: "500m", memory: "128Mi" },
      },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
    };
  }

  #environment(container: PlannedContainer, own: readonly JsonObject[]): JsonObject[] {
    const task = this.#task;
    const template = JSON.stringify(task.template);
    return [
      ...variables({
        ARGO_CONTAINER_NAME: container.name,
        ARGO_NODE_ID: task.nodeId,
        ARGO_WORKFLOW_NAME: task.workflow,
        ARGO_WORKFLOW_UID: task.workflowUid,
        ARGO_POD_NAME: task.podName,
        ARGO_INCLUDE_SCRIPT_OUTPUT: String(task.includeResult),
        ARGO_DEADLINE: task.deadline === undefined
          ? "0001-01-01T00:00:00Z"
          : new Date(task.deadline).toISOString(),
        // One variable has at most 128 kB.
        ARGO_TEMPLATE: template.length > 100_000 ? "" : template.replaceAll("$(", "$$("),
      }),
      ...own,
      ...(container.spec.env ?? []),
    ];
  }

  volumes(): JsonObject[] {
    const { template, podSpec, workflow } = this.#task;
    const volumes = [...(template.volumes ?? [])];
    for (const volume of podSpec.volumes ?? []) {
      if (!volumes.some((own) => own["name"] === volume["name"])) volumes.push(volume);
    }
    for (const claim of podSpec.volumeClaimTemplates ?? []) {
      const name = isJsonObject(claim["metadata"]) ? String(claim["metadata"]["name"]) : "";
      if (volumes.some((own) => own["name"] === name)) continue;
      volumes.push({ name, persistentVolumeClaim: { claimName: `${workflow}-${name}` } });
    }
    if (this.#wrapped) volumes.push(SHARED_VOLUME);
    if (this.#wrapped && inputsOf(this.#task).length > 0) volumes.push(INPUTS_VOLUME);
    if (this.#files.size > 0) {
      volumes.push({
        name: "argo-staging",
        downwardAPI: {
          defaultMode: 0o555,
          items: [...this.#files].map(([path, annotation]) => ({
            path,
            fieldRef: { fieldPath: `metadata.annotations['${annotation}']` },
          })),
        },
      });
    }
    return volumes;
  }
}

/** Input artifacts that lie at a path, with their place in the template. */
export function inputsOf(
  task: TaskSpec,
): { artifact: Artifact; path: string; index: number }[] {
  return (task.template.inputs?.artifacts ?? []).flatMap((artifact, index) =>
    artifact.path === undefined
      ? []
      : [{ artifact, path: artifact.path.replace(/\/+$/, ""), index }]
  );
}

/** True when an input lies in a volume of the main container, where its own name counts. */
export function liesInVolume(task: TaskSpec, path: string): boolean {
  const mains = planContainers(task.template).filter(({ role }) => role === "main");
  const main = mains.find(({ name }) => name === "main") ?? mains[0];
  return main !== undefined && volumeMountOf(main.spec, path) !== undefined;
}

function volumeMountOf(spec: Container, path: string): JsonObject | undefined {
  return (spec.volumeMounts ?? []).find((mount) =>
    path.startsWith(`${String(mount["mountPath"]).replace(/\/+$/, "")}/`)
  );
}

function callbackFacts(task: TaskSpec): JsonObject {
  const { template, podSpec } = task;
  const facts: CallbackFacts = {
    // The name of the entry that the archive of an input has.
    inputs: (template.inputs?.artifacts ?? []).map((artifact) => ({
      ...artifact,
      path: artifact.path !== undefined && liesInVolume(task, artifact.path)
        ? artifact.path.replace(/\/+$/, "").replace(/^.*\//, "")
        : artifact.name,
    })),
    outputs: template.outputs?.artifacts ?? [],
    prefix: task.artifactPrefix,
    ...(podSpec.artifactRepositoryRef && { repositoryRef: podSpec.artifactRepositoryRef }),
    ...(template.archiveLocation && { archiveLocation: template.archiveLocation as JsonObject }),
    ...(task.formerKeys && { formerKeys: task.formerKeys }),
    names: {
      "workflow.name": task.workflow,
      "workflow.namespace": task.namespace,
      "workflow.uid": task.workflowUid,
      "pod.name": task.podName,
      "node.name": task.nodeName,
    },
  };
  return facts as unknown as JsonObject;
}

function variables(values: Record<string, string>): JsonObject[] {
  return Object.entries(values).filter(([, value]) => value !== "").map(([name, value]) => ({
    name,
    value,
  }));
}

function labels(task: TaskSpec, { instance, labelPrefix }: PodOptions): JsonObject {
  const { podSpec, template } = task;
  return {
    ...task.labels,
    ...podSpec.podMetadata?.labels,
    ...template.metadata?.labels,
    [`${labelPrefix}workflow`]: task.workflow,
    [`${labelPrefix}completed`]: "false",
    [INSTANCE_LABEL]: instance,
    [WORKFLOW_UID_LABEL]: task.workflowUid,
  };
}

function annotations(task: TaskSpec, { labelPrefix }: PodOptions): Record<string, string> {
  const { podSpec, template } = task;
  return {
    ...podSpec.podMetadata?.annotations,
    ...template.metadata?.annotations,
    "kubectl.kubernetes.io/default-container": "main",
    [`${labelPrefix}node-id`]: task.nodeId,
    [`${labelPrefix}node-name`]: task.nodeName,
    [TASK_ANNOTATION]: task.id,
  };
}
