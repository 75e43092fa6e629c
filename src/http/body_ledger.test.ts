import { expect, test } from "vitest";
import { Problem } from "../base/problem.ts";
import { BodyLedger, type BodySender } from "./body_ledger.ts";

const ann: BodySender = { type: "identity", key: "ann" };
const bob: BodySender = { type: "identity", key: "bob" };
const eve: BodySender = { type: "identity", key: "eve" };
const anyone: BodySender = { type: "anyone" };
const from = (address: string): BodySender => ({ type: "unproved", address });

/** 1600 in all: 800 for each identity, 400 for those who have proved nothing, 100 of them for each address. */
const make = () => new BodyLedger({ maxBytes: 1_600, maxBodyBytes: 100, maxEventBytes: 10 });

const statusOf = (run: () => void): number => {
  try {
    run();
    return 200;
  } catch (error) {
    expect(error).toMatchObject({ retryAfterSeconds: 1 });
    return error instanceof Problem ? error.status : 500;
  }
};

test("one identity may hold half, and all together may not exceed the bound", () => {
  const ledger = make();
  const first = ledger.open(ann);
  first.add(800);
  expect(statusOf(() => first.add(1))).toBe(429);
  expect(statusOf(() => ledger.open(ann).add(1))).toBe(429);
  ledger.open(bob).add(800);
  expect(statusOf(() => ledger.open(eve).add(1))).toBe(503);
  expect(statusOf(() => ledger.open(anyone).add(1))).toBe(503);
  first.release();
  first.release();
  expect(ledger.held).toBe(800);
  // Bytes that arrive after the answer are not counted.
  first.add(5);
  expect(ledger.held).toBe(800);
  expect(statusOf(() => ledger.open(ann).add(800))).toBe(200);
});

test("senders who have proved nothing share a quarter, and one address has a quarter of that", () => {
  const ledger = make();
  const held = ledger.open(from("a"));
  held.add(100);
  expect(statusOf(() => ledger.open(from("a")).add(1))).toBe(429);
  for (const address of ["b", "c", "d"]) ledger.open(from(address)).add(100);
  expect(statusOf(() => ledger.open(from("e")).add(1))).toBe(429);
  expect(statusOf(() => ledger.open(ann).add(800))).toBe(200);
  // A sender that has proved who it is makes room for others.
  held.moveTo(bob);
  expect(statusOf(() => ledger.open(from("e")).add(100))).toBe(200);
  held.release();
  expect(ledger.held).toBe(1_200);
});

test("bytes that can't be moved are no longer held", () => {
  const ledger = make();
  ledger.open(ann).add(790);
  const held = ledger.open(from("a"));
  held.add(20);
  expect(statusOf(() => held.moveTo(ann))).toBe(429);
  expect(ledger.held).toBe(790);
});

test("without authentication all are one sender, which may hold everything", () => {
  const ledger = make();
  expect(statusOf(() => ledger.open(anyone).add(1_600))).toBe(200);
  expect(statusOf(() => ledger.open(anyone).add(1))).toBe(503);
});

test("one body always fits, however small the bound is", () => {
  const ledger = new BodyLedger({ maxBytes: 10, maxBodyBytes: 100, maxEventBytes: 50 });
  expect(statusOf(() => ledger.open(ann).add(100))).toBe(200);
  expect(statusOf(() => ledger.open(from("a")).add(1))).toBe(503);
  const other = new BodyLedger({ maxBytes: 10, maxBodyBytes: 100, maxEventBytes: 50 });
  expect(statusOf(() => other.open(from("a")).add(50))).toBe(200);
});
