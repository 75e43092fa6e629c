/** What callers hear while the cluster that knows their tokens does not answer, or lets the server ask nothing. */
import { createServer, type Server } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../support/server_process.ts";

const REVIEWS = ["tokenreviews", "subjectaccessreviews"] as const;
type Review = (typeof REVIEWS)[number];

let api: Server;
let folder: string;
let server: ServerProcess;
/** What the API server does with each kind of review. */
let does: Record<Review, "answers" | "refuses" | "hangs">;

const ANSWERS: Record<Review, object> = {
  tokenreviews: { authenticated: true, user: { username: "someone" } },
  subjectaccessreviews: { allowed: true },
};

beforeAll(async () => {
  api = createServer((request, response) => {
    const review = REVIEWS.find((one) => request.url?.endsWith(`/${one}`));
    const how = review === undefined ? "answers" : does[review];
    request.resume();
    if (how === "hangs") return;
    response.writeHead(how === "refuses" ? 403 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(
      how === "refuses"
        ? { kind: "Status", reason: "Forbidden", message: `${review} is forbidden` }
        : review === undefined
        ? { metadata: { resourceVersion: "1" }, items: [] }
        : { status: ANSWERS[review] },
    ));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  const address = api.address();
  const port = typeof address === "object" ? address?.port : undefined;
  folder = await mkdtemp(join(tmpdir(), "sluice-reviews-"));
  const config = join(folder, "config");
  await writeFile(
    config,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  server = await startServer([
    "--store=memory:",
    "--executor=kubernetes",
    "--auth-mode=client",
    "--callback-url=http://127.0.0.1:1",
  ], { env: { KUBECONFIG: config } });
});
afterAll(async () => {
  await server?.kill();
  api?.close();
  api?.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});

/** Sends an event with a token that was not seen before. */
async function send(): Promise<{ status: number; message: string; seconds: number }> {
  const begun = performance.now();
  const response = await fetch(`${server.url}/api/v1/events/default/`, {
    method: "POST",
    headers: { authorization: `Bearer ${crypto.randomUUID()}` },
    body: "{}",
  });
  const { message = "" } = await response.json() as { message?: string };
  return { status: response.status, message, seconds: (performance.now() - begun) / 1000 };
}

test.each(REVIEWS)("a server that may not create %s says so", async (review) => {
  does = { tokenreviews: "answers", subjectaccessreviews: "answers" };
  expect((await send()).status).toBe(200);
  does[review] = "refuses";
  expect(await send()).toMatchObject({
    status: 503,
    message:
      `This server can't ask the cluster who may do what: its service account lacks the right to create ${review}`,
  });
});

test("an event is answered within ten seconds, however long the cluster takes", async () => {
  for (const review of REVIEWS) {
    does = { tokenreviews: "answers", subjectaccessreviews: "answers", [review]: "hangs" };
    const { status, message, seconds } = await send();
    expect(status).toBe(503);
    expect(message).toMatch(/^The cluster can't tell who may do what now: /);
    expect(seconds).toBeLessThan(5.5);
  }
}, 30_000);
