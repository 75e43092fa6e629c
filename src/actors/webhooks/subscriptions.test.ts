/** The book of subscriptions: what counts within its limits, and what a change of one costs. */
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { createLogger } from "../../platform/log.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { SubscriptionBook } from "./subscriptions.ts";

const SLACK = 50;

async function bookOf(
  counts: Record<string, number>,
  limits: { all: number; perNamespace: number },
) {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const log: string[] = [];
  const put = (namespace: string, at: number) => {
    const name = `s${String(at).padStart(5, "0")}`;
    const expression = `workflow.labels["tier"] == "t${at}"`;
    const spec = {
      url: "https://x.example/",
      secret: { name: "s", key: "k" },
      workflows: { expression },
    };
    const text = JSON.stringify({ metadata: { name, namespace, uid: name }, spec });
    const kind = ManifestKind.Subscription;
    return store.manifests.put({ kind, namespace, name, text, labels: {} }, "*");
  };
  for (const [namespace, count] of Object.entries(counts)) {
    for (let at = 0; at < count; at++) await put(namespace, at);
  }
  const book = new SubscriptionBook({
    store,
    clock,
    log: createLogger("warn", { write: (line: string) => log.push(line) }),
    adminNamespace: "",
    limits,
  });
  await book.look();
  return { book, log, put, store };
}

test("beyond the limits, the first ones by namespace and name count, and the log says so once", async () => {
  const limits = { all: 100, perNamespace: 10 };
  const { book, log } = await bookOf({ a: 100, b: 60, c: 70 }, limits);
  // 60 of a, 60 of b, and 30 of c.
  expect(book.current?.size).toBe(100 + SLACK);
  expect(book.current?.find("a", "s00059")).toBeDefined();
  expect(book.current?.find("a", "s00060")).toBeUndefined();
  expect(log).toHaveLength(1);
  expect(log[0]).toContain("--webhook-namespace-subscriptions");
  await book.look();
  expect(log).toHaveLength(1);
});

test("within the limits all count", async () => {
  const { book, log } = await bookOf({ a: 700, b: 300 }, { all: 1_000, perNamespace: 1_000 });
  expect(book.current?.size).toBe(1_000);
  expect(log).toEqual([]);
});

test("what was read later counts, however long an earlier read takes", async () => {
  const { book, put, store } = await bookOf({ a: 1 }, { all: 10, perNamespace: 10 });
  const list = store.manifests.list.bind(store.manifests);
  let go = () => {};
  const held = new Promise<void>((resolve) => void (go = resolve));
  let calls = 0;
  store.manifests.list = async (...args) => {
    const page = await list(...args);
    if (calls++ === 0) await held;
    return page;
  };
  const early = book.look();
  await put("a", 1);
  const late = book.look();
  setTimeout(go);
  await Promise.all([early, late]);
  expect(book.current?.size).toBe(2);
});

test("a change in the feed is known, and so is a deletion", async () => {
  const { book, put, store } = await bookOf({ a: 1 }, { all: 10, perNamespace: 10 });
  const stop = new AbortController();
  await book.start(stop.signal);
  await put("a", 1);
  await expect.poll(() => book.current?.size).toBe(2);
  await store.manifests.remove(ManifestKind.Subscription, "a", "s00000", undefined);
  await expect.poll(() => book.current?.find("a", "s00000")).toBeUndefined();
  expect(book.current?.size).toBe(1);
  stop.abort();
});
