import { expect, test } from "vitest";
import { maskUrl } from "./masked_url.ts";

test("maskUrl() hides the password and nothing else", () => {
  expect(maskUrl("rediss://user:se:cret@host:6379/1")).toBe("rediss://user:***@host:6379/1");
  expect(maskUrl("redis://:pw@host")).toBe("redis://:***@host");
  expect(maskUrl("redis://pw@host")).toBe("redis://***@host");
  expect(maskUrl("sqlite:.sluice")).toBe("sqlite:.sluice");
  expect(maskUrl("redis://host:6379/1")).toBe("redis://host:6379/1");
  // Not percent-encoded, so the server refuses it, but only after it has logged what it was told.
  expect(maskUrl("s3://KEY:se/cr@et@host:9000/bucket")).toBe("s3://KEY:***@host:9000/bucket");
  expect(maskUrl(" Redis://user:pw@host")).toBe(" Redis://user:***@host");
  expect(maskUrl("postgres://host/db?sslpassword=pw&x=1")).toBe(
    "postgres://host/db?sslpassword=***&x=1",
  );
});
