import { expect, test } from "vitest";
import { createLogger, maskUrl } from "./log.ts";

test("createLogger() hides fields that may hold a secret", () => {
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(line) });
  log.info({ request: { headers: { authorization: "Bearer abc" } }, token: "abc" }, "got it");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("got it");
  expect(lines[0]).not.toContain("abc");
});

test("maskUrl() hides the password and nothing else", () => {
  expect(maskUrl("rediss://user:se:cret@host:6379/1")).toBe("rediss://user:***@host:6379/1");
  expect(maskUrl("redis://:pw@host")).toBe("redis://:***@host");
  expect(maskUrl("sqlite:.sluice")).toBe("sqlite:.sluice");
});
