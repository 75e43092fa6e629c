/**
 * Pictures of all pages, for the documentation and to look at: which there are, what they show, and how they are taken. A page of
 * `src/ui/app/paths.ts` without an entry here does not pass the type check.
 */
import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import type { PageEntry } from "../../src/ui/app/paths.ts";
import { finishedJob, type JobOptions, storeWorkflows } from "./stored_workflows.ts";
import { ASYNC_JOB, openUi, settled, type Ui, WAITS } from "./ui.ts";

export interface Picture {
  /** Of the file, without theme and ending. */
  name: string;
  path: string;
  /** What must be there before it is taken. */
  ready: string;
  /** What a visitor does first. */
  act?: (ui: Ui) => Promise<void>;
}

/** The pictures of each page; the first one of a page stands for it. */
export const PICTURES: Readonly<Record<PageEntry["key"], readonly Picture[]>> = {
  workflows: [
    { name: "workflows", path: "/", ready: ".bars svg" },
    {
      name: "workflows-chosen",
      path: "/?namespace=reports&phase=Failed&columns=label:team",
      ready: "tbody tr",
      act: async ({ page }) => {
        for (const at of [0, 2]) await page.locator("tbody input").nth(at).check();
      },
    },
  ],
  workflow: [
    {
      name: "workflow-failed",
      path: "/workflows/reports/nightly-report",
      ready: ".log-tail",
    },
    { name: "workflow-waits", path: "/workflows/shop/order-4711", ready: "svg .step" },
    {
      name: "workflow-time",
      path: "/workflows/reports/nightly-report?view=time",
      ready: ".time-row",
    },
  ],
  events: [{ name: "events", path: "/events", ready: "tbody tr" }],
  event: [{ name: "event", path: "/events/shop/EVENT", ready: ".condition, .server-words" }],
  bindings: [{ name: "bindings", path: "/events/bindings", ready: "tbody tr" }],
  binding: [{ name: "binding", path: "/events/bindings/shop/order-paid", ready: "h1" }],
  playground: [{
    name: "playground",
    path: "/events/playground?namespace=shop&binding=order-paid",
    ready: "form",
    act: async ({ page }) => {
      await page.getByLabel("Discriminator").fill("orders");
      await page.getByLabel("Payload").fill(JSON.stringify(PAID_ORDER, null, 2));
      await page.getByText("It would submit this workflow:").waitFor();
    },
  }],
  templates: [{ name: "templates", path: "/templates", ready: "tbody tr" }],
  template: [{ name: "template", path: "/templates/reports/report", ready: "tbody tr" }],
  clusterTemplate: [{ name: "cluster-template", path: "/templates/notify", ready: "h1" }],
  crons: [{ name: "crons", path: "/cron", ready: "tbody tr" }],
  cron: [{ name: "cron", path: "/cron/reports/nightly", ready: "h1" }],
  archive: [{ name: "archive", path: "/archive", ready: "tbody tr" }],
  archived: [{ name: "archived", path: "/archive/reports/nightly-report/UID", ready: "h1" }],
  locks: [{ name: "locks", path: "/locks", ready: "main .lock, main tr, main li" }],
  system: [{ name: "system", path: "/system", ready: "main table, main dl" }],
  waiting: [{ name: "waiting", path: "/waiting", ready: "main .wait, main li, main tr" }],
  submit: [
    { name: "submit", path: "/submit?namespace=reports&template=report", ready: "[name=day]" },
  ],
  edit: [{
    name: "edit",
    path: "/edit?kind=WorkflowTemplate&namespace=reports&name=report",
    ready: ".code-host",
    act: async ({ page }) => await page.getByText("The manifest is valid.").waitFor(),
  }],
  login: [{ name: "login", path: "/login", ready: "h1" }],
};

export const THEMES = ["light", "dark"] as const;

/** Where the documentation has them. */
export const IMAGES: string = join(import.meta.dirname ?? "", "../../docs/images");
/** Of the window, px. */
export const WIDTH = 1_280;
const HEIGHT = 860;
const QUALITY = 82;

export function fileOf(
  name: string,
  theme: typeof THEMES[number],
  format: PictureOptions["format"] = "webp",
): string {
  return `${name}-${theme}.${format}`;
}

export interface PictureOptions {
  width: number;
  /** Only those whose names contain this. */
  named: string;
  format: "webp" | "png";
}

/** Takes pictures; resolves with the files. */
export async function takePictures(
  folder: string,
  { width, named, format }: PictureOptions,
): Promise<string[]> {
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  const ui = await openUi(["--archive"], undefined, (store) => fillStore(store, now));
  const files: string[] = [];
  try {
    await makeData(ui);
    const objects = await makeObjects(ui);
    await ui.page.setViewportSize({ width, height: HEIGHT });
    for (const picture of Object.values(PICTURES).flat()) {
      if (!picture.name.includes(named)) continue;
      for (const theme of THEMES) {
        await ui.page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
        const file = join(folder, fileOf(picture.name, theme, format));
        const path = objects(picture.path);
        await writeFile(file, await take(ui, { ...picture, path }, format));
        files.push(file);
      }
    }
  } finally {
    await ui.close();
  }
  return files;
}

async function take(
  ui: Ui,
  { path, ready, act }: Picture,
  format: PictureOptions["format"],
): Promise<Buffer> {
  await ui.open(path);
  await ui.page.locator(ready).first().waitFor();
  await act?.(ui);
  await settled(ui.page);
  await ui.page.evaluate("document.fonts.ready.then(() => {})");
  await ui.page.waitForTimeout(700);
  const session = await ui.page.context().newCDPSession(ui.page);
  const { data } = await session.send("Page.captureScreenshot", {
    format,
    ...(format === "webp" && { quality: QUALITY }),
  });
  await session.detach();
  return Buffer.from(data, "base64");
}

const NAMES = ["nightly-report", "sync-stock", "resize-images", "send-invoices", "train-prices"];
const STORED = 420;

/** A day of finished workflows before now. */
async function fillStore(folder: string, now: number): Promise<void> {
  const store = await openSqliteStore({ folder, durability: "everysec" });
  await storeWorkflows(store, STORED, (i) => {
    const name = `${NAMES[i % NAMES.length]}-${(0x5a1b3 + i * 7919).toString(36)}`;
    const phase: NonNullable<JobOptions["phase"]> = i % 67 === 3
      ? "Error"
      : i % 13 === 4 || (i > 150 && i < 165)
      ? "Failed"
      : "Succeeded";
    // Busier by day than by night.
    const ago = 24 * 3600_000 * ((i + 1) / STORED) - 2_400_000 * Math.sin((i / STORED) * 12);
    return finishedJob(i, {
      name,
      namespace: i % 3 === 0 ? "shop" : "reports",
      phase,
      createdAt: Math.floor((now - Math.max(90_000, ago)) / 1_000) * 1_000,
      tookMs: 20_000 + (i * 37 % 400) * 1_000,
    });
  });
  await store.close();
}

const shell = (text: string) => ({
  container: { image: "alpine:3.20", command: ["sh", "-c"], args: [text] },
});

/** A report of several steps, one of which fails. */
const REPORT = {
  entrypoint: "main",
  arguments: {
    parameters: [
      { name: "day", value: "2026-11-22", description: "Day of the report" },
      { name: "format", enum: ["pdf", "html"], value: "pdf" },
      { name: "recipients" },
    ],
  },
  templates: [
    {
      name: "main",
      dag: {
        tasks: [
          { name: "extract", template: "quick" },
          ...["customers", "orders", "stock"].map((name) => ({
            name,
            template: "slow",
            depends: "extract",
          })),
          {
            name: "regions",
            template: "quick",
            depends: "orders",
            withItems: ["north", "south", "east", "west", "overseas", "online"],
          },
          { name: "render", template: "render", depends: "customers && regions && stock" },
          { name: "send", template: "quick", depends: "render" },
        ],
      },
    },
    { name: "quick", ...shell("sleep 0.3; echo done") },
    { name: "slow", ...shell("sleep 1.2; echo 4211 rows") },
    {
      name: "render",
      retryStrategy: { limit: 1 },
      ...shell("echo 'rendering 14 pages'; echo 'font \"Inter\" not found' >&2; exit 3"),
    },
  ],
};

/** What runs, waits and has failed just now. */
async function makeData(ui: Ui): Promise<void> {
  const job = (name: string) => ({
    metadata: { name, labels: { team: "checkout" } },
    spec: ASYNC_JOB,
  });
  for (const name of ["order-4709", "order-4710", "order-4711"]) {
    await ui.call("POST", "workflows/shop", { workflow: job(name) });
  }
  await ui.submit("approve-prices", WAITS, "shop");
  await ui.call("POST", "workflow-templates/reports", {
    template: { metadata: { name: "report" }, spec: REPORT },
  });
  const filled = {
    ...REPORT,
    arguments: {
      parameters: [
        { name: "day", value: "2026-11-22" },
        { name: "format", value: "pdf" },
        { name: "recipients", value: "team@example.org" },
      ],
    },
  };
  await ui.submit("nightly-report", filled, "reports");
  for (let i = 0; i < 600; i++) {
    const { status } = await ui.call<{ status?: { phase?: string } }>(
      "GET",
      "workflows/reports/nightly-report?fields=status.phase",
    );
    if (status?.phase === "Failed") return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the report has not failed");
}

const PAID_ORDER = { id: "4712", state: "paid", total: 49.9, items: ["lamp", "bulb"] };

const ORDER_PAID = {
  metadata: { name: "order-paid" },
  spec: {
    event: {
      selector: 'discriminator == "orders" && payload.state == "paid" && payload.total > 0',
    },
    submit: {
      workflowTemplateRef: { name: "ship" },
      metadata: { generateName: '"ship-"' },
      arguments: { parameters: [{ name: "order", valueFrom: { event: "payload.id" } }] },
    },
  },
};

/** Stored objects, events and locks. @returns what fills the ids of a path */
async function makeObjects(ui: Ui): Promise<(path: string) => string> {
  const step = (name: string, text: string) => ({ name, ...shell(text) });
  const takesOrder = { parameters: [{ name: "order" }] };
  await ui.call("POST", "workflow-templates/shop", {
    template: {
      metadata: {
        name: "ship",
        annotations: {
          "workflows.argoproj.io/description": "Packs an order and calls the carrier",
        },
      },
      spec: { entrypoint: "main", arguments: takesOrder, templates: [step("main", "echo packed")] },
    },
  });
  await ui.call("POST", "cluster-workflow-templates", {
    template: {
      metadata: {
        name: "notify",
        annotations: { "workflows.argoproj.io/description": "Tells a channel how a run ended" },
      },
      spec: { entrypoint: "main", templates: [step("main", "echo told")] },
    },
  });
  const cron = (name: string, schedule: string, more: object = {}) =>
    ui.call("POST", "cron-workflows/reports", {
      cronWorkflow: {
        metadata: { name },
        spec: {
          schedules: [schedule],
          timezone: "Europe/Berlin",
          concurrencyPolicy: "Forbid",
          ...more,
          workflowSpec: { entrypoint: "main", templates: [step("main", "echo report")] },
        },
      },
    });
  await cron("nightly", "30 2 * * *");
  await cron("hourly-sync", "5 * * * *");
  await cron("quarterly", "0 6 1 */3 *", { suspend: true });
  await ui.call("POST", "workflow-event-bindings/shop", { binding: ORDER_PAID });
  await ui.call("POST", "workflow-event-bindings/shop", {
    binding: {
      metadata: { name: "stock-low" },
      spec: {
        event: { selector: 'discriminator == "stock" && payload.left < 10' },
        submit: {
          workflowTemplateRef: { name: "reorder" },
          metadata: { generateName: '"reorder-"' },
        },
      },
    },
  });
  const events: [string, object][] = [
    ["orders", { id: "4708", state: "open", total: 12.5 }],
    ["stock", { item: "lamp", left: 3 }],
    ["orders", PAID_ORDER],
    ["orders", { id: "4713", state: "paid", total: 0 }],
  ];
  for (const [discriminator, payload] of events) {
    await fetch(`${ui.server.url}/api/v1/events/shop/${discriminator}`, {
      method: "POST",
      headers: { "x-shop": "berlin" },
      body: JSON.stringify(payload),
    });
  }
  const lock = { mutexes: [{ name: "prices" }] };
  for (const name of ["price-import", "price-export"]) {
    await ui.submit(name, { ...WAITS, synchronization: lock }, "shop");
  }
  const { metadata } = await ui.call<{ metadata: { uid: string } }>(
    "GET",
    "workflows/reports/nightly-report?fields=metadata.uid",
  );
  for (let i = 0; i < 100; i++) {
    const { items } = await ui.call<
      { items: { id: string; state: string; discriminator: string }[] }
    >(
      "GET",
      "event-deliveries/shop",
    );
    const paid = items.filter(({ discriminator }) => discriminator === "orders");
    if (items.length === events.length && items.every(({ state }) => state !== "queued")) {
      return (path) => path.replace("EVENT", paid[0]?.id ?? "").replace("UID", metadata.uid);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the events are not dispatched");
}
