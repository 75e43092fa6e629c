import { expect, test } from "vitest";
import type { RedisContext } from "./context.ts";
import { ReplyChannels } from "./reply_channels.ts";

test("who stops listening while the subscription is made is forgotten", async () => {
  const heard = new Set<unknown>();
  const stop = new AbortController();
  const context = {
    link: {
      // deno-lint-ignore require-await -- a subscription takes its time
      async subscribe(_: string, hear: unknown) {
        heard.add(hear);
        stop.abort();
      },
      unsubscribe: (_: string, hear: unknown) => Promise.resolve(void heard.delete(hear)),
    },
    keys: { replyChannel: (replica: string) => replica },
    isClosed: () => false,
  } as unknown as RedisContext;
  const channels = new ReplyChannels(context);
  await channels.listen("a", () => {}, stop.signal);
  expect(heard.size).toBe(0);
});
