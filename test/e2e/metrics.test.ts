/**
 * What operators see: two replicas on Redis, one of which is killed. One replica counts for all; a take-over is measured; a
 * real Prometheus reads all of it and takes the alerts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parse } from "yaml";
import { call } from "../support/event_ledger.ts";
import { freePort } from "../support/free_port.ts";
import { promtoolMissing, unparseable } from "../support/promtool.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { startServer } from "../support/server_process.ts";

const SHARDS = 8;
const LEASE_MS = 1_000;
/** Longest until a replica notices that it is the one to count, and has counted. */
const CENSUS = { timeout: 25_000, interval: 250 };
const WORKFLOWS = "/api/v1/workflows/default";
/** Of servers that run pods, have several processes, or an archive. */
const OF_OTHERS = /sluice_(pod|orphan_pods|process|archive)/;

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

/** Series → value. */
async function figures(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return new Map(
    [...text.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm)].map(([, series = "", value]) => [
      series,
      Number(value),
    ]),
  );
}

test("one replica counts for all, and another goes on when it is killed", async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const flags = [`--store=${redis.url}`, `--shards=${SHARDS}`, `--lease-ttl=${LEASE_MS}ms`];
  const servers = await Promise.all([startServer(flags), startServer(flags)]);
  for (const { kill } of servers) cleanUp.push(kill);
  const [{ url }] = servers;

  const suspend = (name: string, template: object) =>
    call(url, "POST", WORKFLOWS, {
      workflow: {
        metadata: { name },
        spec: { entrypoint: "main", templates: [{ name: "main", ...template }] },
      },
    });
  expect((await suspend("waits", { suspend: { callback: {} } })).status).toBe(200);
  expect((await suspend("ends", { suspend: { duration: "0s" } })).status).toBe(200);
  const tokenOf = async (name: string) => {
    const { body } = await call(url, "POST", `${WORKFLOWS}/${name}/callbacks`, {
      nodeFieldSelector: `displayName=${name}`,
    });
    return (body as { items?: { token: string }[] }).items?.[0]?.token ?? "";
  };
  const token = await tokenOf("waits");
  const use = async (text: string, verb = "resume", body = "") =>
    (await fetch(`${url}/callback/${verb}/${text}`, { method: "POST", body })).status;
  expect(await use(token, "heartbeat")).toBe(200);
  expect(await use("cb1.00000000.e30.x")).toBe(404);
  expect(await use(token, "resume", '{"outputs":{"none":"x"}}')).toBe(400);
  expect((await suspend("called", { suspend: { callback: {} } })).status).toBe(200);
  const other = await tokenOf("called");
  const answers = [await use(other), await use(other), await use(other, "stop")];
  expect(answers).toEqual([200, 200, 410]);
  const counted = await figures(url);
  const uses = (verb: string, result: string) =>
    counted.get(`sluice_callback_uses_total{verb="${verb}",result="${result}"}`);
  expect([
    uses("heartbeat", "accepted"),
    uses("resume", "unknown"),
    uses("resume", "invalid"),
    uses("resume", "accepted"),
    uses("resume", "repeated"),
    uses("stop", "over"),
  ]).toEqual([1, 1, 1, 1, 1, 1]);

  const whoCounts = async () => {
    const pages = await Promise.all(servers.map((server) => figures(server.url)));
    return pages.flatMap((page, index) =>
      page.get('sluice_workflows{phase="Running"}') === 1 &&
        page.get('sluice_workflows{phase="Succeeded"}') === 2 &&
        page.get('sluice_workflows_waiting{age="0-1m"}') === 1
        ? [index]
        : page.has('sluice_workflows{phase="Running"}')
        ? [-1]
        : []
    );
  };
  await expect.poll(whoCounts, CENSUS).toHaveLength(1);
  await expect.poll(async () => (await whoCounts())[0], CENSUS).not.toBe(-1);
  const [counting = 0] = await whoCounts();
  const lost = servers[counting] ?? servers[0];
  const left = servers[1 - counting] ?? servers[0];
  const before = await figures(left.url);
  expect(before.get("sluice_shards")).toBe(SHARDS);
  expect(before.get('sluice_shard_take_over_seconds_count{former="expired"}')).toBe(0);
  const moved = SHARDS - (before.get("sluice_shards_owned") ?? 0);
  expect(moved).toBeGreaterThan(0);

  await lost.kill();
  await expect.poll(async () => (await figures(left.url)).get("sluice_shards_owned"), CENSUS)
    .toBe(SHARDS);
  const after = await figures(left.url);
  expect(after.get('sluice_shard_take_over_seconds_count{former="expired"}')).toBe(moved);
  const seconds = after.get('sluice_shard_take_over_seconds_sum{former="expired"}') ?? 0;
  expect(seconds / moved).toBeGreaterThan(LEASE_MS / 1_000);
  expect(seconds / moved).toBeLessThan(20);
  await expect.poll(
    async () => {
      const page = await figures(left.url);
      const of = (name: string) => page.get(name);
      return [
        of('sluice_workflows{phase="Running"}'),
        of("sluice_event_queue_depth"),
        of("sluice_event_queue_bound"),
        (of("sluice_oldest_wait_seconds") ?? 0) > 1,
      ];
    },
    CENSUS,
  ).toEqual([1, 0, 64, true]);
}, 90_000);

const missing = promtoolMissing();

test.skipIf(missing !== undefined)(
  `Prometheus scrapes a server and evaluates all alerts${
    missing === undefined ? "" : `: ${missing}`
  }`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-prometheus-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    const server = await startServer(["--store=memory:"]);
    cleanUp.push(() => server.kill());
    await fetch(`${server.url}/api/v1/events/default/x`, { method: "POST", body: "{}" });
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(unparseable(page)).toBe("");

    const rules = resolve("helm/sluice/files/rules.yaml");
    const declared = new Set([...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));
    const named = [
      readFileSync(rules, "utf8"),
      readFileSync("helm/sluice/files/dashboard.json", "utf8"),
    ].join().matchAll(/\bsluice_[a-z0-9_]+/g);
    const unknown = [...named].map(([name]) => name.replace(/_(bucket|sum|count)$/, ""))
      .filter((name) => !declared.has(name) && !OF_OTHERS.test(name));
    expect(unknown).toEqual([]);

    const port = await freePort();
    const config = join(folder, "prometheus.yml");
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: "1s", evaluation_interval: "1s" },
        rule_files: [rules],
        scrape_configs: [{
          job_name: "sluice",
          static_configs: [{
            targets: [server.url.replace("http://", "")],
            labels: { namespace: "n" },
          }],
        }],
      }),
    );
    const prometheus = spawn("prometheus", [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ], { stdio: "ignore" });
    cleanUp.push(() => ended(prometheus));
    const ask = async <T>(path: string): Promise<T | undefined> => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined);
      return answer?.ok ? (await answer.json() as { data: T }).data : undefined;
    };
    const valueOf = async (query: string) => {
      const found = await ask<{ result: { value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(query)}`,
      );
      return found?.result.map(({ value }) => Number(value[1]));
    };
    const poll = { timeout: 30_000, interval: 250 };
    await expect.poll(() => valueOf('up{job="sluice"}'), poll).toEqual([1]);
    await expect.poll(() => valueOf("sum(sluice_shards_owned) == max(sluice_shards)"), poll)
      .toEqual([64]);
    await expect.poll(() => valueOf('sluice_workflows{phase="Error"}'), poll).toEqual([0]);
    type Rule = { name: string; health: string; state: string };
    const evaluated = async () =>
      (await ask<{ groups: { rules: Rule[] }[] }>("rules"))?.groups.flatMap(({ rules }) => rules);
    const { groups: [{ rules: given }] } = parse(readFileSync(rules, "utf8")) as {
      groups: [{ rules: unknown[] }];
    };
    await expect.poll(
      async () => (await evaluated())?.filter(({ health }) => health === "ok").length,
      poll,
    )
      .toBe(given.length);
    // None has reason to be raised.
    expect((await evaluated())?.filter(({ state }) => state === "firing")).toEqual([]);
  },
  90_000,
);

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await exit;
}
