// A stand-in for whatever runs your long jobs: POST /jobs starts one and answers its id, GET /jobs lists them.
// Run: npx -y deno@2.9.6 run -A examples/job_server.mjs
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import process from "node:process";

const port = Number(process.env.JOB_PORT ?? 8099);
const jobs = [];

createServer((request, response) => {
  if (request.url !== "/jobs") {
    response.writeHead(404).end("only /jobs is here\n");
  } else if (request.method === "POST") {
    const id = randomUUID();
    jobs.push({ id, startedAt: new Date().toISOString() });
    console.log(`job ${jobs.length} started: ${id}`);
    response.end(id);
  } else {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(jobs));
  }
}).listen(port, "127.0.0.1", () => console.log(`job server on http://127.0.0.1:${port}/jobs`));
