/**
 * What servers say and store while jobs use callback URLs: nothing of it holds a token. Everything is read: each route that can be
 * got, each stream, the log with all its levels, the answers to wrong uses, and the bytes of the store.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.ts";
import type { Workflow } from "../../src/spec/manifest.ts";
import { type Job, send, startJobServer } from "../support/callback_jobs.ts";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { startServer } from "../support/server_process.ts";

const WORKFLOWS = "/api/v1/workflows/default";
const PATIENCE = { timeout: 30_000, interval: 50 };
/** Nothing listens there. */
const NOBODY = "http://127.0.0.1:1";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "sluice-leaks-"));
  cleanUp.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A store: its address, and the folder with its bytes. */
const STORES: Record<string, () => Promise<{ store: string; bytes: string }>> = {
  // deno-lint-ignore require-await -- as the other
  async SQLite() {
    const path = folder();
    return { store: `sqlite:${path}`, bytes: path };
  },
  async Redis() {
    // Every command is in its file as it came.
    const redis = await startRedisServer(["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]);
    cleanUp.push(() => redis.stop());
    return { store: redis.url, bytes: redis.folder };
  },
};

const inputs = { parameters: [{ name: "resume" }, { name: "stop" }] };
const body = '{"resume": "{{inputs.parameters.resume}}", "stop": "{{inputs.parameters.stop}}"}';

/** A trigger that fits, and those that fail in ways that tell about their request. */
const triggers = (jobs: string) => ({
  fine: { http: { url: `${jobs}/jobs`, method: "POST", body } },
  unreachable: { http: { url: `${NOBODY}/?to={{inputs.parameters.resume}}` } },
  refused: {
    http: {
      url: `${jobs}/jobs`,
      method: "POST",
      body,
      successCondition: "response.body == request.body + 'x'",
    },
  },
  wrong: { http: { url: "{{inputs.parameters.stop}}", method: "PUT" } },
  command: {
    container: {
      image: "any",
      command: ["sh", "-c"],
      args: ["exit 3", "{{inputs.parameters.resume}}"],
    },
  },
  missing: { container: { image: "any", command: ["/none/{{inputs.parameters.resume}}"] } },
  echo: {
    script: {
      image: "any",
      command: ["sh"],
      // As its result, and as a file that becomes an output. Nothing goes to its log as it is.
      source: "printf '%s' '{{inputs.parameters.resume}}' > $PWD/out",
    },
    outputs: { parameters: [{ name: "o", valueFrom: { path: "out", default: "" } }] },
  },
});

function workflowOf(name: string, trigger: object): Workflow {
  const value = (form: string) => `{{=steps["wait"].callback.${form}}}`;
  return {
    metadata: { name },
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [
            [{
              name: "trigger",
              template: "trigger",
              continueOn: { failed: true, error: true },
              arguments: {
                parameters: ["resume", "stop"].map((form) => ({ name: form, value: value(form) })),
              },
            }],
            [{ name: "wait", template: "wait" }],
            [{
              name: "after",
              template: "after",
              arguments: {
                parameters: [{ name: "said", value: "{{steps.wait.outputs.parameters.model}}" }],
              },
            }],
          ],
        },
        { name: "trigger", inputs, ...trigger },
        {
          name: "wait",
          suspend: { callback: {} },
          outputs: { parameters: [{ name: "model", valueFrom: { supplied: {} } }] },
        },
        { name: "after", inputs: { parameters: [{ name: "said" }] }, suspend: { duration: "0" } },
      ],
    },
  } as Workflow;
}

/** Reads a stream into a list until it is told to stop. */
async function follow(url: string, into: string[], signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(url, { signal });
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      into.push(new TextDecoder().decode(chunk));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Paths of all declared routes that read, for one workflow. */
function readPaths(kind: "stream" | "other", facts: Record<string, string>): string[] {
  return ROUTES.filter((route) =>
    route.method === "GET" && (route.kind === "stream") === (kind === "stream")
  )
    .map(({ path }) =>
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(facts[name] ?? "x"))
    );
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesOf(join(path, name)));
}

describe.each(Object.entries(STORES))("with %s", (_, open) => {
  test("nothing that is said or stored has a token", async () => {
    const lines: string[] = [];
    const said: string[] = [];
    const { store, bytes } = await open();
    const jobs = await startJobServer();
    cleanUp.push(() => jobs.stop());
    const server = await startServer([
      `--store=${store}`,
      `--work-dir=${folder()}`,
      "--log-level=trace",
      "--archive-deleted",
    ], { onLine: (line) => lines.push(line) });
    cleanUp.push(() => server.kill());
    const { url } = server;
    const abort = new AbortController();
    const following = readPaths("stream", { namespace: "default" })
      .map((path) => follow(url + path, said, abort.signal));

    const tell = async (
      ...request: Parameters<typeof call> extends [string, ...infer R] ? R : never
    ) => {
      const answer = await call(url, ...request);
      said.push(JSON.stringify(answer.body));
      return answer;
    };
    const made: { name: string; job: Job; uid: string }[] = [];
    for (const [name, trigger] of Object.entries(triggers(jobs.url))) {
      const workflow = workflowOf(name, trigger);
      const { status, body } = await tell("POST", WORKFLOWS, { workflow });
      expect(status, JSON.stringify(body)).toBe(200);
      const waits = async () => {
        const { body } = await tell("GET", `${WORKFLOWS}/${name}`);
        const { nodes = {} } = (body as unknown as Workflow).status ?? {};
        return Object.values(nodes).find(({ displayName }) => displayName === "wait")?.phase;
      };
      await expect.poll(waits, PATIENCE).toBe("Running");
      // What the job of a trigger that failed would have got.
      const byHand = await call(url, "POST", `${WORKFLOWS}/${name}/callbacks`, {
        nodeFieldSelector: "displayName=wait",
      });
      const [item] = byHand.body["items"] as Job[];
      const uid = (body["metadata"] as { uid: string }).uid;
      made.push({ name, uid, job: (name === "fine" ? jobs.jobs.at(-1) : item) as Job });
    }
    expect(jobs.jobs.length).toBeGreaterThanOrEqual(2);
    for (const { name, job } of made) {
      const use = async (to: string, body: unknown) => {
        const answer = await send(to, body);
        said.push(JSON.stringify(answer.body));
        return answer.status;
      };
      expect(await use(job.resume, { outputs: { nodel: job.resume } })).toBe(400);
      expect(await use(job.resume.replace("/resume/", "/stop/"), {})).toBe(404);
      // A job that says whom it has called.
      expect(await use(job.resume, { outputs: { model: `told ${job.resume}` } })).toBe(200);
      const phase = async () =>
        ((await tell("GET", `${WORKFLOWS}/${name}`)).body as unknown as Workflow).status?.phase;
      await expect.poll(phase, PATIENCE).toBe("Succeeded");
      expect(await use(job.stop, { message: job.stop })).toBe(410);
      const path = `${url}/callback/resume/${job.stop.split("/").at(-1)}`;
      said.push(await (await fetch(path)).text());
    }
    const [first] = made;
    for (const { name, uid } of made) {
      const { body } = await tell("GET", `${WORKFLOWS}/${name}`);
      const { nodes = {} } = (body as unknown as Workflow).status ?? {};
      const podName = Object.values(nodes).find((node) => node.displayName === "trigger")?.id ?? "";
      const facts = { namespace: "default", name, uid, podName };
      for (const path of readPaths("other", facts)) {
        said.push(await (await fetch(url + path)).text());
      }
      for (const path of readPaths("stream", facts).filter((one) => one.startsWith(WORKFLOWS))) {
        const signal = AbortSignal.timeout(2_000);
        await follow(`${url}${path}?logOptions.container=main`, said, signal);
      }
    }
    said.push(await (await fetch(`${url}/metrics`)).text());
    await tell("POST", "/api/v1/doctor", {});
    await tell("PUT", `${WORKFLOWS}/${first?.name}/resubmit`, {
      namespace: "default",
      name: first?.name,
    });
    await expect.poll(() => jobs.jobs.length, PATIENCE).toBeGreaterThanOrEqual(3);
    for (const { name, uid } of made) {
      await tell("DELETE", `${WORKFLOWS}/${name}`);
      await tell("GET", `/api/v1/archived-workflows/${uid}`);
    }
    abort.abort();
    await Promise.all(following);
    await server.stop();

    const tokens = [...jobs.jobs, ...made.map(({ job }) => job)]
      .flatMap(({ resume, stop }) => [resume, stop]).map((text) => text.split("/").at(-1) ?? "");
    const secrets = new Set(tokens.flatMap((token) => token.split(".").slice(2)));
    const heard = { answers: said.join("\n"), log: lines.join("\n") };
    // What a process is started with lies in its own folder, as it must.
    const files = filesOf(bytes).filter((path) => !path.startsWith(join(bytes, "tasks")));
    const stored = files.map((path) => `${path} ${readFileSync(path, "latin1")}`)
      .join("\n");
    // What is searched has what it should have.
    const found = {
      masked: heard.answers.includes("callback:masked"),
      outputs: heard.answers.includes("told http"),
      mark: heard.answers.includes("callback:resume("),
      use: heard.log.includes("CallbackService_Resume"),
      stored: stored.includes("callback:resume("),
    };
    expect(found).toEqual({ masked: true, outputs: true, mark: true, use: true, stored: true });
    for (const secret of secrets) {
      for (const [where, text] of Object.entries({ ...heard, stored })) {
        const at = text.indexOf(secret);
        expect(at < 0 ? "" : `${where}: ${text.slice(Math.max(0, at - 500), at + 50)}`).toBe("");
      }
    }
  });
});
