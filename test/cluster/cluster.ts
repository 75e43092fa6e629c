/**
 * The cluster that the tests run on. `KUBECONFIG` names an existing one. Otherwise `SLUICE_CLUSTER_TOOL` names a
 * program with the commands `up` (starts a cluster; its last line is the kubeconfig's path), `load FILE…` (imports
 * image archives into its nodes) and `down`. With `KUBECONFIG` alone, `SLUICE_CLUSTER_LOAD` is the command that imports
 * an archive, such as `kind load image-archive`.
 */
import { spawn, spawnSync } from "node:child_process";
import process from "node:process";
import { KubeClient } from "../../src/kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../src/kubernetes/kube_config.ts";

export interface Cluster {
  kubeconfig: string;
  client: KubeClient;
  /** The version of Kubernetes, such as `v1.33.1`. */
  version: string;
  /** The command that imports an image archive; empty where none is known. */
  loader: readonly string[];
  /** Imports image archives. */
  load(files: readonly string[]): void;
  /** Takes down a cluster that `openCluster` started. */
  close(): void;
}

const HELP =
  "No cluster: set KUBECONFIG (and SLUICE_CLUSTER_LOAD, the command that imports an image archive), or " +
  "SLUICE_CLUSTER_TOOL, a program with the commands up, load FILE… and down";

/** Finds or starts a cluster. @throws {Error} that says what to set if there is none */
export async function openCluster(env: NodeJS.ProcessEnv): Promise<Cluster> {
  const { SLUICE_CLUSTER_TOOL: tool, SLUICE_CLUSTER_LOAD: loader } = env;
  let { KUBECONFIG: kubeconfig } = env;
  if (kubeconfig === undefined && tool === undefined) throw new Error(HELP);
  const isOurs = kubeconfig === undefined;
  kubeconfig ??= run([tool ?? "", "up"]).trim().split("\n").at(-1) ?? "";
  const client = new KubeClient(await loadKubeConfig({ KUBECONFIG: kubeconfig }));
  const { gitVersion } = await client.call<{ gitVersion: string }>({ path: "/version" });
  const command = loader?.split(" ") ?? (tool === undefined ? [] : [tool, "load"]);
  return {
    kubeconfig,
    client,
    version: gitVersion,
    loader: command,
    load(files) {
      if (command.length === 0) {
        throw new Error("Images can't be imported: set SLUICE_CLUSTER_LOAD or SLUICE_CLUSTER_TOOL");
      }
      for (const file of files) run([...command, file]);
    },
    close() {
      client.close();
      if (isOurs) run([tool ?? "", "down"]);
    },
  };
}

/** Runs a program to its end; returns its output. @throws {Error} with its last output if it failed */
export function run([command = "", ...args]: readonly string[], env = process.env): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status === 0) return stdout;
  const words = [stdout, stderr, String(error ?? "")].join("\n").trim().slice(-4_000);
  throw new Error(`${command} ${args.join(" ")} failed:\n${words}`);
}

/** Runs a program without blocking. @throws {Error} with its last output if it failed */
export async function runBeside(
  command: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  const { status, out } = await outcomeOf(command, env);
  if (status === 0) return out;
  throw new Error(`${command.join(" ")} failed:\n${out.trim().slice(-4_000)}`);
}

/** Runs this checkout's command line without blocking. */
export function sluice(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ status: number; out: string }> {
  return outcomeOf([process.execPath, "run", "-A", "src/cli/main.ts", ...args], env);
}

function outcomeOf(
  [command = "", ...args]: readonly string[],
  env: Record<string, string>,
): Promise<{ status: number; out: string }> {
  const child = spawn(command, args, { env: { ...process.env, ...env } });
  let out = "";
  child.stdout.on("data", (part) => (out += String(part)));
  child.stderr.on("data", (part) => (out += String(part)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status: status ?? -1, out }));
  });
}
