/**
 * What pods call: outputs that are too large for their status, and artifacts in both directions. Any replica answers: what
 * it must know is in the pod's annotations, what it learns goes to the shared store. Mounted below `/api/v1/tasks/`.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { packTar, unpackTar } from "modern-tar/fs";
import type { ArtifactScope, ArtifactStore } from "../artifacts/port.ts";
import type { KubeClient } from "../kubernetes/kube_client.ts";
import { CALLBACK_ANNOTATION, PROGRESS_ANNOTATION, TASK_ANNOTATION } from "./kubernetes_pod.ts";
import type { CallbackFacts } from "./kubernetes_pod.ts";
import { getPod } from "./pod_calls.ts";
import { podsPath } from "./pod_watch.ts";
import { isTaskToken, MAX_REPORT_BYTES, memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";

export interface TaskCallbackOptions {
  client: KubeClient;
  artifacts: ArtifactStore;
  memory: TaskMemory;
  /** The deployment's secret, the same on all replicas. */
  secret: string;
}

const MAX_PROGRESS_BYTES = 64;

interface Call {
  taskId: string;
  facts: CallbackFacts;
  scope: ArtifactScope;
}

const ROUTE =
  /^\/api\/v1\/tasks\/([^/]+)\/([^/]+)\/(outputs|progress|artifacts|inputs)(?:\/(\d+))?$/;

/** Makes the handler of pods' calls. It answers 404 to everything else. */
export function createTaskCallback(
  options: TaskCallbackOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const [, namespace = "", podName = "", kind, index = ""] =
      ROUTE.exec(new URL(request.url).pathname) ?? [];
    if (kind === undefined) return plain(404, "not found");
    try {
      if (![namespace, podName].every(isName)) return plain(404, "not found");
      const call = await authenticate(options, request, namespace, podName);
      if (call === undefined) return plain(403, "not allowed");
      if (request.method === "POST" && kind === "outputs") {
        return await outputs(options, call, request);
      }
      if (request.method === "POST" && kind === "progress") {
        return await progress(options, { namespace, podName }, request);
      }
      if (request.method === "POST" && kind === "artifacts") {
        return await saveArtifact(options, call, Number(index), request);
      }
      if (request.method === "GET" && kind === "inputs") {
        return await sendInput(options, call, Number(index));
      }
      return plain(405, "method not allowed");
    } catch (error) {
      return plain(500, error instanceof Error ? error.message : String(error));
    }
  };
}

/** The pod's own facts, when the token is its task's. */
async function authenticate(
  { client, secret }: TaskCallbackOptions,
  request: Request,
  namespace: string,
  podName: string,
): Promise<Call | undefined> {
  const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const pod = await getPod(client, namespace, podName);
  const { [TASK_ANNOTATION]: taskId = "", [CALLBACK_ANNOTATION]: text } =
    pod?.metadata.annotations ?? {};
  if (text === undefined || !isTaskToken(secret, taskId, token)) return undefined;
  const facts = JSON.parse(text) as CallbackFacts;
  return {
    taskId,
    facts,
    scope: {
      namespace,
      names: facts.names,
      ...(facts.repositoryRef && { repositoryRef: facts.repositoryRef }),
      ...(facts.archiveLocation && { archiveLocation: facts.archiveLocation }),
    },
  };
}

async function outputs(
  { memory }: TaskCallbackOptions,
  { taskId }: Call,
  request: Request,
): Promise<Response> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_REPORT_BYTES) {
    return plain(413, `outputs have more than ${MAX_REPORT_BYTES} bytes`);
  }
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > MAX_REPORT_BYTES) return plain(413, "outputs are too large");
  await memory.putBlob(memoryKey(taskId, "outputs"), bytes);
  return plain(200, "{}");
}

/** Puts it on the pod, whose watch brings it to the replica that runs the task. */
async function progress(
  { client }: TaskCallbackOptions,
  { namespace, podName }: { namespace: string; podName: string },
  request: Request,
): Promise<Response> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_PROGRESS_BYTES) {
    return plain(413, "that is no progress");
  }
  const text = (await request.text()).trim();
  if (!/^\d+\/\d+$/.test(text)) return plain(400, "progress must look like 1/4");
  await client.call({
    method: "PATCH",
    path: `${podsPath(namespace)}/${podName}`,
    body: { metadata: { annotations: { [PROGRESS_ANNOTATION]: text } } },
  });
  return plain(200, "{}");
}

async function saveArtifact(
  { artifacts }: TaskCallbackOptions,
  { facts, scope }: Call,
  index: number,
  request: Request,
): Promise<Response> {
  const artifact = facts.outputs[index];
  if (artifact === undefined || request.body === null) return plain(404, "no such artifact");
  return await inTempFolder(async (folder) => {
    const body = Readable.fromWeb(request.body as NodeReadableStream);
    await pipeline(body, unpackTar(folder));
    const [entry] = await readdir(folder);
    if (entry === undefined) return plain(400, "the archive is empty");
    const saved = await artifacts.save(artifact, join(folder, entry), facts.prefix, scope);
    return new Response(JSON.stringify(saved), { headers: { "content-type": "application/json" } });
  });
}

async function sendInput(
  { artifacts }: TaskCallbackOptions,
  { facts, scope }: Call,
  index: number,
): Promise<Response> {
  const artifact = facts.inputs[index];
  if (artifact === undefined) return plain(404, "no such artifact");
  const folder = await mkdtemp(join(tmpdir(), "sluice-input-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const name = artifact.path ?? artifact.name;
    const place = join(folder, name);
    if (!await artifacts.fetch(artifact, place, scope)) {
      await remove();
      return plain(404, "no such artifact");
    }
    const type = (await stat(place)).isDirectory() ? "directory" : "file";
    const tar = packTar([{ type, source: place, target: name }]);
    tar.once("close", () => void remove());
    return new Response(Readable.toWeb(tar) as unknown as BodyInit, {
      headers: { "content-type": "application/x-tar" },
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

async function inTempFolder<Result>(act: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-output-"));
  try {
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** True for what may be part of the API server's paths as it is. */
function isName(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text);
}

function plain(status: number, text: string): Response {
  return new Response(text, { status });
}
