import { expect, test } from "vitest";
import { identityFromClaims } from "./claims.ts";

test("email_verified may be a boolean or its text", () => {
  const isVerified = (value: boolean | string) =>
    identityFromClaims({ email_verified: value }).emailVerified;
  expect([true, "true"].map(isVerified)).toEqual([true, true]);
  expect([false, "false", "yes", ""].map(isVerified)).toEqual(Array(4).fill(undefined));
});
