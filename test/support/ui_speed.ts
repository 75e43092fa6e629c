/** How fast the pages are in a browser: when content is there, how long the browser was busy, what memory they hold. */
import { partTexts } from "../../src/base/part_text.ts";
import type { CDPSession, Page } from "playwright-core";
import type { ActorChange } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { layeredDag, manyNodes } from "./large_workflow.ts";
import { finishedJob, storeWorkflows } from "./stored_workflows.ts";

/** Runs in the page before its own scripts. Durations in ms. */
const RECORDER = `(() => {
  globalThis.uiInputs = [];
  new PerformanceObserver((list) => {
    for (const { interactionId, startTime, processingStart, duration } of list.getEntries()) {
      if (interactionId > 0) uiInputs.push([processingStart - startTime, duration]);
    }
  }).observe({ type: "event", durationThreshold: 16 });
})();`;

/** Records the inputs of the pages that this page opens from now on. */
export async function recordInputs(page: Page): Promise<void> {
  await page.addInitScript({ content: RECORDER });
}

/** The longest time from an input until the open page heard of it, and until that was drawn, ms; below 16 ms it counts as 0. */
export async function slowestInput(page: Page): Promise<{ delay: number; toPicture: number }> {
  // Observers hear of an input after it was drawn.
  await page.waitForTimeout(200);
  const inputs = await page.evaluate<[number, number][]>("globalThis.uiInputs");
  return {
    delay: longest(inputs.map(([delay]) => delay)),
    toPicture: longest(inputs.map(([, duration]) => duration)),
  };
}

function longest(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), 0);
}

/** What the main thread of the pages did, in ms of its processor time: what else the machine does makes no difference. */
export interface Work {
  longestTask: number;
  total: number;
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Processor time of the thread, microseconds. */
  tdur?: number;
  args?: { name?: string };
}

/** Does something, and tells how much work that was for the page. */
export async function workFor(page: Page, act: () => Promise<unknown>): Promise<Work> {
  const session: CDPSession = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    for (const event of value) events.push(event as unknown as TraceEvent);
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel"], excludedCategories: ["*"] },
  });
  await act();
  const isComplete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await isComplete;
  await session.detach();
  const threads = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = events.filter(({ name, pid, tid }) =>
    name.endsWith("RunTask") && threads.has(`${pid} ${tid}`)
  ).map(({ tdur = 0 }) => tdur / 1_000);
  return { longestTask: longest(tasks), total: tasks.reduce((a, b) => a + b, 0) };
}

/** Opens an address; resolves with the ms until something that the selector names was drawn. */
export async function timeToContent(page: Page, url: string, selector: string): Promise<number> {
  await page.goto(url, { waitUntil: "commit" });
  return await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) === null
      ? requestAnimationFrame(look)
      : setTimeout(() => resolve(performance.now()), 0);
    look();
  })`);
}

/** What a page holds after a collection. */
export interface Held {
  heapMiB: number;
  elements: number;
}

export async function heldBy(page: Page): Promise<Held> {
  const session: CDPSession = await page.context().newCDPSession(page);
  try {
    // The second one takes what the first one has freed the way to.
    await session.send("HeapProfiler.collectGarbage");
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { nodes } = await session.send("Memory.getDOMCounters");
    return { heapMiB: usedSize / 2 ** 20, elements: nodes };
  } finally {
    await session.detach();
  }
}

/** Moves the pressed mouse over an element, in steps of one picture each. */
export async function drag(page: Page, selector: string, steps: number): Promise<void> {
  await page.evaluate(
    `document.querySelector(${JSON.stringify(selector)}).scrollIntoView({ block: "center" })`,
  );
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`${selector} is not shown`);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 0; i < steps; i++) {
    await page.mouse.move(x + 200 * Math.sin(i / 8), y + 100 * Math.cos(i / 8));
    await page.waitForTimeout(16);
  }
  await page.mouse.up();
}

/** Names of the large workflows that `storeForSpeed` makes, in namespace `default`. */
export const LARGE = {
  /** One loop of 5,000 items. */
  loop: "loop-5000",
  loop2000: "loop-2000",
  /** 50 layers of 100 tasks. */
  dag5000: "dag-5000",
  dag300: "dag-300",
};

/** Fills a folder of SQLite with finished workflows and the large ones. */
export async function storeForSpeed(folder: string, finished: number): Promise<void> {
  const store = await openSqliteStore({ folder, durability: "everysec" });
  await storeWorkflows(store, finished, (i) => finishedJob(i));
  const large: ActorChange[] = [
    manyNodes(LARGE.loop, 5_000),
    manyNodes(LARGE.loop2000, 2_000),
    layeredDag(LARGE.dag5000, 50, 100),
    layeredDag(LARGE.dag300, 12, 25),
  ].map(({ parts, index }) => ({
    id: `wf/${index.namespace}/${index.name}`,
    put: partTexts(parts),
    drop: [],
    index,
  }));
  await storeWorkflows(store, large.length, (i) => large[i] as ActorChange);
  await store.close();
}
