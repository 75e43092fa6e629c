/** A job server that knows nothing but the callback URLs that it is sent, and what a test needs to use them. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** What a trigger sends. */
export interface Job {
  resume: string;
  stop: string;
}

export interface JobServer {
  url: string;
  /** All so far. */
  jobs: Job[];
  stop(): void;
}

/** Starts a job server. `onJob` runs before the trigger has its answer. */
export async function startJobServer(
  onJob: (job: Job) => unknown = () => {},
): Promise<JobServer> {
  const jobs: Job[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const job = JSON.parse(Buffer.concat(chunks).toString()) as Job;
      await onJob(job);
      jobs.push(job);
      // As a careless server does, it repeats what it was sent.
      response.end(JSON.stringify(job));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    jobs,
    stop: () => (server.closeAllConnections(), server.close()),
  };
}

/** Uses a URL. */
export async function send(
  url: string,
  body: unknown,
): Promise<{ status: number; body: { message?: string } }> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() as { message?: string } };
}
