/** A separate process for tests: opens the store in the given folder and commits until it is killed. */
import { partTexts } from "../../src/base/part_text.ts";
import process from "node:process";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";

const store = await openSqliteStore({ folder: process.argv[2] ?? "" });
const lease = await store.membership.acquire(1, "holder", 3_600_000);
for (let i = 1;; i++) {
  await store.shards.commit({
    shard: 1,
    epoch: lease?.epoch ?? 0,
    actors: [{ id: "wf/a/one", put: partTexts({ h: String(i) }), drop: [] }],
    outboxPut: {},
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
  });
  process.stdout.write(`${i}\n`);
}
