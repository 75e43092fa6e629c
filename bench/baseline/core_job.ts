/**
 * The floor of the core job: the same runtime and libraries do its I/O and nothing else. Two requests, three commits by a
 * script, one HTTP step, answers with the nodes; no engine, no fencing, no validation. What Sluice needs beyond that is the
 * price of its features.
 *
 * Run: deno run -A bench/baseline/core_job.ts PORT REDIS_URL STEP_PORT
 */
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import process from "node:process";
import { Hono } from "hono";
import { createClient } from "redis";
import { serve } from "../../src/platform/serve.ts";

const [port = "2800", url = "redis://127.0.0.1:6379", stepPort = "2801"] = process.argv.slice(2);
const redis = createClient({ url });
await redis.connect();
const script = await redis.scriptLoad(`
local version = redis.call('INCR', KEYS[1] .. ':v')
redis.call('HSET', KEYS[1] .. ':' .. ARGV[1], 'h', ARGV[2], 'n', ARGV[3], 'v', version)
redis.call('ZADD', KEYS[1] .. ':index:' .. ARGV[4], version, ARGV[1])
redis.call('XADD', KEYS[1] .. ':feed', 'MAXLEN', '~', 10000, '*', 'a', ARGV[1], 'c', ARGV[2])
return version`);

interface Job {
  header: { metadata: { name: string }; spec: { uuid: string }; phase: string };
  nodes: Record<string, unknown>[];
  waits: boolean;
}

const jobs = new Map<string, Job>();

function commit({ header, nodes }: Job): Promise<unknown> {
  const texts = [JSON.stringify(header), JSON.stringify(nodes)];
  const args = [header.metadata.name, ...texts, header.phase];
  return redis.evalSha(script, { keys: ["{s}"], arguments: args });
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function step(name: string): Promise<string> {
  const target = { host: "127.0.0.1", port: stepPort, method: "POST", path: `/${name}`, agent };
  return new Promise((done, fail) => {
    const call = request(target, (answer) => {
      let body = "";
      answer.on("data", (part) => body += part);
      answer.on("end", () => done(body));
    });
    call.on("error", fail);
    call.end("{}");
  });
}

async function runStep(job: Job): Promise<void> {
  const { metadata: { name }, spec: { uuid } } = job.header;
  const result = await step(name);
  Object.assign(job.nodes[2] ?? {}, { phase: "Succeeded", result });
  Object.assign(job.nodes[1] ?? {}, { phase: "Succeeded" });
  job.nodes.push(
    { id: `${name}-2`, type: "StepGroup", phase: "Running" },
    {
      ...{ id: `${name}-3`, type: "Suspend", phase: "Running" },
      inputs: { parameters: [{ name: "uuid", value: uuid }] },
    },
  );
  await commit(job);
  job.waits = true;
}

const app = new Hono();
app.get("/readyz", (c) => c.json({}));
app.post("/api/v1/workflow-templates/:namespace", (c) => c.json({}));
app.post("/api/v1/workflows/:namespace/submit", async (c) => {
  const { submitOptions: { name, parameters } } = await c.req.json();
  const labels = { phase: "Running", completed: "false" };
  const metadata = { name, namespace: "core", uid: randomUUID(), labels };
  const job: Job = {
    header: { metadata, spec: { uuid: parameters[0].slice(5) }, phase: "Running" },
    nodes: [
      { id: name, type: "Steps", phase: "Running" },
      { id: `${name}-0`, type: "StepGroup", phase: "Running" },
      { id: `${name}-1`, type: "HTTP", phase: "Pending", template: "trigger" },
    ],
    waits: false,
  };
  jobs.set(name, job);
  await commit(job);
  void runStep(job);
  return c.json({ metadata, status: { phase: "Running", nodes: job.nodes } });
});
app.get("/api/v1/workflows/:namespace/:name", (c) => {
  const isWaiting = jobs.get(c.req.param("name"))?.waits === true;
  return c.json({ status: { progress: isWaiting ? "1/2" : "0/2" } });
});
app.put("/api/v1/workflows/:namespace/:name/resume", async (c) => {
  const { nodeFieldSelector } = await c.req.json();
  const name = c.req.param("name");
  const job = jobs.get(name);
  if (!job?.waits || !nodeFieldSelector.endsWith(job.header.spec.uuid)) {
    return c.json({ message: "not waiting" }, 400);
  }
  for (const node of job.nodes) node["phase"] = "Succeeded";
  job.header.phase = "Succeeded";
  await commit(job);
  jobs.delete(name);
  const { metadata } = job.header;
  return c.json({ metadata, status: { phase: "Succeeded", nodes: job.nodes } });
});
await serve((call) => app.fetch(call), "127.0.0.1", Number(port));
