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
  return { book, log, put };
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
