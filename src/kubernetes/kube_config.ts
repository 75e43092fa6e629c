/** Where the Kubernetes API is and who we are there: the pod's own service account, or a kubeconfig file. */
import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
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

/**
 * Reads the configuration: in a pod the service account, else `KUBECONFIG`, else `~/.kube/config`.
 *
 * @param context of the kubeconfig. @default its current one
 * @throws {Problem} FailedPrecondition when there is none, or it logs in by a program.
 */
export async function loadKubeConfig(
  env: Record<string, string | undefined>,
  context?: string,
): Promise<KubeConfig> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (host !== undefined && env["KUBECONFIG"] === undefined && context === undefined) {
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      ca: await readFile(`${ACCOUNT_DIR}/ca.crt`, "utf8"),
      insecureSkipVerify: false,
      token: fileToken(`${ACCOUNT_DIR}/token`),
    };
  }
  const path = env["KUBECONFIG"]?.split(":")[0] ?? `${env["HOME"] ?? ""}/.kube/config`;
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) {
    throw fault(`Found no Kubernetes: not in a pod, and there is no kubeconfig at ${path}`);
  }
  return await fromKubeconfig(parse(text) as Json, dirname(resolve(path)), context);
}

async function fromKubeconfig(
  config: Json,
  folder: string,
  wanted: string | undefined,
): Promise<KubeConfig> {
  if (!isJsonObject(config)) throw fault("The kubeconfig is not an object");
  const context = named(config["contexts"], wanted ?? config["current-context"], "context");
  const cluster = named(config["clusters"], context["cluster"], "cluster");
  const user = named(config["users"], context["user"], "user");
  if (user["exec"] !== undefined || user["auth-provider"] !== undefined) {
    throw fault(
      "The kubeconfig logs in by a program, which is not run here; use a service account's token or a client certificate",
    );
  }
  const pem = async (holder: JsonObject, name: string): Promise<string | undefined> => {
    const inline = holder[`${name}-data`];
    if (typeof inline === "string") return Buffer.from(inline, "base64").toString();
    const file = holder[name];
    return typeof file === "string" ? await readFile(resolve(folder, file), "utf8") : undefined;
  };
  const ca = await pem(cluster, "certificate-authority");
  const cert = await pem(user, "client-certificate");
  const key = await pem(user, "client-key");
  const { token, tokenFile } = user;
  return {
    server: String(cluster["server"] ?? "").replace(/\/+$/, ""),
    insecureSkipVerify: cluster["insecure-skip-tls-verify"] === true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    token: typeof tokenFile === "string"
      ? fileToken(resolve(folder, tokenFile))
      : () => Promise.resolve(typeof token === "string" ? token : undefined),
  };
}

function named(list: Json | undefined, name: Json | undefined, kind: string): JsonObject {
  const found = (Array.isArray(list) ? list : []).find((entry) =>
    isJsonObject(entry) && entry["name"] === name
  );
  const inner = isJsonObject(found) ? found[kind] : undefined;
  if (isJsonObject(inner)) return inner;
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
