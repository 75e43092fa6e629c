// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What open pages cost the server: its processor time for the same changes with nothing open, with watches that name six `fields`,
 * with the watches of as many open pages, and with all their requests, as Chromium sends them.
 *
 *   [OPEN=50] [ROUNDS=5] [CHANGES=1500] [EVENTS=3000] deno task bench open_pages
 *
 * They take turns, so a machine that gets slower slows all. Fails if pages cost more than 1.1 times the watches. The last lines
 * tell what accepting an event costs with them open.
 */
import { request } from "node:http";
import process from "node:process";
import { openBrowser } from "../test/support/argo_pages.ts";
import { QUICK } from "../test/support/ui.ts";
import { startFlags } from "../test/support/start_flags.ts";
import { each, idle, type Side, startSide } from "./support/side.ts";
import { quantile } from "../test/support/quantile.ts";

const OPEN = Number(process.env["OPEN"] ?? 50);
const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const CHANGES = Number(process.env["CHANGES"] ?? 1_500);
const EVENTS = Number(process.env["EVENTS"] ?? 3_000);
const MOST = 1.1;
/** What a watcher of a list would ask for. */
const FIELDS = "result.type,result.object.metadata.name,result.object.metadata.namespace," +
  "result.object.metadata.resourceVersion,result.object.status.phase,result.object.status.progress";
/** A page counts its workflows again so often while they change, ms. */
const COUNT_MS = 10_000;

let port = 0;

/** Keeps streams open and reads them; returns how to close them. */
function watch(paths: readonly string[]): () => void {
  const open = paths.map((path) => {
    const headers = { accept: "text/event-stream" };
    const sent = request({ host: "127.0.0.1", port, path, headers }, (answer) => answer.resume());
    sent.on("error", () => {});
    sent.end();
    return sent;
  });
  return () => {
    for (const one of open) one.destroy();
  };
}

/** What a page asks for: at first, for as long as it is open, and again and again. */
interface PageRequests {
  once: string[];
  watches: string[];
  repeated: string[];
}

async function requestsOfPage(): Promise<PageRequests> {
  const browser = await openBrowser();
  const found: PageRequests = { once: [], watches: [], repeated: [] };
  browser.page.on("request", (sent) => {
    const { pathname, search } = new URL(sent.url());
    if (!pathname.startsWith("/api/")) return;
    if (pathname.includes("workflow-events")) found.watches.push(pathname + search);
    else if (pathname.includes("workflow-counts")) found.repeated.push(pathname + search);
    else found.once.push(pathname + search);
  });
  await browser.page.goto(`http://127.0.0.1:${port}/`);
  await browser.page.locator("tbody tr").first().waitFor();
  await browser.page.waitForTimeout(2_000);
  await browser.close();
  return found;
}

const side: Side = await startSide({
  folder: process.cwd(),
  args(at, url) {
    port = at;
    const bound = ["--event-operation-queue-size", "100000", "--log-level", "warn"];
    return [
      ...[...startFlags(process.cwd()), "--no-check", "src/main.ts"],
      ...["--port", String(at), "--store", url, ...bound],
    ];
  },
});

const SPEC = { ...QUICK, templates: [{ name: "main", suspend: {} }] };
let made = 0;

/** New workflows, each of which is resumed: four changes or so. */
async function change(count: number): Promise<void> {
  await each(count, async () => {
    const name = `job-${made++}`;
    await side.send("POST", "/api/v1/workflows/load", {
      workflow: { metadata: { name }, spec: SPEC },
    });
    await side.send("PUT", `/api/v1/workflows/load/${name}/resume`, {});
  });
}

const sendEvents = (count: number) =>
  each(count, (i) => side.send("POST", "/api/v1/events/quiet/", { id: i, message: "hello" }));

async function cost(work: () => Promise<void>): Promise<number> {
  await idle(side);
  const start = side.spent().server;
  await work();
  await idle(side);
  return side.spent().server - start;
}

async function main(): Promise<boolean> {
  await change(300);
  const page = await requestsOfPage();
  console.log(
    `a page asks for: ${page.once.length} answers, ${page.watches.length} watch, and counts`,
  );
  const pages = Array.from({ length: OPEN }, () => page.watches).flat();
  const plain = Array.from(
    { length: OPEN },
    () => `/api/v1/workflow-events/?fields=${encodeURIComponent(FIELDS)}`,
  );
  const settings: Record<string, { streams: string[]; repeated: string[] }> = {
    nothing: { streams: [], repeated: [] },
    watches: { streams: plain, repeated: [] },
    "watches of pages": { streams: pages, repeated: [] },
    pages: { streams: pages, repeated: Array.from({ length: OPEN }, () => page.repeated).flat() },
  };
  const found: Record<string, { change: number[]; event: number[] }> = {};
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { streams, repeated }] of Object.entries(settings)) {
      const version = await versionNow();
      const close = watch(streams.map((path) => from(path, version)));
      const timer = setInterval(() => {
        for (const path of repeated) void side.send("GET", path).catch(() => {});
      }, COUNT_MS);
      // They catch up with what was before.
      await new Promise((done) => setTimeout(done, 1_500));
      const perChange = await cost(() => change(CHANGES)) / CHANGES;
      const perEvent = await cost(() => sendEvents(EVENTS)) / EVENTS;
      clearInterval(timer);
      close();
      // The first round warms up.
      if (round === 0) continue;
      const all = found[name] ??= { change: [], event: [] };
      all.change.push(perChange);
      all.event.push(perEvent);
    }
  }
  for (const kind of ["change", "event"] as const) {
    for (const [name, all] of Object.entries(found)) {
      const [low, middle] = [quantile(all[kind], 0.25), quantile(all[kind], 0.5)];
      console.log(
        `${kind === "change" ? "submit and resume" : "event"}, ${OPEN} ${name} open: ` +
          `${middle.toFixed(0)} µs of the server (quiet rounds ${low.toFixed(0)})`,
      );
    }
  }
  const ratios = (kind: "change" | "event", a: string, b: string) =>
    quantile((found[a]?.[kind] ?? []).map((one, i) => one / (found[b]?.[kind][i] ?? one)), 0.5);
  const share = ratios("change", "pages", "watches");
  console.log(`pages to watches: ${share.toFixed(2)} for changes, at most ${MOST}`);
  const beyond = ratios("change", "pages", "watches of pages");
  console.log(`pages to watches with the fields of pages: ${beyond.toFixed(2)} for changes`);
  console.log(`events, pages to nothing open: ${ratios("event", "pages", "nothing").toFixed(2)}`);
  return share <= MOST;
}

/** What a list would say now. */
async function versionNow(): Promise<string> {
  const text = await side.send(
    "GET",
    "/api/v1/workflows/?listOptions.limit=1&fields=metadata,items.metadata.name",
  );
  return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

/** The address of a watch that begins after a version. */
function from(path: string, version: string): string {
  const [at = "", query = ""] = path.split("?");
  const values = new URLSearchParams(query);
  values.set("listOptions.resourceVersion", version);
  return `${at}?${values}`;
}

let isWithin = false;
try {
  isWithin = await main();
} finally {
  side.stop();
}
process.exit(isWithin ? 0 : 1);
