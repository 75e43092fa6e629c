import { expect, test } from "vitest";
import type { LockKey } from "../effect.ts";
import {
  acquireLocks,
  emptyLockTable,
  releaseLocks,
  releaseWorkflow,
  resizeLock,
} from "./locks.ts";

const mutex = (name: string): LockKey => ({ kind: "mutex", key: `ns/Mutex/${name}`, limit: 1 });
const semaphore = (limit: number): LockKey => ({
  kind: "semaphore",
  key: "ns/ConfigMap/cm/k",
  limit,
});
const ask = (holder: string, keys: LockKey[], priority = 0, createdAt = 0) => ({
  holder,
  keys,
  priority,
  createdAt,
});

test("a mutex has one holder, and the next gets it when it is free", () => {
  const table = emptyLockTable();
  expect(acquireLocks(table, ask("a", [mutex("m")]))).toEqual([{ type: "granted", holder: "a" }]);
  expect(acquireLocks(table, ask("b", [mutex("m")]))).toEqual([{
    type: "waiting",
    holder: "b",
    message: "Waiting for ns/Mutex/m lock. Lock status: 0/1",
    waiting: "ns/Mutex/m",
    holders: { "ns/Mutex/m": ["a"] },
  }]);
  expect(releaseLocks(table, "a")).toEqual([{ type: "granted", holder: "b" }]);
  expect(releaseLocks(table, "b")).toEqual([]);
  expect(table).toEqual(emptyLockTable());
});

test("asking again changes nothing, and neither does releasing twice", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("m")]));
  expect(acquireLocks(table, ask("a", [mutex("m")]))).toEqual([{ type: "granted", holder: "a" }]);
  releaseLocks(table, "a");
  expect(releaseLocks(table, "a")).toEqual([]);
  expect(table.held).toEqual({});
});

test("waiters go by priority, then by age", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("first", [mutex("m")]));
  acquireLocks(table, ask("young", [mutex("m")], 0, 20));
  acquireLocks(table, ask("old", [mutex("m")], 0, 10));
  acquireLocks(table, ask("urgent", [mutex("m")], 5, 30));
  const order: string[] = [];
  let holder = "first";
  for (let at = 0; at < 3; at++) {
    holder = releaseLocks(table, holder)[0]?.holder ?? "";
    order.push(holder);
  }
  expect(order).toEqual(["urgent", "old", "young"]);
});

test("several locks are taken together or not at all, and a younger one does not overtake", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("x")]));
  acquireLocks(table, ask("b", [mutex("x"), mutex("y")], 0, 1));
  const late = acquireLocks(table, ask("c", [mutex("y")], 0, 2));
  expect(late[0]).toMatchObject({ type: "waiting", holder: "c" });
  expect(releaseLocks(table, "a")).toEqual([{ type: "granted", holder: "b" }]);
  expect(releaseLocks(table, "b")).toEqual([{ type: "granted", holder: "c" }]);
});

test("a semaphore that grows lets more in", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [semaphore(1)]));
  acquireLocks(table, ask("b", [semaphore(1)]));
  expect(resizeLock(table, "ns/ConfigMap/cm/k", 2)).toEqual([{ type: "granted", holder: "b" }]);
});

test("all locks of one life of a workflow, and no others, are given back at once", () => {
  const table = emptyLockTable();
  const own = ["ns/wf#u.0", "ns/wf/node-1#u.3", "ns/wf/node-2#u.4"];
  const others = ["ns/wf#other.0", "ns/wf-2#u.0", "ns2/wf/node#u.1", "ns/w#u.1"];
  for (const holder of [...own, ...others]) acquireLocks(table, ask(holder, [mutex(holder)]));
  acquireLocks(table, ask("ns/wf/node-3#u.9", [mutex("ns/w#u.1")]));
  acquireLocks(table, ask("next", [mutex("ns/wf/node-1#u.3")]));
  const news = releaseWorkflow(table, { namespace: "ns", workflow: "wf", uid: "u" });
  expect(news).toEqual([{ type: "granted", holder: "next" }]);
  expect(Object.keys(table.held).sort()).toEqual([...others, "next"].sort());
  expect(table.waiting).toEqual([]);
  expect(releaseWorkflow(table, { namespace: "ns", workflow: "wf", uid: "u" })).toEqual([]);
});
