import { expect, test } from "vitest";
import { invalid, Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { createLogger } from "./log.ts";

test("createLogger() hides fields that may hold a secret", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(line) });
  log.info({ request: { headers: { authorization: "Bearer abc" } }, token: "abc" }, "got it");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("got it");
  expect(lines[0]).not.toContain("abc");
});

test("createLogger() says the cause of an error once", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(line) });
  const cause = new Error("offline");
  const err = new Problem(ProblemCode.Unavailable, "Redis is away: offline", { cause });
  log.warn({ err }, "in trouble");
  const { message, cause: shown } = JSON.parse(lines[0] ?? "").err;
  expect([message, shown.message]).toEqual(["Redis is away: offline", "offline"]);
});

test("createLogger() shows where an error comes from if it is a defect, or with debug", () => {
  const stacks = (level: "info" | "debug", err: unknown) => {
    const lines: string[] = [];
    createLogger(level, { write: (line: string) => void lines.push(line) }).warn(
      { err },
      "trouble",
    );
    const { message, stack, cause } = JSON.parse(lines[0] ?? "").err;
    return [message, stack !== undefined, cause?.stack !== undefined];
  };
  const full = new Problem(ProblemCode.Unavailable, "full", { cause: new Error("disk") });
  const missing = Object.assign(new Error("ENOENT"), { code: "ENOENT", syscall: "open" });
  expect(stacks("info", full)).toEqual(["full", false, false]);
  expect(stacks("info", missing)).toEqual(["ENOENT", false, false]);
  expect(stacks("debug", full)).toEqual(["full", true, true]);
  expect(stacks("info", new TypeError("defect"))).toEqual(["defect", true, false]);
  expect(stacks("info", new Problem(ProblemCode.Internal, "defect"))).toEqual([
    "defect",
    true,
    false,
  ]);
});

test("createLogger() writes once what can't be reached, however many try", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(line) });
  for (let n = 0; n < 50; n++) {
    for (const worker of ["a", "b"]) {
      log.child({ part: "queue" }).warn(
        { worker, err: unavailable("Redis is away") },
        "in trouble",
      );
    }
    log.warn({ err: unavailable("Redis is away") }, "not read");
  }
  expect(lines.map((line) => JSON.parse(line)).map(({ worker, msg }) => [worker, msg])).toEqual([
    ["a", "in trouble"],
    [undefined, "not read"],
  ]);
  expect(lines[0]).toContain("Redis is away");
  for (let n = 0; n < 3; n++) log.warn({ err: invalid("no number") }, "refused");
  for (let n = 0; n < 3; n++) log.warn("said again");
  expect(lines).toHaveLength(8);
});
