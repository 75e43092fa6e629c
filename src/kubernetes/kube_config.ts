/** Where the Kubernetes API is and who we are there: the pod's own service account, or a kubeconfig file. */
import { readFile, stat } from "node:fs/promises";
import { delimiter, dirname, resolve } from "node:path";
import { parse } from "yaml";
import { errorText } from "../base/error_text.ts";
import { isJsonObject } from "../base/json.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";

const ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The kubelet renews tokens long before they end; reading one a minute is enough. */
const TOKEN_AGE_MS = 60_000;

export interface KubeConfig {
  /** Without a slash at the end. */
  server: string;
  /** PEM; absent: the system's own. */
  ca?: string;
  /** Client certificate and key, PEM. */
  cert?: string;
  key?: string;
  insecureSkipVerify: boolean;
  /** Bearer token of now; undefined when certificates speak. */
  token(): Promise<string | undefined>;
}

/** One of the files that make up the configuration. */
interface KubeFile {
  /** Paths in it begin here. */
  folder: string;
  content: JsonObject;
}

/**
 * Reads the configuration: in a pod the service account, else the files of `KUBECONFIG`, else `~/.kube/config`. Of several
 * files the first that has something counts, as for kubectl.
 *
 * @param context of the kubeconfig. @default its current one
 * @throws {Problem} FailedPrecondition when there is none, it cannot be read, or it logs in by a program.
 */
export async function loadKubeConfig(
  env: Record<string, string | undefined>,
  context?: string,
): Promise<KubeConfig> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  const given = env["KUBECONFIG"] ?? "";
  if (host !== undefined && given === "" && context === undefined) {
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      ca: await readFile(`${ACCOUNT_DIR}/ca.crt`, "utf8"),
      insecureSkipVerify: false,
      token: fileToken(`${ACCOUNT_DIR}/token`),
    };
  }
  const paths = given.split(delimiter).filter((path) => path !== "");
  if (paths.length === 0) paths.push(`${env["HOME"] ?? ""}/.kube/config`);
  const files = (await Promise.all(paths.map(readKubeFile))).filter((file) => file !== undefined);
  if (files.length === 0) {
    const where = paths.join(", ");
    throw fault(
      `Found no Kubernetes: not in a pod, and there is no kubeconfig at ${where} (KUBECONFIG names another)`,
    );
  }
  return await fromKubeconfig(files, context);
}

/** Reads a file; undefined when there is none. @throws {Problem} that names it when it is no kubeconfig */
async function readKubeFile(path: string): Promise<KubeFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  let content: unknown;
  try {
    content = parse(text);
  } catch (error) {
    throw fault(`The kubeconfig ${path} is not YAML: ${errorText(error).split("\n", 1)[0]}`);
  }
  if (!isJsonObject(content ?? {})) throw fault(`The kubeconfig ${path} is not an object`);
  return { folder: dirname(resolve(path)), content: (content ?? {}) as JsonObject };
}

async function fromKubeconfig(
  files: readonly KubeFile[],
  wanted: string | undefined,
): Promise<KubeConfig> {
  const current = files.map(({ content }) => content["current-context"]).find(Boolean);
  const { entry: context } = named(files, wanted ?? current, "context");
  const cluster = named(files, context["cluster"], "cluster");
  const user = named(files, context["user"], "user");
  if (user.entry["exec"] !== undefined || user.entry["auth-provider"] !== undefined) {
    throw fault(
      "The kubeconfig logs in by a program, which is not run here; use a service account's token or a client certificate",
    );
  }
  const ca = await pem(cluster, "certificate-authority");
  const cert = await pem(user, "client-certificate");
  const key = await pem(user, "client-key");
  const { token, tokenFile } = user.entry;
  return {
    server: String(cluster.entry["server"] ?? "").replace(/\/+$/, ""),
    insecureSkipVerify: cluster.entry["insecure-skip-tls-verify"] === true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    token: typeof tokenFile === "string"
      ? fileToken(resolve(user.folder, tokenFile))
      : () => Promise.resolve(typeof token === "string" ? token : undefined),
  };
}

/** A named part of a kubeconfig, and where paths in it begin. */
interface Named {
  folder: string;
  entry: JsonObject;
}

async function pem({ folder, entry }: Named, name: string): Promise<string | undefined> {
  const inline = entry[`${name}-data`];
  if (typeof inline === "string") return Buffer.from(inline, "base64").toString();
  const file = entry[name];
  return typeof file === "string" ? await readFile(resolve(folder, file), "utf8") : undefined;
}

function named(
  files: readonly KubeFile[],
  name: Json | undefined,
  kind: "context" | "cluster" | "user",
): Named {
  for (const { folder, content } of files) {
    const list = content[`${kind}s`];
    const found = (Array.isArray(list) ? list : []).find((entry) =>
      isJsonObject(entry) && entry["name"] === name
    );
    const entry = isJsonObject(found) ? found[kind] : undefined;
    if (isJsonObject(entry)) return { folder, entry };
  }
  if (name === undefined) throw fault("The kubeconfig has no current context: name one");
  throw fault(`The kubeconfig has no ${kind} "${String(name)}"`);
}

function fileToken(path: string): () => Promise<string> {
  let kept: { text: string; mtimeMs: number; readAt: number } | undefined;
  return async () => {
    const now = performance.now();
    if (kept !== undefined && now - kept.readAt < TOKEN_AGE_MS) return kept.text;
    const { mtimeMs } = await stat(path);
    const text = kept?.mtimeMs === mtimeMs ? kept.text : (await readFile(path, "utf8")).trim();
    kept = { text, mtimeMs, readAt: now };
    return text;
  };
}

function fault(message: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, message);
}
