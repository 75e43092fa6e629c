import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import type { ShardCommit } from "../../store/port.ts";
import { OutboxIndex, type OutboxRow } from "./outbox.ts";
import { RowChanges } from "./row_changes.ts";

function row(seq: number): OutboxRow {
  const effect = { type: "release-locks", id: "a", holder: "ns/a" } as const;
  return { id: "r", actor: "wf/ns/a", seq, effect };
}

function commit(): ShardCommit {
  return {
    ...{ shard: 0, epoch: 1, actors: [], outboxPut: {}, outboxDrop: [] },
    ...{ timersSet: {}, timersClear: [], answers: [] },
  };
}

test("a row that changes while a commit writes it is written again", () => {
  const rows = new OutboxIndex();
  rows.add("r", "wf/ns/a");
  const changes = new RowChanges(rows, new ManualClock(), () => {});
  changes.rewrite("r", () => row(1));
  const [first, second, third] = [commit(), commit(), commit()];
  const taken = changes.takeInto(first);
  expect(first.outboxPut["r"]).toContain('"seq":1');
  changes.rewrite("r", () => row(2));
  changes.committed(taken);
  expect(changes.isAny).toBe(true);
  changes.committed(changes.takeInto(second));
  expect(second.outboxPut["r"]).toContain('"seq":2');
  expect(changes.isAny).toBe(false);
  changes.rewrite("r", () => row(3));
  changes.drop("r");
  changes.takeInto(third);
  expect([third.outboxPut, third.outboxDrop]).toEqual([{}, ["r"]]);
});
