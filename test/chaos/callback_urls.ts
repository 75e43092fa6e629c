/**
 * Jobs that know nothing but a callback URL: they use it before their step waits, several times, with different results, while
 * servers are killed. One use wins, and every job is told the truth.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { call } from "../support/event_ledger.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis } from "./arena.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const WORKFLOWS = "/api/v1/workflows/default";
/** How long a job goes on asking after the last server was killed, ms. */
const PATIENCE_MS = 60_000;

interface Job {
  name: string;
  resume: string;
  stop: string;
  heartbeat: string;
}

/** One use of a URL and the last answer to it. */
interface Use {
  job: string;
  what: "a" | "b" | "stop" | "heartbeat";
  status: number;
}

const WAIT = {
  name: "wait",
  timeout: "10m",
  suspend: { callback: { expires: "1h" } },
  outputs: { parameters: [{ name: "model", valueFrom: { supplied: {} } }] },
};

function workflowOf(name: string, jobs: string) {
  const forms = ["resume", "stop", "heartbeat"];
  const body = Object.fromEntries(forms.map((form) => [form, `{{inputs.parameters.${form}}}`]));
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
              arguments: {
                parameters: forms.map((form) => ({
                  name: form,
                  value: `{{steps.wait.callback.${form}}}`,
                })),
              },
            }],
            [{ name: "wait", template: "wait" }],
          ],
        },
        {
          name: "trigger",
          inputs: { parameters: forms.map((name) => ({ name })) },
          http: { url: jobs, method: "POST", body: JSON.stringify({ name, ...body }) },
        },
        WAIT,
      ],
    },
  };
}

/** Uses a URL until there is an answer. A balancer in front of the servers takes it to one that is up. */
async function use(arena: Arena, url: string, body: object): Promise<number> {
  const { pathname } = new URL(url);
  for (const endsAt = performance.now() + PATIENCE_MS; performance.now() < endsAt;) {
    try {
      const { status } = await call(arena.blindUrl(), "POST", pathname, body);
      if (status !== 503 && status !== 504) return status;
    } catch {
      // The server was killed.
    }
    await wait(100);
  }
  return 0;
}

async function callbackUrls(run: ChaosRun, arena: Arena): Promise<Outcome> {
  const uses: Use[] = [];
  const asking: Promise<unknown>[] = [];
  const seen = new Set<string>();
  const send = async (job: Job, what: Use["what"]) => {
    const url = what === "stop" || what === "heartbeat" ? job[what] : job.resume;
    const body = what === "stop"
      ? { message: "no" }
      : what === "heartbeat"
      ? {}
      : { outputs: { model: what } };
    uses.push({ job: job.name, what, status: await use(arena, url, body) });
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const job = JSON.parse(Buffer.concat(chunks).toString()) as Job;
      // A trigger that is sent again by the next owner starts no second job.
      if (!seen.has(job.name)) {
        seen.add(job.name);
        const sent = ["a", "a", "heartbeat", "b", "stop"] as const;
        const chosen = sent.filter((what) => what === "a" || run.random() < 0.5)
          .map((what) => ({ what, at: run.random() }))
          .sort((one, other) => one.at - other.at);
        const isEarly = run.random() < 0.4;
        const going = (async () => {
          if (!isEarly) await wait(run.random() * 1_500);
          await Promise.all(chosen.map(({ what }) => send(job, what)));
        })();
        asking.push(going);
        if (isEarly) await Promise.race([going, wait(2_000)]);
      }
      response.end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  run.onEnd(() => (server.closeAllConnections(), server.close()));
  const jobs = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const names: string[] = [];
  const endsAt = performance.now() + run.seconds * 1_000;
  const creating = (async () => {
    while (performance.now() < endsAt) {
      const name = `job-${names.length}`;
      names.push(name);
      for (;;) {
        const answer = await call(arena.blindUrl(), "POST", WORKFLOWS, {
          workflow: workflowOf(name, jobs),
        }).catch(() => undefined);
        if (answer?.status === 200 || answer?.status === 409) break;
        await wait(50);
      }
      await wait(run.isShort ? 60 : 30);
    }
  })();
  let kills = 0;
  while (performance.now() < endsAt) {
    await wait(800 + run.random() * 1_200);
    const victim = kills++ % arena.size;
    await arena.kill(victim);
    if (arena.size > 1) await wait(run.random() * 1_500);
    await arena.restart(victim);
  }
  await creating;
  const violations: string[] = [];
  const wins: Record<string, number> = {};
  for (const name of names) {
    const { phase, model } = await ended(arena, name);
    const winner = phase === "Failed" ? "stop" : model;
    wins[winner] = (wins[winner] ?? 0) + 1;
    if (phase !== "Succeeded" && phase !== "Failed") violations.push(`${name} is ${phase}`);
  }
  await Promise.all(asking);
  for (const name of names) {
    const { phase, model } = await ended(arena, name);
    const winner = phase === "Failed" ? "stop" : model;
    for (const { what, status } of uses.filter(({ job }) => job === name)) {
      const expected = what === winner
        ? [200]
        : what === "heartbeat"
        ? [200, 409, 410]
        : [409, 410];
      if (!expected.includes(status)) {
        violations.push(`${name}: ${what} got ${status}, but ${winner} is in force`);
      }
    }
  }
  return {
    violations,
    alive: { done: uses.length, wanted: names.length },
    figures: { workflows: names.length, uses: uses.length, kills, ...wins },
  };
}

/** How a workflow ended, and the output of its step. */
async function ended(arena: Arena, name: string): Promise<{ phase: string; model: string }> {
  let phase = "";
  let model = "";
  for (const endsAt = performance.now() + PATIENCE_MS; performance.now() < endsAt;) {
    const { body } = await call(arena.anyUrl(), "GET", `${WORKFLOWS}/${name}`)
      .catch(() => ({ body: {} as Record<string, unknown> }));
    const status = body["status"] as {
      phase?: string;
      nodes?: Record<string, {
        displayName: string;
        outputs?: { parameters?: { value?: string }[] };
      }>;
    } | undefined;
    phase = String(status?.phase);
    const node = Object.values(status?.nodes ?? {}).find((one) => one.displayName === "wait");
    model = node?.outputs?.parameters?.[0]?.value ?? "";
    if (phase === "Succeeded" || phase === "Failed" || phase === "Error") break;
    await wait(100);
  }
  return { phase, model };
}

export const CALLBACK_URL_SCENARIOS: readonly Scenario[] = [
  {
    name: "F13-callback-urls",
    about:
      "jobs use their URLs early, twice, with different results, two replicas killed in turn: one use wins, everybody is told the truth",
    seconds: 60,
    short: 6,
    isTimed: false,
    run: async (run) => {
      const redis = await arenaRedis(run, ALWAYS);
      return await callbackUrls(run, await Arena.start(run, redis.url, 2));
    },
  },
  {
    name: "F13-callback-urls-sqlite",
    about: "the same on one server with SQLite, killed and started again",
    seconds: 60,
    run: async (run) => {
      const folder = await arenaFolder(run);
      return await callbackUrls(run, await Arena.start(run, `sqlite:${folder}`, 1));
    },
  },
];
