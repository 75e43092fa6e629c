/** Pure: the containers and volumes of a task's pod. */
import { isJsonObject } from "../../base/json.ts";
import type { JsonObject } from "../../base/json.ts";
import { durationMs } from "../../spec/duration.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { argoVariables } from "../argo_variables.ts";
import type { PlannedContainer } from "../container_plan.ts";
import { callbackFacts, inputsOf, outputFiles, volumeMountOf } from "./callback_facts.ts";
import type { ImageCommand } from "./image_config.ts";
import { CALLBACK_ANNOTATION, SIGNATURE_ANNOTATION } from "./pod_marks.ts";
import { factsSignature, taskToken } from "./task_tokens.ts";
import {
  HELPER_NAME,
  INIT_SCRIPT,
  PROGRESS_FILE,
  RUN_SCRIPT,
  SCRIPTS_DIR,
  SHARED_DIR,
  SIDECAR_SCRIPT,
} from "./wrapper.ts";

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

/** Names of annotations that become files. */
const SCRIPT_FILES = {
  run: "sluice.dev/run",
  init: "sluice.dev/init",
  sidecar: "sluice.dev/sidecar",
  script: "sluice.dev/script",
};

/** A longer template is left out of the environment: one variable has at most 128 kB. */
const MAX_TEMPLATE_LENGTH = 100_000;

/** Volumes of our own. */
const SHARED_VOLUME = { name: "var-run-argo", emptyDir: {} };
const INPUTS_VOLUME = { name: "input-artifacts", emptyDir: {} };
const INPUTS_DIR = "/argo/inputs/artifacts";

export class PodParts {
  readonly annotations: Record<string, string> = {};
  readonly #task: TaskSpec;
  readonly #options: PodOptions;
  readonly #wrapped: boolean;
  readonly #files = new Map<string, string>();
  #wrapsSidecars = false;

  constructor(task: TaskSpec, options: PodOptions, wrapped: boolean) {
    this.#task = task;
    this.#options = options;
    this.#wrapped = wrapped;
    if (!wrapped) return;
    this.#file("run", SCRIPT_FILES.run, RUN_SCRIPT);
    const facts = JSON.stringify(callbackFacts(task));
    this.annotations[CALLBACK_ANNOTATION] = facts;
    this.annotations[SIGNATURE_ANNOTATION] = factsSignature(options.secret, task.id, facts);
  }

  /** True when busybox must be brought, or input artifacts. */
  get needsHelper(): boolean {
    return this.#wrapped || this.#wrapsSidecars;
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
    const mounts = [...(container.spec.volumeMounts ?? []), ...this.#inputMounts(container)];
    return {
      ...(container.spec as JsonObject),
      name: container.name,
      env: this.#environment(container, []),
      ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
    };
  }

  /**
   * A container beside the main ones. One whose command is known is wrapped, so that it ends with them at once; the server
   * has the cluster end the others.
   */
  sidecar(container: PlannedContainer, mains: readonly PlannedContainer[]): JsonObject {
    const { restartPolicy: _native, ...made }: JsonObject = this.plain(container);
    const { command = [], args = [], volumeMounts = [] } = container.spec;
    if (command.length === 0) return made;
    this.#wrapsSidecars = true;
    const script = this.#file("sidecar", SCRIPT_FILES.sidecar, SIDECAR_SCRIPT);
    const path = container.spec["terminationMessagePath"];
    made["command"] = [`${SHARED_DIR}/busybox`, "sh", script];
    made["args"] = [
      container.name,
      typeof path === "string" ? path : "",
      this.#wrapped ? mains.map(({ name }) => name).join(" ") : "",
      ...command,
      ...args,
    ];
    made["volumeMounts"] = [
      ...volumeMounts,
      ...this.#inputMounts(container),
      { name: SHARED_VOLUME.name, mountPath: SHARED_DIR },
      { name: "argo-staging", mountPath: SCRIPTS_DIR, readOnly: true },
    ];
    return made;
  }

  main(container: PlannedContainer, mains: readonly PlannedContainer[]): JsonObject {
    const made: JsonObject = { ...(container.spec as JsonObject), name: container.name };
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
    if (!container.hasInputs) return [];
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
      return `${index}\t${folder}\t${artifact.optional === true}\t${artifact.name}`;
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
      command: ["/bin/busybox", "sh", this.#file("init", SCRIPT_FILES.init, INIT_SCRIPT)],
      env: variables({
        SLUICE_INPUTS: lines.join("\n"),
        ...this.#callback(),
      }),
      volumeMounts: mounts,
      ...helperResources(main?.spec.resources),
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
        ...argoVariables(task, container.name),
        ARGO_TEMPLATE: template.length > MAX_TEMPLATE_LENGTH
          ? ""
          : template.replaceAll("$(", "$$("),
      }),
      ...own,
      ...(container.spec.env ?? []),
    ];
  }

  /** Volumes of our own, for what the containers made so far need. */
  volumes(): JsonObject[] {
    const volumes: JsonObject[] = [];
    if (this.needsHelper) volumes.push(SHARED_VOLUME);
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

/**
 * What the main container asks for, the helper may use before it: so it passes the same limit ranges and quotas, and costs
 * the pod nothing. Devices are left out.
 */
function helperResources(resources: JsonObject = {}): JsonObject {
  const taken: JsonObject = {};
  for (const member of ["requests", "limits"]) {
    const amounts = resources[member];
    const common = Object.entries(isJsonObject(amounts) ? amounts : {}).filter(([name]) =>
      ["cpu", "memory", "ephemeral-storage"].includes(name)
    );
    if (common.length > 0) taken[member] = Object.fromEntries(common);
  }
  return Object.keys(taken).length === 0 ? {} : { resources: taken };
}

function variables(values: Record<string, string>): JsonObject[] {
  return Object.entries(values).filter(([, value]) => value !== "").map(([name, value]) => ({
    name,
    value,
  }));
}
