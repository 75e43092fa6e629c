import { expect, test } from "vitest";
import { COMMON_KEY } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import { SharedTexts } from "./shared_texts.ts";

test("a text that one shard has no more is found in another at the same time", async () => {
  const asked: string[] = [];
  const link: Pick<RedisLink, "sendWhereWritten"> = {
    sendWhereWritten(key) {
      asked.push(key);
      return Promise.resolve(key.startsWith("{s1}:") ? null : "the text");
    },
  };
  const shared = new SharedTexts(link as RedisLink);
  const [gone, kept, again] = [0, 1, 2].map(() => ({ [COMMON_KEY]: "@digest" }));
  const found = await Promise.all([
    shared.resolve("{s1}:", gone ?? {}),
    shared.resolve("{s2}:", kept ?? {}),
    shared.resolve("{s2}:", again ?? {}),
  ]);
  expect(found).toEqual([false, true, true]);
  expect([gone, kept, again]).toEqual([{}, ...Array(2).fill({ [COMMON_KEY]: "the text" })]);
  expect(asked).toHaveLength(2);
});
