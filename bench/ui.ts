// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * How fast the pages are in headless Chromium, on a server with SQLite:
 *
 *   [STORED=100000] [CHANGES=36000] deno task bench ui [list|workflow|memory]
 *
 * Prints each figure with its bar, and fails if one is beyond it. "Again": the browser has the scripts in its cache, as for
 * everybody who opens a second page. Tasks are counted in processor time, so other programs make no difference to them; times
 * until something is shown are those of the clock. The memory run replays an hour of ten changes a second as fast as the server takes them.
 */
import process from "node:process";
import type { Page } from "playwright-core";
import { LONG, openUi, type Ui } from "../test/support/ui.ts";
import {
  drag,
  heldBy,
  LARGE,
  recordInputs,
  slowestInput,
  storeForSpeed,
  timeToContent,
  workFor,
} from "../test/support/ui_speed.ts";
import { quantile } from "../test/support/quantile.ts";

const STORED = Number(process.env["STORED"] ?? 100_000);
const CHANGES = Number(process.env["CHANGES"] ?? 36_000);
const ROUNDS = 5;
const OPEN_WORKFLOWS = 60;
/** Changes a second while somebody types and clicks, and for how long, s. */
const RATE = 60;
const TYPING_S = 15;

const failures: string[] = [];

function tell(what: string, value: number, unit: string, bar?: number): void {
  const isBeyond = bar !== undefined && value > bar;
  if (isBeyond) failures.push(what);
  const text = `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  console.log(
    `${what.padEnd(66)} ${text.padStart(10)}${
      bar === undefined ? "" : `  (at most ${Math.round(10 * bar) / 10})`
    }${isBeyond ? "  BEYOND" : ""}`,
  );
}

/** The median over some rounds. */
async function median(measure: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await measure());
  return quantile(times, 0.5);
}

const pathOf = (name: string) => `/workflows/default/${name}`;

/** First time with an empty cache, then the median of further ones. */
async function content(
  ui: Ui,
  what: string,
  path: string,
  selector: string,
  bar: number,
): Promise<void> {
  const session = await ui.page.context().newCDPSession(ui.page);
  await session.send("Network.clearBrowserCache");
  await session.detach();
  tell(`${what}, first visit`, await timeToContent(ui.page, ui.url + path, selector), "ms");
  const again = await median(() => timeToContent(ui.page, ui.url + path, selector));
  tell(`${what}, again`, again, "ms", bar);
  const work = await median(async () => {
    const { total } = await workFor(ui.page, () => timeToContent(ui.page, ui.url + path, selector));
    return total;
  });
  tell(`${what}, processor time of the page`, work, "ms");
}

/** Suspends and resumes workflows in turn. @param count of the first workflows */
function changer(ui: Ui, count = OPEN_WORKFLOWS): () => Promise<unknown> {
  let at = 0;
  return () => {
    const number = at++;
    const verb = Math.floor(number / count) % 2 === 0 ? "suspend" : "resume";
    return ui.call("PUT", `workflows/live/live-${number % count}/${verb}`, {});
  };
}

async function list(ui: Ui): Promise<void> {
  const { page } = ui;
  await content(ui, `List of ${STORED}: first rows`, "/", "table.list tbody tr", 1_000);
  await page.waitForTimeout(1_000);
  const began = performance.now();
  const changes = changeAt(RATE, changer(ui));
  try {
    const work = await workFor(page, () => type(page));
    const { asked, made } = changes.stop();
    const seconds = (performance.now() - began) / 1_000;
    const { delay, toPicture } = await slowestInput(page);
    tell("List with changes: asked for by the driver", asked / seconds, "/s");
    tell("List with changes: made by the server", made / seconds, "/s");
    tell("List with changes: longest task", work.longestTask, "ms", 100);
    tell("List with changes: the page's share of a processor", work.total / seconds / 10, "%");
    tell("List with changes: longest wait of an input", delay, "ms", 100);
    tell("List with changes: longest time from an input to its picture", toPicture, "ms");
  } finally {
    changes.stop();
  }
}

/** Changes something so often a second. A timer that comes late makes up for it, so a busy driver is no slower. */
function changeAt(rate: number, change: () => Promise<unknown>) {
  const began = performance.now();
  let asked = 0;
  let made = 0;
  const timer = setInterval(() => {
    for (const due = (performance.now() - began) / 1_000 * rate; asked < due; asked++) {
      void change().then(() => made++, () => {});
    }
  }, 5);
  return {
    /** @returns how many were asked for until now, and how many of them were accepted */
    stop() {
      clearInterval(timer);
      return { asked, made };
    },
  };
}

/** Types, ticks and moves through the rows. @throws when an input is lost */
async function type(page: Page): Promise<void> {
  const field = page.getByLabel("Namespace");
  for (let i = 0; i < TYPING_S; i++) {
    await field.pressSequentially("live", { delay: 60 });
    const typed = await field.inputValue();
    if (typed !== "live") throw new Error(`"live" was typed, and "${typed}" is there`);
    await field.fill("");
    await page.evaluate("document.activeElement.blur()");
    // The filter takes effect after a pause; the list must be there again before keys move through it.
    await page.waitForTimeout(500);
    await page.locator("tbody tr").first().waitFor();
    for (let row = 0; row < 4; row++) await page.keyboard.press("j", { delay: 40 });
    await page.keyboard.press("x");
    await page.getByText("1 chosen").waitFor();
    await page.keyboard.press("x");
    await page.getByText("1 chosen").waitFor({ state: "detached" });
  }
}

async function workflow(ui: Ui): Promise<void> {
  const { page } = ui;
  await content(ui, "DAG of 300 nodes: shown", pathOf(LARGE.dag300), "svg .step", 500);
  await content(ui, "Loop of 5,000: shown", pathOf(LARGE.loop), "svg .step", 2_000);
  await content(
    ui,
    "DAG of 5,000 nodes: shown",
    pathOf(LARGE.dag5000),
    "svg .step",
    2_000,
  );
  await panned(page, "DAG of 5,000 nodes");
  await page.goto(ui.url + pathOf(LARGE.loop2000));
  await page.locator("svg .step").first().waitFor();
  await taskBar(page, "2,000 steps unfolded", async () => {
    await page.locator("svg .kind-loop").click();
    await page.locator("svg .step").nth(20).waitFor();
    await page.waitForTimeout(500);
  });
  await panned(page, "2,000 steps unfolded");
  for (const view of ["tree", "time"]) {
    await page.goto(`${ui.url}${pathOf(LARGE.loop)}`);
    await page.locator("svg .step").first().waitFor();
    await taskBar(page, `Loop of 5,000, view ${view}`, async () => {
      await page.locator(`#tab-${view}`).click();
      await page.locator(".tree li, .time-row").first().waitFor();
      await page.waitForTimeout(1_500);
    });
  }
}

async function taskBar(page: Page, what: string, act: () => Promise<void>): Promise<void> {
  const { longestTask } = await workFor(page, act);
  tell(`${what}: longest task`, longestTask, "ms", 100);
}

async function panned(page: Page, what: string): Promise<void> {
  await taskBar(page, `${what}, moved and scaled`, async () => {
    await page.getByRole("button", { name: "Fit", exact: true }).click();
    await page.locator("svg .far").waitFor();
    await drag(page, ".canvas", 60);
    for (let i = 0; i < 8; i++) {
      await page.getByRole("button", { name: "Larger", exact: true }).click();
      await page.waitForTimeout(50);
    }
    await drag(page, ".canvas", 60);
  });
}

async function memory(ui: Ui): Promise<void> {
  for (const [path, count] of [["/", OPEN_WORKFLOWS], ["/workflows/live/live-0", 1]] as const) {
    await ui.open(path);
    await ui.page.locator("tbody tr, svg .step").first().waitFor();
    const change = changer(ui, count);
    const began = performance.now();
    const run = async (count: number) => {
      let left = count;
      const lane = async () => {
        while (left-- > 0) await change();
      };
      await Promise.all(Array.from({ length: 8 }, lane));
      await ui.page.waitForTimeout(500);
    };
    await run(CHANGES / 10);
    const early = await heldBy(ui.page);
    await run(CHANGES * 9 / 10);
    const late = await heldBy(ui.page);
    const seconds = (performance.now() - began) / 1_000;
    const name = `${path}: after ${CHANGES} changes`;
    tell(`${name}, changes a second`, CHANGES / seconds, "/s");
    tell(`${name}, heap after a tenth`, early.heapMiB, "MiB");
    tell(`${name}, heap at the end`, late.heapMiB, "MiB", early.heapMiB + 2);
    tell(
      `${name}, nodes of the document more than after a tenth`,
      late.elements - early.elements,
      "",
      200,
    );
  }
}

const PARTS: Record<string, (ui: Ui) => Promise<void>> = { list, workflow, memory };

const names = process.argv.slice(2);
const began = performance.now();
const ui = await openUi([], undefined, (folder) => storeForSpeed(folder, STORED));
console.log(`ready in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
try {
  await recordInputs(ui.page);
  for (let i = 0; i < OPEN_WORKFLOWS; i++) await ui.submit(`live-${i}`, LONG, "live");
  await timeToContent(ui.page, `${ui.url}/login`, "input");
  for (const [name, part] of Object.entries(PARTS)) {
    if (names.length === 0 || names.includes(name)) await part(ui);
  }
} finally {
  await ui.close();
}
console.log(failures.length === 0 ? "\nall within their bars" : `\nbeyond: ${failures.join("; ")}`);
process.exit(failures.length === 0 ? 0 : 1);
