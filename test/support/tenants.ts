/** A real server with callers who have different rights, each with a token. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { createToken } from "../../src/auth/token_file.ts";
import { type ServerProcess, startServer } from "./server_process.ts";

/** A rule of the access file, without its subjects. */
export interface Rule {
  namespaces: string[];
  resources?: string[];
  resourceNames?: string[];
  verbs?: string[];
  apiGroups?: string[];
}

export interface Answer {
  status: number;
  text: string;
  // deno-lint-ignore no-explicit-any -- whatever the server says
  json: any;
}

export interface Tenants {
  server: ServerProcess;
  /** Folder of the server, with its store and its artifacts. */
  dir: string;
  /** Sends a caller's request; a body that is an object is sent as JSON. */
  call(who: string, method: string, path: string, body?: unknown): Promise<Answer>;
  /** The workflow once it has ended. */
  ended(who: string, namespace: string, name: string): Promise<Answer["json"]>;
  stop(): Promise<void>;
}

/** Starts it. @param callers rules by the name of their caller */
export async function startTenants(
  callers: Record<string, Rule[]>,
  flags: string[] = [],
): Promise<Tenants> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-tenants-"));
  const made = Object.keys(callers).map((name) => ({ name, ...createToken(name, []) }));
  const rules = Object.entries(callers).flatMap(([name, own]) =>
    own.map((rule) => ({
      subjects: [name],
      apiGroups: ["*"],
      resources: ["*"],
      verbs: ["*"],
      ...rule,
    }))
  );
  await writeFile(
    join(dir, "tokens.yaml"),
    stringify({ tokens: made.map(({ entry }) => entry) }),
  );
  await writeFile(join(dir, "access.yaml"), stringify({ rules }));
  const server = await startServer([
    `--store=sqlite:${dir}`,
    "--auth-mode=client",
    `--token-file=${join(dir, "tokens.yaml")}`,
    `--access-file=${join(dir, "access.yaml")}`,
    ...flags,
  ]);
  const call: Tenants["call"] = async (who, method, path, body) => {
    const token = made.find(({ name }) => name === who)?.token ?? "";
    const isForm = body instanceof FormData;
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, text, json };
  };
  return {
    server,
    dir,
    call,
    async ended(who, namespace, name) {
      for (let tries = 0; tries < 600; tries++) {
        const { json } = await call(who, "GET", `/api/v1/workflows/${namespace}/${name}`);
        if ((json?.status?.finishedAt ?? null) !== null) return json;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`workflow ${namespace}/${name} does not end`);
    },
    async stop() {
      await server.stop();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
