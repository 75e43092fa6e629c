/**
 * The baseline of the load tests: the same Hono server, which does one `XADD` per POST and nothing else. Whatever
 * Sluice needs beyond that is the price of its features.
 *
 * Run: deno run -A bench/baseline/server.ts PORT REDIS_URL
 */
import process from "node:process";
import { Hono } from "hono";
import { createClient } from "redis";
import { serve } from "../../src/platform/serve.ts";

const [port = "2800", url = "redis://127.0.0.1:6379"] = process.argv.slice(2);
const redis = createClient({ url });
await redis.connect();

const app = new Hono();
app.get("/healthz", (c) => c.text("ok"));
app.post("/api/v1/events/:namespace/:discriminator", async (c) => {
  await redis.xAdd("baseline", "*", { body: await c.req.text() }, {
    TRIM: { strategy: "MAXLEN", strategyModifier: "~", threshold: 100_000 },
  });
  return c.json({});
});
await serve((request) => app.fetch(request), "127.0.0.1", Number(port));
