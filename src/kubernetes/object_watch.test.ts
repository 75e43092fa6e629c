import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { Json } from "../base/json.ts";
import { KubeClient, type WatchEvent } from "./kube_client.ts";
import { followObjects } from "./object_watch.ts";

/** An API server behind something that ends each watch at once. */
class ShortWatches extends KubeClient {
  watches = 0;

  constructor() {
    super({
      server: "http://localhost",
      insecureSkipVerify: false,
      token: () => Promise.resolve(undefined),
    });
  }

  override call<Answer>(): Promise<Answer> {
    const list: Json = { metadata: { resourceVersion: "1" }, items: [] };
    return Promise.resolve(list as Answer);
  }

  override async *watch(): AsyncGenerator<WatchEvent> {
    this.watches++;
    yield* [];
  }
}

test("watches that end at once are begun once a second", async () => {
  const client = new ShortWatches();
  const clock = new ManualClock();
  const stop = new AbortController();
  const nothing = () => Promise.resolve();
  const running = followObjects({
    client,
    clock,
    path: "/api/v1/pods",
    watchesPerList: Infinity,
    sink: { see: nothing, gone: nothing, listed: nothing },
    onTrouble: (error) => expect(error).toBeUndefined(),
  }, stop.signal);
  await clock.advance(10_000);
  expect(client.watches).toBe(11);
  stop.abort();
  await running;
});
