import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { Json } from "../base/json.ts";
import { KubeClient, KubeError, type WatchEvent } from "./kube_client.ts";
import { followObjects } from "./object_watch.ts";

/** An API server behind something that ends each watch at once. */
class ShortWatches extends KubeClient {
  watches = 0;
  readonly #refusal: KubeError | undefined;

  /** @param refusal what each watch ends with. @default nothing */
  constructor(refusal?: KubeError) {
    super({
      server: "http://localhost",
      insecureSkipVerify: false,
      token: () => Promise.resolve(undefined),
    });
    this.#refusal = refusal;
  }

  override call<Answer>(): Promise<Answer> {
    const list: Json = { metadata: { resourceVersion: "1" }, items: [] };
    return Promise.resolve(list as Answer);
  }

  override async *watch(): AsyncGenerator<WatchEvent> {
    this.watches++;
    yield* [];
    if (this.#refusal !== undefined) throw this.#refusal;
  }
}

/** How many watches are begun in a minute. */
async function watchesInAMinute(
  client: ShortWatches,
  onTrouble: (error: unknown) => void,
): Promise<number> {
  const clock = new ManualClock();
  const stop = new AbortController();
  const nothing = () => Promise.resolve();
  const running = followObjects({
    client,
    clock,
    path: "/api/v1/pods",
    watchesPerList: Infinity,
    sink: { see: nothing, gone: nothing, listed: nothing },
    onTrouble,
  }, stop.signal);
  await clock.advance(60_000);
  stop.abort();
  await running;
  return client.watches;
}

test("watches that end at once are begun once a second", async () => {
  const watches = await watchesInAMinute(
    new ShortWatches(),
    (error) => expect(error).toBeUndefined(),
  );
  expect(watches).toBe(61);
});

test("who may list and not watch lists more and more seldom", async () => {
  const refusal = new KubeError(403, "Forbidden", 'cannot watch resource "pods"');
  const heard: unknown[] = [];
  const watches = await watchesInAMinute(
    new ShortWatches(refusal),
    (error) => void heard.push(error),
  );
  expect(heard).toHaveLength(watches);
  expect(watches).toBeGreaterThan(10);
  expect(watches).toBeLessThan(30);
});
