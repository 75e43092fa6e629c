/**
 * Answers the calls of pods: outputs that are too large for their status, and artifacts in both directions. Any replica can
 * answer: what it must know is on the pod, signed by the server, and what it learns goes to the shared store. A caller that
 * can't prove its task is refused before anything is looked up or read, whatever the path says. Mounted below
 * `/api/v1/tasks/`.
 */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { Budget } from "../../artifacts/budget.ts";
import { packTar } from "../../artifacts/pack.ts";
import type { ArtifactScope, ArtifactStore } from "../../artifacts/port.ts";
import { errorText } from "../../base/error_text.ts";
import { Problem } from "../../base/problem.ts";
import { unpackTar } from "../../artifacts/unpack.ts";
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import { trustedPlace } from "../../platform/files/place.ts";
import { makeTempFolder } from "../../platform/process/temp_folders.ts";
import { webStream } from "../../platform/web_stream.ts";
import type { Logger } from "../../platform/log.ts";
import { isPassing } from "../passing_trouble.ts";
import { bounded, readBounded, TooLarge } from "./bounded_body.ts";
import {
  CALLBACK_ANNOTATION,
  progressAnnotation,
  SIGNATURE_ANNOTATION,
  TASK_ANNOTATION,
  TASK_HEADER,
} from "./pod_marks.ts";
import type { CallbackFacts } from "./callback_facts.ts";
import { getPod } from "./pod_calls.ts";
import { podsPath } from "./pod_watch.ts";
import { MAX_REPORT_BYTES, memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";
import { isFactsSignature, isTaskToken } from "./task_tokens.ts";

export interface TaskCallbackOptions {
  client: KubeClient;
  artifacts: ArtifactStore;
  memory: TaskMemory;
  /** The deployment's secret, the same on all replicas. */
  secret: string;
  log: Logger;
  /** Prefix of the pods' labels and annotations. */
  labelPrefix: string;
  /** Most bytes of an archive with an artifact. */
  maxArtifactBytes: number;
}

const MAX_PROGRESS_BYTES = 64;

/** The pod that a call says it comes from. */
interface CallingPod {
  namespace: string;
  podName: string;
}

/** A call whose task is proved. */
interface Call extends CallingPod {
  taskId: string;
  facts: CallbackFacts;
  scope: ArtifactScope;
}

const ROUTE =
  /^\/api\/v1\/tasks\/([^/]+)\/([^/]+)\/(?:(outputs|progress)|(artifacts|inputs)\/(\d{1,5}))$/;
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Makes the handler of pods' calls. */
export function createTaskCallback(
  options: TaskCallbackOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const taskId = request.headers.get(TASK_HEADER) ?? "";
    const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    if (!isTaskToken(options.secret, taskId, token)) return refused();
    const { pathname } = new URL(request.url);
    const [, namespace = "", podName = "", single, indexed, index] = ROUTE.exec(pathname) ?? [];
    const kind = single ?? indexed;
    if (kind === undefined) return plain(404, "not found");
    if (!NAME.test(namespace) || !NAME.test(podName)) return refused();
    try {
      const call = await provenCall(options, taskId, { namespace, podName });
      if (call === undefined) return refused();
      switch (`${request.method} ${kind}`) {
        case "POST outputs":
          return await outputs(options, call, request);
        case "POST progress":
          return await progress(options, call, request);
        case "POST artifacts":
          return await saveArtifact(options, call, Number(index), request);
        case "GET inputs":
          // It ends with its pod.
          return await sendInput(options, call, Number(index), request.signal);
        default:
          return plain(405, "method not allowed");
      }
    } catch (error) {
      if (error instanceof TooLarge) return plain(413, error.message);
      // Pods repeat what fails with 5xx.
      if (error instanceof Problem && error.status < 500) return plain(error.status, error.message);
      options.log.warn({ task: taskId, kind, err: error }, "a pod's call failed");
      // They have more patience with a server that can't be reached, or can't reach what it needs.
      return plain(isPassing(error) ? 503 : 500, errorText(error));
    }
  };
}

/** The call with what the server wrote on its pod; undefined when the pod is not the task's, or its facts were changed. */
async function provenCall(
  { client, secret }: TaskCallbackOptions,
  taskId: string,
  { namespace, podName }: CallingPod,
): Promise<Call | undefined> {
  const pod = await getPod(client, namespace, podName);
  const {
    [TASK_ANNOTATION]: task,
    [CALLBACK_ANNOTATION]: text = "",
    [SIGNATURE_ANNOTATION]: signature = "",
  } = pod?.metadata.annotations ?? {};
  if (task !== taskId || !isFactsSignature(secret, taskId, text, signature)) return undefined;
  const facts = JSON.parse(text) as CallbackFacts;
  if (facts.names?.["workflow.namespace"] !== namespace) return undefined;
  const { inputs: _inputs, outputs: _outputs, prefix: _prefix, ...scope } = facts;
  return { taskId, namespace, podName, facts, scope: { namespace, ...scope } };
}

async function outputs(
  { memory }: TaskCallbackOptions,
  { taskId }: Call,
  request: Request,
): Promise<Response> {
  const bytes = await readBounded(request, MAX_REPORT_BYTES, "the report of the outputs");
  await memory.putBlob(memoryKey(taskId, "outputs"), bytes);
  return plain(200, "{}");
}

/** Writes progress on the pod. The watch brings it to the replica that runs the task. */
async function progress(
  { client, labelPrefix }: TaskCallbackOptions,
  { namespace, podName }: Call,
  request: Request,
): Promise<Response> {
  const bytes = await readBounded(request, MAX_PROGRESS_BYTES, "progress");
  const text = new TextDecoder().decode(bytes).trim();
  if (!/^\d+\/\d+$/.test(text)) return plain(400, "progress must look like 1/4");
  await client.call({
    method: "PATCH",
    path: `${podsPath(namespace)}/${podName}`,
    body: { metadata: { annotations: { [progressAnnotation(labelPrefix)]: text } } },
  });
  return plain(200, "{}");
}

async function saveArtifact(
  { artifacts, maxArtifactBytes }: TaskCallbackOptions,
  { facts, scope }: Call,
  index: number,
  request: Request,
): Promise<Response> {
  const artifact = facts.outputs[index];
  if (artifact === undefined || request.body === null) return plain(404, "no such artifact");
  return await inTempFolder(async (folder) => {
    const body = Readable.fromWeb(request.body as NodeReadableStream);
    const what = `artifact "${artifact.name}" (--max-artifact-bytes)`;
    const limited = bounded(maxArtifactBytes, what);
    const budget = new Budget(maxArtifactBytes);
    await Promise.all([
      pipeline(body, limited),
      unpackTar(limited, folder, budget, { links: "as they are" }),
    ]);
    const [entry] = await readdir(folder);
    if (entry === undefined) return plain(400, "the archive is empty");
    const place = join(folder, entry);
    const found = await lstat(place);
    if (!found.isFile() && !found.isDirectory()) {
      return plain(400, `artifact "${artifact.name}" is neither a file nor a folder`);
    }
    const saved = await artifacts.save(artifact, place, facts.prefix, {
      ...scope,
      siblings: facts.outputs,
    });
    return new Response(JSON.stringify(saved), { headers: { "content-type": "application/json" } });
  });
}

async function sendInput(
  { artifacts, maxArtifactBytes }: TaskCallbackOptions,
  { facts, scope }: Call,
  index: number,
  signal: AbortSignal,
): Promise<Response> {
  const artifact = facts.inputs[index];
  if (artifact === undefined) return plain(404, "no such artifact");
  const folder = await makeTempFolder("input");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    // Here the file has a name of ours. The manifest's name is for the pod.
    const place = join(folder, "content");
    if (!await artifacts.fetch(artifact, place, scope, signal)) {
      await remove();
      const why = artifacts.absence(artifact, scope);
      return plain(404, `it does not exist in its repository${why}`);
    }
    const target = artifact.path ?? artifact.name;
    const tar = packTar(trustedPlace(place), target, new Budget(maxArtifactBytes));
    tar.once("close", () => void remove());
    return new Response(webStream(tar) as BodyInit, {
      headers: { "content-type": "application/x-tar" },
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

async function inTempFolder<Result>(act: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await makeTempFolder("output");
  try {
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same answer to every call without a proof, so that it does not show what exists. */
function refused(): Response {
  return plain(403, "not allowed");
}

function plain(status: number, text: string): Response {
  return new Response(text, { status });
}
