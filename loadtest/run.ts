// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task loadtest [NAME…] [--replicas N] [--fsync everysec|always] [--rounds N] [k6 flags]` (`-e DURATION=30s`, `-e
 * VUS=64`, `-e RATE=1000`, `-e P99=200` set variables of the scripts): starts Redis, the replicas and the baseline,
 * runs the named load tests (default: all) alternating with the baseline, prints a table and writes
 * `loadtest/results/<time>.json` and `.svg`. Every figure is the median of the rounds; ratios are within one run. k6 is
 * taken from PATH, or built once with `go install`.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../test/support/free_port.ts";
import { quantile } from "../test/support/quantile.ts";
import { startFlags } from "../test/support/start_flags.ts";

const K6_MODULE = "go.k6.io/k6@v1.3.0";

interface Test {
  script: string;
  env: Record<string, string>;
  /** Also run against the baseline, alternating. */
  baseline?: boolean;
  /** Flags of the server in addition to the shared ones. */
  server?: string[];
  /** @default the number that the command line asks for */
  replicas?: number;
}

const WIDE_QUEUE = ["--event-operation-queue-size", "100000"];

/** Load tests by name; the scripts hold thresholds and ledger. */
const TESTS: Record<string, Test> = {
  "events": { script: "events.ts", env: {}, baseline: true, server: WIDE_QUEUE },
  "events-rate": { script: "events.ts", env: { MODE: "rate", RATE: "500" }, server: WIDE_QUEUE },
  "events-edge": { script: "events.ts", env: { MODE: "edge" } },
  "events-binding": { script: "events.ts", env: { BINDING: "1" }, server: WIDE_QUEUE },
  "events-binding-rate": {
    script: "events.ts",
    env: { BINDING: "1", MODE: "rate", RATE: "500" },
    server: WIDE_QUEUE,
  },
  "events-binding-edge": { script: "events.ts", env: { BINDING: "1", MODE: "edge" } },
  "events-three": {
    script: "events.ts",
    env: {},
    baseline: true,
    server: WIDE_QUEUE,
    replicas: 3,
  },
  "events-binding-three": {
    script: "events.ts",
    env: { BINDING: "1" },
    server: WIDE_QUEUE,
    replicas: 3,
  },
  "submit": { script: "workflows.ts", env: { VERB: "submit" } },
  "get": { script: "workflows.ts", env: { VERB: "get" } },
  "list": { script: "workflows.ts", env: { VERB: "list" } },
  "resume": { script: "workflows.ts", env: { VERB: "resume" } },
};

interface Figures {
  perSecond: number;
  p50: number;
  p99: number;
  accepted: number;
  refused: number;
  wrong: number;
  /** Workflows that exist in the end, if the script counts them. */
  made?: number;
  /** Workflows that existed when the load ended, divided by its length. */
  madePerSecond?: number;
  /** Thresholds of the script that were crossed. */
  crossed: string[];
}

interface Row extends Figures {
  test: string;
  replicas: number;
  fsync: string;
  ratio?: number;
  baselineP99?: number;
}

function k6Command(): string {
  if (spawnSync("k6", ["version"]).status === 0) return "k6";
  const bin = join(tmpdir(), "sluice-k6");
  const built = spawnSync("go", ["install", K6_MODULE], {
    env: { ...process.env, GOBIN: bin },
    stdio: "inherit",
  });
  if (built.status !== 0) {
    throw new Error(`k6 is not on PATH, and "go install ${K6_MODULE}" failed: install one of them`);
  }
  return join(bin, "k6");
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 300; i++) {
    if (await check().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} did not start within 30 s`);
}

/** Starts a program; the returned function sends it a signal, as long as it runs. */
function start(command: string, args: string[]): (signal: NodeJS.Signals) => void {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  return (signal) => {
    const { pid, exitCode, signalCode } = child;
    // On Deno, `kill` of the child itself sends only one signal.
    if (pid !== undefined && (exitCode ?? signalCode) === null) process.kill(pid, signal);
  };
}

async function startRedis(
  fsync: string,
  folder: string,
): Promise<{ url: string; stop: () => void }> {
  const port = await freePort();
  const signal = start("redis-server", [
    "--port",
    String(port),
    "--dir",
    folder,
    "--save",
    "",
    "--appendonly",
    "yes",
    "--appendfsync",
    fsync,
  ]);
  await until(
    "redis-server",
    () =>
      new Promise((resolve) =>
        resolve(spawnSync("redis-cli", ["-p", String(port), "ping"]).status === 0)
      ),
  );
  return { url: `redis://127.0.0.1:${port}`, stop: () => signal("SIGTERM") };
}

/**
 * Starts the baseline. It runs only while it is under load: for seconds after that, V8 goes on collecting its garbage, and
 * would take a tenth of a processor from the server's turn.
 */
async function startBaseline(store: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["run", "-A", "bench/baseline/server.ts", String(port), store];
  const signal = start(process.execPath, args);
  await until("the baseline", answers(`${url}/healthz`));
  return {
    async whileRunning<T>(work: (url: string) => Promise<T>): Promise<T> {
      signal("SIGCONT");
      try {
        return await work(url);
      } finally {
        signal("SIGSTOP");
      }
    },
    stop: () => signal("SIGKILL"),
  };
}

const answers = (url: string) => async () => (await fetch(url)).ok;

async function startReplicas(
  count: number,
  store: string,
  fsync: string,
  flags: string[],
): Promise<{ urls: string[]; stop: () => void }> {
  const signals: ReturnType<typeof start>[] = [];
  const urls: string[] = [];
  for (let i = 0; i < count; i++) {
    const port = await freePort();
    signals.push(start(process.execPath, [
      ...startFlags(),
      "--no-check",
      "src/main.ts",
      "--port",
      String(port),
      "--store",
      store,
      "--durability",
      fsync,
      "--log-level",
      "warn",
      ...flags,
    ]));
    urls.push(`http://127.0.0.1:${port}`);
  }
  for (const url of urls) await until(`the replica at ${url}`, answers(`${url}/readyz`));
  return { urls, stop: () => signals.forEach((signal) => signal("SIGTERM")) };
}

interface Summary {
  metrics: Record<
    string,
    {
      count?: number;
      rate?: number;
      med?: number;
      "p(99)"?: number;
      /** True if it was crossed. */
      thresholds?: Record<string, boolean>;
    } | undefined
  >;
}

/** Length of the load, from `-e DURATION=…` among the flags. */
function secondsOf(flags: string[]): number {
  const [, value = "10", unit = "s"] = /DURATION=(\d+)(s|m)/.exec(flags.join(" ")) ?? [];
  return Number(value) * (unit === "m" ? 60 : 1);
}

/** One k6 run. */
async function load(
  k6: string,
  test: Test,
  bases: string[],
  run: string,
  flags: string[],
): Promise<Figures> {
  const seconds = secondsOf(flags);
  const folder = mkdtempSync(join(tmpdir(), "sluice-load-"));
  const file = join(folder, "summary.json");
  const env = { BASES: bases.join(","), RUN: run, ...test.env };
  const args = [
    "run",
    "--quiet",
    "--summary-export",
    file,
    ...Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
    ...flags,
    test.script,
  ];
  const child = spawn(k6, args, { cwd: "loadtest", stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => (said += String(chunk)));
  await new Promise((resolve) => child.once("exit", resolve));
  try {
    const { metrics } = JSON.parse(readFileSync(file, "utf8")) as Summary;
    const duration = metrics["http_req_duration{kind:load}"] ?? metrics["http_req_duration"];
    const made = metrics["ledger_made"]?.count;
    return {
      perSecond: (metrics["ledger_accepted"]?.count ?? 0) / seconds,
      p50: duration?.med ?? 0,
      p99: duration?.["p(99)"] ?? 0,
      accepted: metrics["ledger_accepted"]?.count ?? 0,
      refused: metrics["ledger_refused"]?.count ?? 0,
      wrong: metrics["ledger_wrong"]?.count ?? 0,
      ...(made === undefined
        ? {}
        : { made, madePerSecond: (made - (metrics["ledger_late"]?.count ?? 0)) / seconds }),
      crossed: Object.entries(metrics).flatMap(([name, metric]) =>
        Object.entries(metric?.thresholds ?? {})
          .filter(([, isCrossed]) => isCrossed).map(([threshold]) => `${name} ${threshold}`)
      ),
    };
  } catch {
    throw new Error(`k6 left no summary:\n${said}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function middle(rounds: Figures[]): Figures {
  const pick = (get: (figures: Figures) => number) => quantile(rounds.map(get), 0.5);
  const last = rounds.at(-1);
  return {
    perSecond: pick((f) => f.perSecond),
    p50: pick((f) => f.p50),
    p99: pick((f) => f.p99),
    accepted: rounds.reduce((sum, f) => sum + f.accepted, 0),
    refused: rounds.reduce((sum, f) => sum + f.refused, 0),
    wrong: rounds.reduce((sum, f) => sum + f.wrong, 0),
    crossed: [...new Set(rounds.flatMap((f) => f.crossed))],
    ...(last?.made === undefined ? {} : {
      made: rounds.reduce((sum, f) => sum + (f.made ?? 0), 0),
      madePerSecond: pick((f) => f.madePerSecond ?? 0),
    }),
  };
}

/** Bar chart of requests per second. */
function plot(rows: Row[]): string {
  const top = Math.max(1, ...rows.map((row) => row.perSecond));
  const bars = rows.map((row, i) => {
    const ratio = row.ratio === undefined ? "" : `, ${row.ratio.toFixed(2)} of the baseline`;
    const width = Math.round((row.perSecond / top) * 420);
    const y = 40 + i * 26;
    return `<text x="8" y="${
      y + 14
    }">${row.test}</text><rect x="190" y="${y}" width="${width}" height="18" fill="#3b76c4"/>` +
      `<text x="${196 + width}" y="${y + 14}">${Math.round(row.perSecond)}/s, p99 ${
        row.p99.toFixed(1)
      } ms${ratio}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="900" height="${
    60 + rows.length * 26
  }" font-family="sans-serif" font-size="13">` +
    `<text x="8" y="22" font-size="15">Accepted requests per second</text>${bars.join("")}</svg>\n`;
}

interface Options {
  names: string[];
  replicas: number;
  fsync: string;
  rounds: number;
  k6Flags: string[];
}

const USAGE =
  "Usage: deno task loadtest [NAME…] [--replicas N] [--fsync everysec|always] [--rounds N] [k6 flags]\n" +
  `with NAME one of ${Object.keys(TESTS).join(", ")}`;

function refuse(what: string): never {
  console.error(`${what}\n${USAGE}`);
  process.exit(2);
}

function readOptions(argv: string[]): Options {
  if (argv.includes("--help")) {
    console.log(USAGE);
    process.exit(0);
  }
  const options: Options = { names: [], replicas: 1, fsync: "everysec", rounds: 3, k6Flags: [] };
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (word === "--replicas") options.replicas = Number(argv[++i]);
    else if (word === "--fsync") options.fsync = argv[++i] ?? "";
    else if (word === "--rounds") options.rounds = Number(argv[++i]);
    else if (word.startsWith("-")) {
      options.k6Flags.push(
        word,
        ...(argv[i + 1]?.startsWith("-") === false ? [argv[++i] ?? ""] : []),
      );
    } else if (word in TESTS) options.names.push(word);
    else refuse(`No load test is called ${word}`);
  }
  if (!(options.replicas >= 1)) refuse("--replicas takes a number from 1");
  if (!(options.rounds >= 1)) refuse("--rounds takes a number from 1");
  if (options.names.length === 0) options.names = Object.keys(TESTS);
  return options;
}

async function runTest(k6: string, name: string, options: Options): Promise<Row> {
  const test = TESTS[name];
  if (test === undefined) throw new Error(`No load test is called ${name}`);
  const folder = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  const redis = await startRedis(options.fsync, folder);
  const count = test.replicas ?? options.replicas;
  const replicas = await startReplicas(
    count,
    redis.url,
    options.fsync,
    test.server ?? [],
  );
  const baseline = test.baseline ? await startBaseline(redis.url) : undefined;
  try {
    const own: Figures[] = [];
    const other: Figures[] = [];
    /** Both in turns. */
    const turns = async (round: string, flags: string[]) => {
      await baseline?.whileRunning(async (url) => {
        other.push(await load(k6, test, [url], `b${round}`, flags));
      });
      own.push(await load(k6, test, replicas.urls, `r${round}`, flags));
    };
    // Programs are slow right after their start.
    await turns("w", [...options.k6Flags, "-e", "DURATION=3s"]);
    own.length = other.length = 0;
    for (let round = 0; round < options.rounds; round++) await turns(`${round}`, options.k6Flags);
    const row: Row = {
      test: name,
      replicas: count,
      fsync: options.fsync,
      ...middle(own),
    };
    if (baseline !== undefined) {
      row.ratio = quantile(
        own.map((figures, i) => figures.perSecond / (other[i]?.perSecond ?? 1)),
        0.5,
      );
      row.baselineP99 = middle(other).p99;
    }
    return row;
  } finally {
    replicas.stop();
    baseline?.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    redis.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(argv: string[]): Promise<void> {
  const options = readOptions(argv);
  const k6 = k6Command();
  const rows: Row[] = [];
  for (const name of options.names) {
    console.error(`running ${name} …`);
    rows.push(await runTest(k6, name, options));
  }
  console.table(Object.fromEntries(rows.map((row) => [row.test, {
    "accepted/s": Math.round(row.perSecond),
    "p50 ms": Number(row.p50.toFixed(2)),
    "p99 ms": Number(row.p99.toFixed(2)),
    "of baseline": row.ratio === undefined ? "" : row.ratio.toFixed(2),
    "p99 of its": row.baselineP99 ? (row.p99 / row.baselineP99).toFixed(2) : "",
    "accepted": row.accepted,
    "503": row.refused,
    "wrong": row.wrong,
    "made": row.made ?? "",
    "made/s": row.madePerSecond === undefined ? "" : Math.round(row.madePerSecond),
  }])));
  mkdirSync("loadtest/results", { recursive: true });
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  writeFileSync(`loadtest/results/${stamp}.json`, JSON.stringify(rows, null, 2));
  writeFileSync(`loadtest/results/${stamp}.svg`, plot(rows));
  const failed = rows.filter((row) => row.crossed.length > 0);
  for (const row of failed) console.error(`${row.test}: crossed ${row.crossed.join(", ")}`);
  if (failed.length > 0) process.exit(1);
}

if (import.meta.main) await main(process.argv.slice(2));
