import { expect, test } from "vitest";
import type { LockKey } from "../effect.ts";
import {
  acquireLocks,
  emptyLockTable,
  releaseLocks,
  releaseWorkflow,
  resizeLock,
} from "./locks.ts";

const NOW = 1_000;
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
  expect(acquireLocks(table, ask("a", [mutex("m")]), NOW)).toEqual([{
    type: "granted",
    holder: "a",
  }]);
  expect(acquireLocks(table, ask("b", [mutex("m")]), NOW)).toEqual([{
    type: "waiting",
    holder: "b",
    message: "Waiting for ns/Mutex/m lock. Lock status: 0/1",
    waiting: "ns/Mutex/m",
    holders: { "ns/Mutex/m": ["a"] },
  }]);
  expect(releaseLocks(table, "a", NOW)).toEqual([{ type: "granted", holder: "b" }]);
  expect(releaseLocks(table, "b", NOW)).toEqual([]);
  expect(table).toEqual(emptyLockTable());
});

test("asking again changes nothing, and neither does releasing twice", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("m")]), NOW);
  expect(acquireLocks(table, ask("a", [mutex("m")]), NOW)).toEqual([{
    type: "granted",
    holder: "a",
  }]);
  releaseLocks(table, "a", NOW);
  expect(releaseLocks(table, "a", NOW)).toEqual([]);
  expect(table.held).toEqual({});
});

test("waiters go by priority, then by age", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("first", [mutex("m")]), NOW);
  acquireLocks(table, ask("young", [mutex("m")], 0, 20), NOW);
  acquireLocks(table, ask("old", [mutex("m")], 0, 10), NOW);
  acquireLocks(table, ask("urgent", [mutex("m")], 5, 30), NOW);
  const order: string[] = [];
  let holder = "first";
  for (let at = 0; at < 3; at++) {
    holder = releaseLocks(table, holder, NOW)[0]?.holder ?? "";
    order.push(holder);
  }
  expect(order).toEqual(["urgent", "old", "young"]);
});

test("several locks are taken together or not at all, and a younger one does not overtake", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("x")]), NOW);
  acquireLocks(table, ask("b", [mutex("x"), mutex("y")], 0, 1), NOW);
  const late = acquireLocks(table, ask("c", [mutex("y")], 0, 2), NOW);
  expect(late[0]).toMatchObject({ type: "waiting", holder: "c" });
  expect(releaseLocks(table, "a", NOW)).toEqual([{ type: "granted", holder: "b" }]);
  expect(releaseLocks(table, "b", NOW)).toEqual([{ type: "granted", holder: "c" }]);
});

test("a semaphore that grows lets more in", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [semaphore(1)]), NOW);
  acquireLocks(table, ask("b", [semaphore(1)]), NOW);
  expect(resizeLock(table, "ns/ConfigMap/cm/k", 2, NOW)).toEqual([{
    type: "granted",
    holder: "b",
  }]);
});

test("all locks of one life of a workflow, and no others, are given back at once", () => {
  const table = emptyLockTable();
  const own = ["ns/wf#u.0", "ns/wf/node-1#u.3", "ns/wf/node-2#u.4"];
  const others = ["ns/wf#other.0", "ns/wf-2#u.0", "ns2/wf/node#u.1", "ns/w#u.1"];
  for (const holder of [...own, ...others]) acquireLocks(table, ask(holder, [mutex(holder)]), NOW);
  acquireLocks(table, ask("ns/wf/node-3#u.9", [mutex("ns/w#u.1")]), NOW);
  acquireLocks(table, ask("next", [mutex("ns/wf/node-1#u.3")]), NOW);
  const news = releaseWorkflow(table, { namespace: "ns", workflow: "wf", uid: "u" }, NOW);
  expect(news).toEqual([{ type: "granted", holder: "next" }]);
  expect(Object.keys(table.held).sort()).toEqual([...others, "next"].sort());
  expect(table.waiting).toEqual([]);
  expect(releaseWorkflow(table, { namespace: "ns", workflow: "wf", uid: "u" }, NOW)).toEqual([]);
});

test("the time since when somebody waits or holds is kept when it asks again", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("m")]), 10);
  acquireLocks(table, ask("b", [mutex("m")]), 20);
  acquireLocks(table, ask("a", [mutex("m")]), 30);
  acquireLocks(table, ask("b", [mutex("m")]), 40);
  expect(table.held["a"]?.since).toBe(10);
  expect(table.waiting.map(({ since }) => since)).toEqual([20]);
  releaseLocks(table, "a", 50);
  expect(table.held["b"]?.since).toBe(50);
});

test("a node does not wait for what is kept for another node of its workflow", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("ns/w/1#u.1", [semaphore(2), mutex("m")]), NOW);
  acquireLocks(table, ask("ns/w/2#u.2", [semaphore(2), mutex("m")]), NOW);
  const own = ask("ns/w/3#u.3", [semaphore(2)]);
  expect(acquireLocks(table, own, NOW)[0]?.type).toBe("granted");
  releaseLocks(table, own.holder, NOW);
  for (const other of ["ns/v/1#t.1", "ns/w/1#t.1", "ns/w#u.4"]) {
    expect(acquireLocks(table, ask(other, [semaphore(2)]), NOW)[0]?.type).toBe("waiting");
  }
});

test("those who wait are told when they wait for something else", () => {
  const table = emptyLockTable();
  acquireLocks(table, ask("a", [mutex("m")]), NOW);
  acquireLocks(table, ask("b", [semaphore(1)]), NOW);
  const [first] = acquireLocks(table, ask("c", [semaphore(1), mutex("m")]), NOW);
  expect(first?.message).toBe("Waiting for ns/ConfigMap/cm/k lock. Lock status: 0/1");
  expect(resizeLock(table, "ns/ConfigMap/cm/k", 1, NOW)).toEqual([]);
  expect(releaseLocks(table, "b", NOW)).toEqual([{
    type: "waiting",
    holder: "c",
    message: "Waiting for ns/Mutex/m lock. Lock status: 0/1",
    waiting: "ns/Mutex/m",
    holders: { "ns/ConfigMap/cm/k": [], "ns/Mutex/m": ["a"] },
  }]);
  expect(releaseLocks(table, "a", NOW)).toEqual([{ type: "granted", holder: "c" }]);
});
